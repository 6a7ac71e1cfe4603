"""A client that was closed takes no more questions."""

from qsync.errors import QsyncError


class ClientClosed(QsyncError):
    """The client was closed, or its `with` block has ended. Nothing was done."""

    code = "CLIENT_CLOSED"
    number = 17
    hint = "connect again, and keep the client open for as long as it is used"


def check_open(*, closed: bool) -> None:
    """Raises ClientClosed."""
    if closed:
        raise ClientClosed("the client is closed, so this was not sent")
