"""The interfaces through which a surface makes its calls."""
# Made from qsync/client/async_/runner.py by tests/repo/blocking_surface.py: change that.

from collections.abc import Iterable
from typing import Protocol, TypeVar

from qsync.client.calls import ClientCall
from qsync.client.options import WINDOW

T = TypeVar("T")


class BlockingRunner(Protocol):
    """Makes a call and waits for the answer."""

    def run(self, call: ClientCall[T], *, timeout: float | None = None) -> T:
        """Ask and wait for the answer."""


class ManyRunner(BlockingRunner, Protocol):
    """A runner that can have many calls under way."""

    def run_many(
        self,
        asked: Iterable[ClientCall[T]],
        *,
        window: int = WINDOW,
        timeout: float | None = None,
    ) -> list[T]:
        """Ask all of them, at most `window` at once; answers in order."""


class FeedRunner(BlockingRunner, Protocol):
    """Makes the calls of a feed: they may wait long, and delay no other call.

    `timeout`: seconds for each of them.
    """

    timeout: float

    def close(self) -> None:
        """Hang up."""
