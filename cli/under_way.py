"""Changes that are sent: after Ctrl-C the user learns that they may be made, and how to see it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cli.output import note_change
from qsync.errors import OutcomeUnknown

if TYPE_CHECKING:
    from qsync.client.rows import Receipt
    from qsync.client.sync.transaction import Transaction

AGAIN = "run it again: to do so twice does no harm"


@contextmanager
def change_under_way(shown_by: str = "", *, hint: str = "") -> Iterator[None]:
    """A block that makes one change, and ends when it is made.

    `shown_by`: the command that shows whether it is made. Raises InterruptedUnknown if the
    user does not wait for the answer.
    """
    try:
        yield
    except KeyboardInterrupt:
        from cli.shell.failures import InterruptedUnknown  # noqa: PLC0415 - seldom

        what = "interrupted while the change was running: it may be made or not"
        shown: dict[str, object] = {"shown_by": shown_by} if shown_by else {}
        raise InterruptedUnknown(what, hint=hint, details=shown) from None
    note_change()


def committed(tx: "Transaction") -> "Receipt":
    """Commit it. Raises OutcomeUnknown with its token if the user does not wait for the answer."""
    try:
        receipt = tx.commit()
    except KeyboardInterrupt:
        if tx.token is None:
            raise  # nothing was sent
        what = "interrupted while the write was running: it may be applied or not"
        raise OutcomeUnknown(what, details={"token": tx.token}) from None
    note_change()
    assert receipt is not None
    return receipt
