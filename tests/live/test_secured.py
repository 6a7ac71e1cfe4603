"""Every tool against a cluster with TLS and users: `qsync lab up --secure`, three real nodes.

Each is asked in three ways: by the lab, as its administrator by certificate; by a URL, the same;
and by addresses, with a user's password in a file that the environment names.
"""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pexpect
import pytest
import trio

import qsync
from admin.certs import ADMINISTRATOR
from admin.lab import lab as labs
from admin.lab.secure import client_tls
from cli.main import group, run
from qsync.client import security
from qsync.client.security import PASSWORD, PASSWORD_FILE, USER
from qsync.errors import AccessDenied, QsyncError
from tests.live.real import ROOT, caught_up, until

pytestmark = pytest.mark.slow
SECRET = "correct horse"
OURS = (*security.VARIABLES.values(), USER, PASSWORD, PASSWORD_FILE)
WAYS = ("lab", "url", "password")


@dataclass(frozen=True, slots=True)
class Secured:
    """The lab, and how it is asked in each way: a target, and what the environment says."""

    lab: labs.Lab
    home: Path

    @property
    def ca(self) -> str:
        return str(self.lab.dir / "certs" / "ca.crt")

    @property
    def files(self) -> str:
        certs = self.lab.dir / "certs"
        return f"ca={self.ca}&certificate={certs}/root.crt&key={certs}/root.key"

    @property
    def addresses(self) -> str:
        return ",".join(self.lab.addresses)

    def way(self, name: str) -> tuple[str, dict[str, str]]:
        if name == "lab":
            return str(self.lab.dir), {}
        if name == "url":
            return f"qsyncs://{self.addresses}/?{self.files}", {}
        shown = self.tls.as_variables()
        logging_in = {USER: "keeper", PASSWORD_FILE: str(self.home / "secret")}
        return self.addresses, shown | logging_in

    @property
    def tls(self) -> security.ClientTls:
        """Of the user who has a password; every connection shows some certificate."""
        found = client_tls(self.lab.dir)
        assert found is not None
        return found


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """A space with a row in it, and `keeper`, who has all rights and a password."""
    home = tmp_path_factory.mktemp("secured")
    (home / "secret").write_text(SECRET + "\n")
    with pytest.MonkeyPatch.context() as patch, security.assumed(None):
        patch.setenv("XDG_STATE_HOME", str(home / "state"))
        for name in (USER, PASSWORD, PASSWORD_FILE):
            patch.delenv(name, raising=False)
        assert run(["lab", "up", "--secure", "--dir", str(home / "lab")]) == 0
        found = labs.load(home / "lab")
        try:
            with qsync.connect(found.addresses, timeout=20) as db:
                assert db.users.info()["user"] == ADMINISTRATOR
                fields = [("id", "unsigned"), ("name", "string")]
                db.schema.create_space("pets", is_sync=True, format=fields)
                db.space("pets").insert([1, "Ada"])
                db.users.create("keeper", SECRET)
                db.users.grant("keeper", role="super")
                db.users.create("ann", SECRET)
                db.users.grant("ann", ["read"], space="pets")
                until(lambda: caught_up(found), "every node knows the users")
            yield Secured(found, home)
        finally:
            found.stop_all()


class Asked:
    """Gives commands in one way, with nothing else in the environment, and has what they print."""

    def __init__(self, secured: Secured, capsys: pytest.CaptureFixture[str]) -> None:
        self.secured = secured
        self.err = ""
        self._capsys = capsys

    def __call__(self, *args: str, way: str = "lab", code: int = 0) -> str:
        """`TARGET` among the words stands for how the cluster is named in that way."""
        target, environment = self.secured.way(way)
        return self.with_(
            environment, *(target if word == "TARGET" else word for word in args), code=code
        )

    def with_(self, environment: dict[str, str], *args: str, code: int = 0) -> str:
        self._capsys.readouterr()
        with pytest.MonkeyPatch.context() as patch, security.assumed(None):
            for name in OURS:
                patch.delenv(name, raising=False)
            for name, value in environment.items():
                if value:
                    patch.setenv(name, value)
            found = run(list(args))
        printed = self._capsys.readouterr()
        self.err = printed.err
        assert found == code, (args, printed)
        return printed.out


@pytest.fixture
def asked(secured: Secured, capsys: pytest.CaptureFixture[str]) -> Asked:
    return Asked(secured, capsys)


