"""What a command says of a change whose answer nobody waits for any more."""

import click
import pytest

from cli.exits import Exit, exit_of
from cli.output import Style, complain
from cli.shell.failures import InterruptedUnknown
from cli.under_way import AGAIN, change_under_way


def interrupted(shown_by: str = "", hint: str = "") -> InterruptedUnknown:
    with pytest.raises(InterruptedUnknown) as caught, change_under_way(shown_by, hint=hint):
        raise KeyboardInterrupt
    return caught.value


@pytest.mark.parametrize("target", [["--target=a:1"], ["-t", "a:1"], []])
def test_the_command_that_shows_an_interrupted_change_asks_the_same_cluster(
    target: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    error = interrupted("user list")
    complain(error, Style(), ["user", "drop", "ann", *target])
    said = capsys.readouterr().err
    assert " ".join(["its outcome: qsync user list", *target]) + "\n" in said
    assert exit_of(error) is Exit.UNKNOWN


def test_what_nothing_shows_is_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    complain(interrupted(hint=AGAIN), Style(), ["user", "passwd", "ann"])
    said = capsys.readouterr().err
    assert AGAIN in said
    assert "its outcome" not in said


def test_a_change_that_was_made_is_remembered_for_what_comes_after_it() -> None:
    how = Style()
    with click.Context(click.Command("demote"), obj=how), change_under_way("status"):
        assert not how.changed
    assert how.changed
