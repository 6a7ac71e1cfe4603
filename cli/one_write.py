"""The one write of a command: Ctrl-C leaves it with its token, which tells its outcome later."""

from typing import TYPE_CHECKING

from qsync.errors import OutcomeUnknown

if TYPE_CHECKING:
    from qsync.client.rows import Receipt
    from qsync.client.sync.transaction import Transaction


def committed(tx: "Transaction") -> "Receipt":
    """Commit it. Raises OutcomeUnknown if the user does not wait for the answer."""
    try:
        receipt = tx.commit()
    except KeyboardInterrupt:
        if tx.token is None:
            raise  # nothing was sent
        what = "interrupted while the write was running: it may be applied or not"
        raise OutcomeUnknown(what, details={"token": tx.token}) from None
    assert receipt is not None
    return receipt
