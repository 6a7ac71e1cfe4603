"""Ctrl-C while a user is created with a generated password: nobody has seen the password."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cli.commands import users
from cli.exits import Exit
from cli.main import run


class ImpatientUsers:
    """Users of a cluster that does not answer, and an operator who does not wait."""

    def info(self) -> dict[str, object]:
        return {"users": True}

    def list(self) -> dict[str, object]:
        return {}

    def create(self, name: str, password: str | None, *, if_not_exists: bool) -> None:
        raise KeyboardInterrupt


class Database:
    users = ImpatientUsers()


@contextmanager
def impatient(*_: object) -> Iterator[Database]:
    yield Database()


@pytest.mark.parametrize("generate", [True, False])
def test_who_interrupts_it_is_told_how_to_set_another_password(
    generate: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(users, "changing", impatient)
    option = "--generate" if generate else "--no-password"
    assert run(["user", "create", "ann", option, "-t", "127.0.0.1:1"]) == Exit.UNKNOWN
    told = capsys.readouterr()
    assert not told.out
    assert ("`qsync user passwd ann --generate`" in told.err) is generate
