"""A client that was closed, or that belongs to another process, takes no more questions."""

import os
import weakref
from typing import Protocol

from qsync.errors import QsyncError


class ClientClosed(QsyncError):
    """The client was closed, or its `with` block has ended. Nothing was done."""

    code = "CLIENT_CLOSED"
    number = 17
    hint = "connect again, and keep the client open for as long as it is used"


def check_open(*, closed: bool, process: int) -> None:
    """Raises ClientClosed. `process`: that in which the client was made."""
    if not closed:
        return
    if process != os.getpid():
        raise ClientClosed(
            f"the client is of process {process}, which forked this one, so this was not sent",
            hint="connect in each process: two on one connection would take each other's answers",
        )
    raise ClientClosed("the client is closed, so this was not sent")


class Forkable(Protocol):
    """What a process that was forked must not use."""

    def _forked(self) -> None:
        """Leave it to the parent process."""


def watch_forks(client: Forkable) -> None:
    """Call `_forked` in every process that this one forks, as long as the client is there."""
    _clients.add(client)


def _in_child() -> None:
    for client in list(_clients):
        client._forked()  # noqa: SLF001 - nobody else is to call it


_clients: weakref.WeakSet[Forkable] = weakref.WeakSet()
os.register_at_fork(after_in_child=_in_child)
