"""Why a connection failed: as an error with a reason, and in words for people."""

import errno
import os
from typing import Final

from qsync.errors import ConfigError, FailureReason, Unavailable

HUNG_UP: Final = "it hung up"
LATE: Final = "no answer in time"


def reason(error: BaseException) -> str:
    """What the system said: without its number, and without what a library made of it."""
    if isinstance(error, ConfigError):
        return error.message
    told = _cause(error) or error
    if not isinstance(told, OSError):
        return str(told) or type(told).__name__
    if (
        told.errno is not None and told.errno in errno.errorcode
    ):  # a resolver has numbers of its own
        return os.strerror(told.errno)
    return told.strerror or str(told) or type(told).__name__


def unavailable(address: str, error: BaseException) -> Unavailable:
    """What is raised to those who asked the node at that address."""
    cause = _cause(error)
    late = isinstance(cause, TimeoutError)
    why = LATE if late else reason(error)
    failure = Unavailable(f"{address}: {why}", details={"nodes": {address: why}})
    if late:
        failure.reason = FailureReason.TIMED_OUT
    elif isinstance(cause, ConnectionRefusedError):
        failure.reason = FailureReason.REFUSED
    return failure


def _cause(error: BaseException) -> OSError | None:
    """The system's own error: that of the last attempt, where a library made several."""
    found: BaseException | None = error
    while found is not None and not (isinstance(found, OSError) and found.__cause__ is None):
        found = found.exceptions[-1] if isinstance(found, BaseExceptionGroup) else found.__cause__
    return found
