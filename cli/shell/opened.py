"""The end of an open transaction when its chunk fails, or when the shell ends."""

from admin.box.session import Box
from cli.shell.voices import ShellOutput
from qsync.units import how_many


def roll_back(box: Box, voices: ShellOutput) -> None:
    """An error rolls it back, as in Tarantool's console."""
    txn = box.txn
    if txn is not None:
        box.rollback()
        voices.say(f"the open transaction was rolled back, with {how_many(txn.size, 'operation')}")


def lose(box: Box, voices: ShellOutput) -> None:
    """The shell ends: report the lost transaction."""
    txn = box.txn
    if txn is not None:
        box.rollback()
        lost = how_many(txn.size, "operation")
        voices.say(f"the open transaction was not committed: {lost} lost")
