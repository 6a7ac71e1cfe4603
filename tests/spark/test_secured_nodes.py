"""A cluster with TLS and users on Spark: by options of the data source, and followed.

The session was started by who knew of no such cluster, so nothing that its workers need is in
their environment.
"""

import json
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import qsync
from admin.checker.spark.follow import FollowOptions, follow
from admin.checker.spark.source import QsyncSource
from admin.lab import lab as labs
from admin.lab.lab import Lab
from admin.lab.secure import client_tls
from cli.main import run
from qsync.client import security
from qsync.client.security import PASSWORD, PASSWORD_FILE, USER
from qsync.errors import AccessDenied

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SECRET = "correct horse"
ROWS = 5


@pytest.fixture(scope="module")
def secured(session: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Two nodes with some rows. `rita` has a password and may dump, `ann` may not."""
    session.dataSource.register(QsyncSource)
    home = tmp_path_factory.mktemp("secured")
    with pytest.MonkeyPatch.context() as patch, security.assumed(None):
        patch.setenv("XDG_STATE_HOME", str(home / "state"))
        for name in (USER, PASSWORD, PASSWORD_FILE):
            patch.delenv(name, raising=False)
        assert run(["lab", "up", "--secure", "--nodes", "2", "--dir", str(home / "lab")]) == 0
        found = labs.load(home / "lab")
        try:
            with qsync.connect(found.addresses, timeout=20, tls=client_tls(found.dir)) as db:
                db.schema.create_space("pets", is_sync=True)
                for key in range(ROWS):
                    db.space("pets").insert([key])
                for name in ("rita", "ann"):
                    db.users.create(name, SECRET)
                db.users.grant("rita", ["dump"])
            (found.dir / "secret").write_text(f"{SECRET}\n")
            security.assume(None)
            yield found
        finally:
            found.stop_all()


def options(secured: Lab, *, user: str) -> dict[str, str]:
    """Of the data source: files of the administrator, the name and the password of that user."""
    tls = client_tls(secured.dir)
    assert tls is not None
    files = {"ca": tls.ca, "certificate": tls.certificate or "", "key": tls.key or ""}
    return files | {"user": user, "password_file": str(secured.dir / "secret")}


def table(session: "SparkSession", secured: Lab, **asked: str) -> "DataFrame":
    nodes = ",".join(secured.addresses)
    return session.read.format("qsync").option("nodes", nodes).options(**asked).load()


def test_a_job_logs_in_by_options_and_needs_the_right_to_dump(
    session: "SparkSession", secured: Lab
) -> None:
    rita = options(secured, user="rita")
    assert table(session, secured, table="wal", **rita).where("kind = 'TXN'").count() > ROWS
    status = table(session, secured, table="status", **rita).collect()
    assert sorted(row["node"] for row in status) == [1, 2]
    for asked, why in (
        (options(secured, user="ann"), "dump"),
        (rita | {"user": "nobody"}, "user or password is wrong"),
        ({"ca": rita["ca"]}, "wants a certificate"),
    ):
        with pytest.raises(Exception, match=why):  # Spark wraps it in one of its own
            table(session, secured, table="wal", **asked).count()


def test_who_may_not_read_the_log_is_told_so_at_once(
    secured: Lab, session: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an error all that is judged of logs is unknown, and nobody says why."""
    monkeypatch.setenv(USER, "ann")
    monkeypatch.setenv(PASSWORD_FILE, str(secured.dir / "secret"))
    wanted = FollowOptions(addresses=secured.addresses, seconds=1.0)
    with (
        security.assumed(client_tls(secured.dir)),
        pytest.raises(AccessDenied, match="user 'ann' lacks the right dump"),
    ):
        follow(session, wanted, told=lambda _: None, stop=threading.Event())


def test_it_is_followed_by_who_may(
    secured: Lab, session: "SparkSession", capsys: pytest.CaptureFixture[str]
) -> None:
    with security.assumed(None):
        code = run(["check", "--follow", str(secured.dir), "--for", "3s", "--json"])
    said = capsys.readouterr()
    assert code == 0, said.out
    lines = [json.loads(line) for line in said.out.splitlines()]
    assert (lines[-1]["what"], lines[-1]["verdict"]) == ("summary", "pass")
    assert lines[-1]["samples"] > 0
    assert "leader in term" in said.out
