"""`box.backup`: not there yet, and it says so."""

from typing import Final

from qsync.errors import QsyncError

INSTEAD: Final = (
    "stop the members, copy the whole directory of each, and start them again; "
    "`qsync dump` keeps what their logs tell, without the rows and without a stop"
)


class NotSupported(QsyncError):
    """Asked for something that this release does not have; the hint says what to use instead."""

    code = "NOT_SUPPORTED"
    number = 79


class Backup:
    """Members that Tarantool has; every one refuses."""

    async def start(self, n: int = 0) -> list[str]:  # noqa: ARG002 - Tarantool's parameter
        """Not there yet: stop the members and copy their directories, or use `qsync dump`."""
        raise _refused()

    async def stop(self) -> None:
        """Not there yet: there is nothing to stop."""
        raise _refused()


def _refused() -> NotSupported:
    return NotSupported("box.backup is not supported yet, and nothing was done", hint=INSTEAD)
