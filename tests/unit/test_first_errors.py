"""Errors that a new user meets first: what is wrong, where, and what to do next."""

from pathlib import Path

import pytest

from cli.main import run
from qsync.data.schema import SYSTEM, Schema, known_names
from qsync.errors import NoSuchSpace


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["status", "127.0.0.1"], "(with its port: 127.0.0.1:3301)"),
        (["status", "host:99999"], "a port is a number from 1 to 65535"),
        (["log", "cat", __file__], "is a file, and no directory of a lab or of a node that runs"),
        (["log", "cat", "./missing"], "'./missing' is not there: it looks like a directory"),
        (
            ["log", "cat", "."],
            "'.' is a directory, and neither a lab's nor that of a node that runs",
        ),
        (["start", "missing"], "there is no missing/node.yaml (`qsync init missing` writes one)"),
        (["insert", "t", "[1"], "is not JSON, such as '[1, \"ann\"]'"),
        (["explain", "NOT_LEADR"], "did you mean NOT_LEADER? `qsync explain list` names them all"),
        (["node", "--set", "foo=1"], "no such option; `qsync config init` prints all of them"),
        (["node", "--set", "election.timout=1s"], "did you mean 'election.timeout'?"),
        (
            ["user", "create", "ann", "--generate", "--password-file", "ann.txt", "-t", "h:1"],
            "--password-file and --generate contradict each other: give one of them",
        ),
        (
            ["user", "create", "ann", "--no-password", "--password-file", "ann.txt", "-t", "h:1"],
            "--password-file and --no-password contradict each other: give one of them",
        ),
        (
            ["user", "passwd", "ann", "--password-file", "-", "--generate", "-t", "h:1"],
            "--password-file and --generate contradict each other: give one of them",
        ),
    ],
)
def test_what_is_wrong_with_a_command_is_said_with_the_next_step(
    args: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert run(args) == 2
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("name", "names", "hint"),
    [
        ("primry", ["primary", "by name"], 'did you mean "primary"?'),
        ("xyz", ["primary", "by name"], "there are primary, by name"),
        (
            "xyz",
            [f"f{number}" for number in range(11)],
            "there are f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, ...",
        ),
        ("xyz", [], "there is none"),
    ],
)
def test_who_names_what_is_not_there_hears_what_there_is(
    name: str, names: list[str], hint: str
) -> None:
    assert known_names(name, names) == hint


def test_a_system_space_is_only_meant_by_who_names_one() -> None:
    schema = Schema(SYSTEM, {}, None)
    with pytest.raises(NoSuchSpace) as caught:
        schema.space("voting")
    assert caught.value.hint == NoSuchSpace.hint
    with pytest.raises(NoSuchSpace) as caught:
        schema.space("_votings")
    assert caught.value.hint == 'did you mean "_voting"?'
