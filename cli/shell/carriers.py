"""Tasks for requests of fibers, if there is an event loop."""

import math
from collections.abc import Awaitable, Callable

import trio

from cli.shell.failures import ChunkInterrupted


class TaskCarriers:
    """Runs requests in tasks of a nursery that outlives every chunk."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery
        self._poked = trio.Event()

    def carry(self, question: Callable[[], Awaitable[None]], /) -> None:
        """Send the request in a separate task, then `poke`."""
        self._nursery.start_soon(self._carry, question)

    def poke(self) -> None:
        """Wake the waiting task, so that it checks again."""
        self._poked.set()
        self._poked = trio.Event()

    async def wait(self, seconds: float | None) -> None:
        """Wait until poked, or for this time."""
        poked = self._poked
        with trio.move_on_after(math.inf if seconds is None else seconds):
            await poked.wait()

    async def _carry(self, question: Callable[[], Awaitable[None]]) -> None:
        try:
            await question()
        except ChunkInterrupted:
            return  # the user who interrupted it knows it
        finally:
            self.poke()
