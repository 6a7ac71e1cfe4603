"""The interfaces through which a surface makes its calls."""

from collections.abc import Iterable
from typing import Protocol, TypeVar

from qsync.client.calls import ClientCall
from qsync.client.options import WINDOW

T = TypeVar("T")


class AsyncRunner(Protocol):
    """Makes a call and waits for the answer."""

    async def run(self, call: ClientCall[T], *, timeout: float | None = None) -> T:  # noqa: ASYNC109 - the caller's word
        """Ask and wait for the answer."""


class AsyncManyRunner(AsyncRunner, Protocol):
    """A runner that can have many calls under way."""

    async def run_many(
        self,
        asked: Iterable[ClientCall[T]],
        *,
        window: int = WINDOW,
        timeout: float | None = None,  # noqa: ASYNC109 - the caller's word
    ) -> list[T]:
        """Ask all of them, at most `window` at once; answers in order."""


class AsyncFeedRunner(AsyncRunner, Protocol):
    """Makes the calls of a feed: they may wait long, and delay no other call.

    `timeout`: seconds for each of them.
    """

    timeout: float

    # |def close(self) -> None:
    # |    """Hang up."""
