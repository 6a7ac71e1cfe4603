"""Messages of the command line for new users: the error, its place, and the next step."""

import errno
import os
from pathlib import Path

import pytest

from admin.cluster.leadership import in_words
from admin.cluster.surveys import ClusterSurvey
from admin.cluster.unreachable import nobody_answers, unreachable
from admin.lab import lab
from admin.lab import names as lab_names
from cli import main
from qsync.client.connection import reason
from qsync.client.connection import unavailable as one_node_away
from qsync.client.retry_policy import unavailable as no_node_did
from qsync.errors import AccessDenied, ForeignCluster, NoSuchSpace, Unavailable
from qsync.status import decode
from qsync.tls.errors import TlsFailed
from qsync.wire.session import NO_USERS, NO_USERS_FIX

NOBODY = "127.0.0.1:1"


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which there is nothing yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("QSYNC_TARGET", raising=False)


@pytest.mark.parametrize(
    "args",
    [
        ["status", NOBODY],
        ["info", "-t", NOBODY],
        ["get", "-t", NOBODY, "--timeout", "200ms", "pets", "1"],
        ["top", NOBODY, "--once"],
        ["promote", "-t", NOBODY, "n1"],
        ["doctor", NOBODY],
    ],
    ids=lambda args: args[0],
)
def test_where_nobody_answers_it_says_why_and_how_to_have_a_cluster(
    args: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(args) == 3
    told = capsys.readouterr().err
    assert f"{NOBODY}: Connection refused" in told
    assert told.count("Connection refused") == told.count(f"{NOBODY}: ") == 1
    assert "Errno" not in told
    assert "`qsync lab up` starts a cluster" in told


def test_where_no_node_lets_us_ask_the_code_is_said_once() -> None:
    silent = [
        unreachable(0, "", address, answer=answer, closed=None)
        for address, answer in {
            "h:1": Unavailable("h:1: Connection refused"),
            "h:2": AccessDenied("this cluster has users: log in"),
        }.items()
    ]
    assert str(nobody_answers(silent)) == (
        "ACCESS_DENIED: no node lets us ask: this cluster has users: log in "
        "(show who you are: QSYNC_USER and QSYNC_PASSWORD, and QSYNC_CA where nodes speak TLS)"
    )


def test_where_another_cluster_answers_it_says_so_instead_of_how_to_have_one() -> None:
    answer = ForeignCluster("the certificate is of cluster c-1, this is c-2")
    found = nobody_answers([unreachable(0, "", "h:1", answer=answer, closed=None)])
    assert found.hint.startswith("another cluster answers at h:1; after `qsync recover`")
    away = unreachable(0, "", "h:1", answer=Unavailable("Connection refused"), closed=None)
    assert not nobody_answers([away]).hint


def test_where_tls_fails_it_says_what_to_look_at_instead_of_how_to_have_a_cluster() -> None:
    late = TlsFailed("the other side says that our certificate has expired")
    away = one_node_away("h:1", late)
    assert away.message == "h:1: TLS: the other side says that our certificate has expired"
    found = nobody_answers([unreachable(0, "", "h:1", answer=away, closed=None)])
    assert found.hint.startswith("`qsync cert check` judges your certificate and a node's")
    assert no_node_did({"h:1": reason(late), "h:2": "Connection refused"}).hint == found.hint
    assert not no_node_did({"h:2": "Connection refused"}).hint


def test_who_shows_a_password_to_a_cluster_without_users_is_told_one_thing_to_do() -> None:
    answer = AccessDenied(f"it did not ask for the password: {NO_USERS}", hint=NO_USERS_FIX)
    silent = [unreachable(0, "", "h:1", answer=answer, closed=None)]
    assert str(nobody_answers(silent)) == (
        "ACCESS_DENIED: no node lets us ask: it did not ask for the password: its cluster has no "
        "users (leave user and password away)"
    )
    assert silent[0].fix == NO_USERS_FIX


def test_a_user_without_a_password_here_is_no_matter_of_the_nodes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QSYNC_USER", "ann")
    for name in ("QSYNC_PASSWORD", "QSYNC_PASSWORD_FILE"):
        monkeypatch.delenv(name, raising=False)
    assert main.run(["status", NOBODY]) == 2
    told = capsys.readouterr().err
    assert "CONFIG: user 'ann' has no password here" in told
    assert "do the nodes run" not in told


def test_a_name_that_is_none_is_told_with_those_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main.run(["status", "nix"]) == 2
    assert "unix:DIRECTORY of a node here; `qsync lab up` makes a lab" in capsys.readouterr().err
    lab.create(lab_names.place("pets"), name="pets", nodes=1)
    assert main.run(["status", "nix"]) == 2
    assert "known labs: pets" in capsys.readouterr().err


@pytest.mark.parametrize(
    "args",
    [
        ["-t", NOBODY, "status"],
        [f"--target={NOBODY}", "get", "accounts", "1"],
        ["-t", NOBODY, "member", "list"],
        ["-t", NOBODY, "-e", "box.info.ro"],
        ["--target", NOBODY, "get", "accounts", "--", "-1"],
    ],
)
def test_the_target_of_any_command_may_stand_first(
    args: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(args) == 3
    assert f"{NOBODY}: Connection refused" in capsys.readouterr().err


def test_a_target_alone_is_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["-t", NOBODY]) == 2
    assert "No such option '-t'" in capsys.readouterr().err


def test_a_target_may_be_named_either_way_but_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["status", "--target", NOBODY]) == 3
    assert NOBODY in capsys.readouterr().err
    assert main.run(["status", "--target", NOBODY, "127.0.0.1:2"]) == 2
    assert "the target is given twice" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["insert", "pets", "1"], "such as '[1, \"ann\"]'"),
        (["update", "pets", "1", "+"], "such as '[[\"+\", 2, 10]]'"),
        (["stauts"], "Did you mean 'status'?"),
        (["frobnicate"], "`qsync --help` lists them"),
        (["backup", "create"], "Missing argument 'DEST'"),
    ],
)
def test_what_cannot_be_understood_is_answered_with_what_can(
    args: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(args) == 2
    assert told in capsys.readouterr().err


def test_a_space_that_is_not_there_is_told_with_how_to_list_them() -> None:
    assert r"`\spaces` in `qsync shell`" in str(NoSuchSpace("there is no space 'nix'"))


def test_the_reason_of_a_broken_connection_is_the_system_s_in_words() -> None:
    refused = OSError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
    assert reason(refused) == "Connection refused"
    several = OSError("All connection attempts failed")
    several.__cause__ = ExceptionGroup("many", [refused, refused])
    assert reason(several) == "Connection refused"
    assert reason(ConnectionError("it hung up")) == "it hung up"
    assert reason(TimeoutError()) == "TimeoutError"


def test_who_would_be_handed_to_is_told_by_name() -> None:
    nodes = [[1, "n1", "127.0.0.1:3301"], [2, "n2", "127.0.0.1:3302"]]
    answer: dict[str, object] = {"id": 1, "name": "n1", "nodes": nodes}
    found = ClusterSurvey(samples=(decode.status(answer),))
    plan = {"term": 4, "term_after": 5, "pending": 0, "confirms": 0, "rolls_back": 0}
    assert in_words(plan, found).endswith("rolls back 0")
    assert in_words(plan | {"hands_over_to": 2}, found).endswith("rolls back 0, hands over to n2")
    assert in_words(plan | {"hands_over_to": 7}, found).endswith("hands over to node 7")