TOOLS = {
    "status": ("status", "TARGET", "--json"),
    "top": ("top", "TARGET", "--once", "--json"),
    "info": ("info", "tls", "--target", "TARGET"),
    "shell": ("shell", "TARGET", "-e", "return box.space.pets:get(1)"),
    "get": ("get", "pets", "1", "--target", "TARGET"),
    "select": ("select", "pets", "--target", "TARGET"),
    "replace": ("replace", "pets", '[2, "Bo"]', "--target", "TARGET"),
    "member list": ("member", "list", "TARGET"),
    "member gc list": ("member", "gc", "list", "TARGET"),
    "user list": ("user", "list", "--target", "TARGET"),
    "log cat": ("log", "cat", "TARGET"),
    "log verify": ("log", "verify", "TARGET"),
    "config cluster": ("config", "cluster", "TARGET"),
    "config set": (
        "config",
        "set",
        "replication.synchro_timeout=5s",
        "--yes",
        "--target",
        "TARGET",
    ),
    "doctor": ("doctor", "TARGET", "--check", "members-answer", "--check", "certificates-read"),
    "bench": ("bench", "--seconds", "0.2", "--clients", "4", "--target", "TARGET"),
}
"""What is asked of any target and ends by itself with 0."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_works_whichever_way_it_logs_in(asked: Asked, tool: str, way: str) -> None:
    asked(*TOOLS[tool], way=way)


@pytest.mark.parametrize("way", WAYS)
def test_a_backup_and_a_dump_are_taken_and_hold(asked: Asked, tmp_path: Path, way: str) -> None:
    asked("backup", "create", str(tmp_path / "kept"), "--target", "TARGET", way=way)
    asked("backup", "archive", str(tmp_path / "kept"), "--once", "--target", "TARGET", way=way)
    asked("backup", "verify", str(tmp_path / "kept"))
    places = asked.secured.lab.addresses if way == "password" else ("TARGET",)
    asked("dump", *places, "--out", str(tmp_path / "bundle"), way=way)
    asked("check", "--quick", str(tmp_path / "bundle"))


def test_leadership_moves_and_a_node_is_broken_and_mended(asked: Asked) -> None:
    asked("promote", "n2", "--target", "TARGET")
    asked("lab", "fault", "n1", "--dir", str(asked.secured.lab.dir))
    asked("lab", "kill", "n3", "--dir", str(asked.secured.lab.dir))
    asked("lab", "start", "n3", "--dir", str(asked.secured.lab.dir))


def test_a_consumer_of_the_log_is_its_owner_s_whoever_leads_and_whoever_is_dropped(
    secured: Secured, asked: Asked
) -> None:
    """Who may read everything cannot make another reader lose changes."""
    tls, where = secured.tls, secured.addresses
    with qsync.connect(where, tls=tls, timeout=20) as db:
        for name in ("mia", "tom"):
            db.users.create(name, SECRET)
            db.users.grant(name, role="reader")
    mia_s, tom_s = (tls.as_variables() | {USER: name, PASSWORD: SECRET} for name in ("mia", "tom"))
    with security.assumed(tls):
        until(lambda: caught_up(secured.lab), "every node knows them")
    with (
        qsync.connect(where, tls=tls, user="mia", password=SECRET, timeout=20) as mia,
        qsync.connect(where, tls=tls, user="tom", password=SECRET, timeout=20) as tom,
    ):
        place = mia.consumers.register("mailer").index
        for _ in range(2):
            for change in (tom.consumers.register, tom.consumers.drop, tom.consumers.let_go):
                with pytest.raises(AccessDenied, match="\"mailer\" belongs to user 'mia'"):
                    change("mailer")
            with pytest.raises(AccessDenied), tom.transaction() as tx:
                tx.advance("mailer", place)
            assert mia.consumers.advance("mailer", place).index > place
            leader = str(status_of(asked)["leader"])
            asked("lab", "kill", leader, "--dir", "TARGET")
            mia.consumers.advance("mailer", place)
            asked("lab", "start", leader, "--dir", "TARGET")
            with security.assumed(tls):
                until(lambda: caught_up(secured.lab), "it is back")
    for is_earnest in (["--dry-run"], []):
        drop = ("member", "gc", "drop", "mailer", "-t", where, *is_earnest)
        asked.with_(tom_s, *drop, code=0 if is_earnest else 4)
        assert "belongs to user 'mia', and user 'tom' lacks the right member" in asked.err
    asked.with_(mia_s, "member", "gc", "drop", "mailer", "-t", where, "--dry-run")
    assert "is not kept for it any more" in asked.err
    assert "of mia" in asked("member", "gc", "list", "TARGET")
    for is_earnest in (["--dry-run"], []):
        asked("user", "drop", "mia", "-t", "TARGET", *is_earnest)
        assert "consumers of the log that belong to `admin` then: mailer\n" in asked.err
    assert "of admin" in asked("member", "gc", "list", "TARGET")
    asked("user", "grant", "tom", "--role", "operator", "-t", "TARGET")
    asked.with_(tom_s, "member", "gc", "drop", "mailer", "-t", where)
    asked("user", "drop", "tom", "-t", "TARGET")


def status_of(asked: Asked) -> dict[str, object]:
    found: dict[str, object] = json.loads(asked("status", "TARGET", "--json"))
    return found


def test_without_a_certificate_or_a_password_nobody_learns_anything(asked: Asked) -> None:
    secured = asked.secured
    asked.with_({}, "status", secured.addresses, code=3)
    asked.with_({"QSYNC_CA": secured.ca}, "get", "pets", "1", "-t", secured.addresses, code=3)
    assert "wants a certificate" in asked.err
    wrong = secured.tls.as_variables() | {USER: "ann", PASSWORD: "wrong horse"}
    asked.with_(wrong, "get", "pets", "1", "-t", secured.addresses, code=4)
    assert "user or password is wrong" in asked.err
    ann = secured.tls.as_variables() | {USER: "ann", PASSWORD: SECRET}
    assert "Ada" in asked.with_(ann, "get", "pets", "1", "-t", secured.addresses)
    asked.with_(ann, "replace", "pets", '[1, "x"]', "-t", secured.addresses, code=4)
    asked.with_(ann, "backup", "create", str(secured.home / "no"), "-t", secured.addresses, code=4)
    assert "backup on the universe" in asked.err


def test_the_dashboard_says_to_whom_no_node_says_anything(asked: Asked) -> None:
    """Of a user who may not even ask: an error with the right that is missing, and no blank."""
    secured = asked.secured
    bob = secured.tls.as_variables() | {USER: "bob", PASSWORD: SECRET}
    with qsync.connect(secured.lab.addresses, timeout=20, tls=secured.tls) as db:
        db.users.create("bob", SECRET)
    assert "n1" in asked.with_(bob, "top", secured.addresses, "--once")
    with qsync.connect(secured.lab.addresses, timeout=20, tls=secured.tls) as db:
        db.users.revoke("bob", ["session"])
    asked.with_(bob, "top", secured.addresses, "--once", code=4)
    assert "session on the universe" in asked.err


def test_a_password_is_typed_and_stands_in_no_argument(secured: Secured, asked: Asked) -> None:
    url = f"qsyncs://ann:{SECRET.replace(' ', '%20')}@{secured.addresses}/?{secured.files}"
    asked.with_({}, "get", "pets", "1", "--target", url, code=2)
    assert "no password in a target" in asked.err
    assert SECRET not in asked.err
    url = url.replace(f":{SECRET.replace(' ', '%20')}@", "@")
    environment = {key: value for key, value in os.environ.items() if key not in OURS}
    words = ["-m", "qsync", "get", "pets", "1", "--target", url]
    with pexpect.spawn(
        sys.executable, words, env=environment, cwd=str(ROOT), timeout=40, encoding="utf-8"
    ) as typed:
        typed.expect("Password of ann: ")
        assert SECRET not in Path(f"/proc/{typed.pid}/cmdline").read_text("utf-8")
        typed.sendline(SECRET)
        typed.expect("Ada")
        typed.expect(pexpect.EOF)
        assert SECRET not in typed.before


def test_no_command_takes_a_password_as_an_argument() -> None:
    def options(command: click.Command) -> Iterator[str]:
        yield from (str(each.name) for each in command.params)
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                assert inner is not None, name
                yield from options(inner)

    assert {name for name in options(group) if "pass" in name} == {"password_file", "no_password"}


def test_programs_give_credentials_by_url_environment_or_word(
    secured: Secured, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = SECRET.replace(" ", "%20")
    with security.assumed(None):
        for name in OURS:
            monkeypatch.delenv(name, raising=False)
        url = f"qsyncs://ann:{word}@{secured.addresses}/?{secured.files}"
        with qsync.connect(url, timeout=20) as db:
            assert list(db.space("pets").get([1]) or ()) == [1, "Ada"]
            with pytest.raises(AccessDenied):
                db.space("pets").replace([1, "x"])
        with qsync.connect(secured.addresses, timeout=20, tls=secured.tls) as db:
            assert db.users.info()["user"] == ADMINISTRATOR
        trio.run(_asked_by_trio, secured, url)
        with pytest.raises(QsyncError):
            qsync.connect(secured.addresses, connect_timeout=0.5)


async def _asked_by_trio(secured: Secured, url: str) -> None:
    async with qsync.connect_async(url, timeout=20) as db:
        assert (await db.users.info())["user"] == "ann"
    async with qsync.connect_async(
        secured.addresses, timeout=20, tls=secured.tls, user="keeper", password=SECRET
    ) as db:
        with trio.fail_after(20):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_until_news, secured, nursery.cancel_scope)
                while True:
                    await db.space("pets").replace([3, "Cy"])
                    await trio.sleep(0.05)


async def _until_news(secured: Secured, scope: trio.CancelScope) -> None:
    """A feed of changes to the space."""
    async with qsync.connect_async(secured.addresses, timeout=20, tls=secured.tls) as db:
        async for _ in db.watch("pets"):
            scope.cancel()


def test_a_member_is_added_and_certificates_are_replaced_under_load(
    asked: Asked, tmp_path: Path
) -> None:
    """On the lab that is there: a drill that replaces the authority and every certificate."""
    place = str(asked.secured.lab.dir)
    before = Path(asked.secured.ca).read_bytes()
    out = str(tmp_path / "run")
    asked("drill", "run", "rotate-certificates", "--target", place, "--out", out)
    assert Path(asked.secured.ca).read_bytes() != before
    asked("lab", "add", "--dir", place)
    grown = labs.load(Path(place))
    asked("member", "add", grown.nodes[-1].address, "--target", place)
    asked("member", "remove", grown.nodes[-1].name, "--target", place)
    asked("lab", "kill", grown.nodes[-1].name, "--dir", place)
