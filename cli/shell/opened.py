"""The end of an open transaction when its chunk fails, or when the shell ends."""

from admin.box.session import Box
from cli.shell.voices import ShellOutput


def roll_back(box: Box, voices: ShellOutput) -> None:
    """An error rolls it back, as in Tarantool's console."""
    txn = box.txn
    if txn is not None:
        box.rollback()
        voices.say(f"the open transaction was rolled back, with {_operations(txn.size)}")


def lose(box: Box, voices: ShellOutput) -> None:
    """The shell ends: report the lost transaction."""
    txn = box.txn
    if txn is not None:
        box.rollback()
        voices.say(f"the open transaction was not committed: {_operations(txn.size)} lost")


def _operations(count: int) -> str:
    return f"{count} operation{'' if count == 1 else 's'}"
