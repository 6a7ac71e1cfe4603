"""Schedules Lua's coroutines: the chunk and its fibers, with their requests in the background.

A chunk sends requests in the task that waits for it. A fiber's request has its own task if there is
an event loop; in a script without one it is sent in its turn, and the others wait for its answer.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from cli.shell.failures import LuaFailed
from cli.shell.values import Lua

Question = tuple[int, int, bytes, Lua]
"""A request: its fiber, connection, verb, and arguments."""
NOBODY_LEFT: Final = "every fiber waits for another one, and none is left to wake them"


class Carriers(Protocol):
    """The event loop: tasks besides the waiting one."""

    def carry(self, question: Callable[[], Awaitable[None]], /) -> None:
        """Send the request in a separate task, then `poke`."""

    def poke(self) -> None:
        """Wake the waiting task, so that it checks again."""

    async def wait(self, seconds: float | None) -> None:
        """Wait until poked, or for this time."""


class FiberTurns:
    """`step`: the next requests of the coroutines.

    `answer`: sends a fiber's request, which makes it ready.
    """

    def __init__(
        self,
        step: Callable[[], tuple[Lua, ...]],
        answer: Callable[[int, int, bytes, Lua], Awaitable[None]],
    ) -> None:
        self.carriers: Carriers | None = None
        self.pause: Callable[[float], Awaitable[None]] | None = None
        self.ended: Callable[[int], None] = _nothing
        """Is called with the number of every fiber that has ended."""
        self._step = step
        self._answer = answer
        self._chunks: dict[int, Question | None] = {}
        """Chunks with a waiting fiber, and the request of each."""
        self._over: dict[int, tuple[Lua, ...]] = {}
        self._questions: deque[Question] = deque()

    async def until_done(self, chunk: int) -> tuple[Lua, ...]:
        """Give turns until the chunk ends; return its last event."""
        self._chunks[chunk] = None
        try:
            while True:
                seconds = self.advance()
                if chunk in self._over:
                    return self._over[chunk]
                asked = self._chunks[chunk]
                if asked is not None:
                    self._chunks[chunk] = None
                    await self._answer(*asked)
                elif self._questions:
                    await self._answer(*self._questions.popleft())
                else:
                    await self._wait(seconds)
        finally:
            self._chunks.pop(chunk, None)
            self._over.pop(chunk, None)
            if self.carriers is not None:
                self.carriers.poke()

    async def go_on(self) -> None:
        """Give turns without end, also while no chunk runs."""
        assert self.carriers is not None
        while True:
            await self.carriers.wait(self.advance())

    def advance(self) -> float | None:
        """Run all ready fibers; return the seconds until the next one is ready, or None."""
        while True:
            event = self._step()
            match event[0]:
                case b"idle":
                    return float(event[1]) if len(event) > 1 and event[1] is not None else None
                case b"ask":
                    self._asked((event[1], event[2], event[3], event[4]))
                case b"ended":
                    self.ended(event[1])
                case _:
                    self._finish(event)

    def _finish(self, event: tuple[Lua, ...]) -> None:
        if event[1] in self._chunks:
            self._over[event[1]] = event
            if self.carriers is not None:
                self.carriers.poke()

    def _asked(self, question: Question) -> None:
        if question[0] in self._chunks:
            self._chunks[question[0]] = question
            if self.carriers is not None:
                self.carriers.poke()
        elif self.carriers is not None:
            self.carriers.carry(lambda: self._answer(*question))
        else:
            self._questions.append(question)

    async def _wait(self, seconds: float | None) -> None:
        if self.carriers is not None:
            await self.carriers.wait(seconds)
        elif seconds is None:
            raise LuaFailed(NOBODY_LEFT, hint="a signal must come from a fiber that is alive")
        elif self.pause is not None:
            await self.pause(seconds)


def _nothing(_fiber: int) -> None:
    """The default: nothing waits for the end."""
