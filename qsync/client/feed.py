"""Watching: confirmed changes as a sequence that can be left and resumed, and broadcast values.

The node is asked again and again, and keeps a question until it has news. So a reader sets its own
pace, and after a lost connection it goes on where it was, with whichever node answers.
"""

import time
from collections import deque
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Protocol, Self

from qsync.client import questions
from qsync.client.async_.runner import AsyncRunner
from qsync.client.calls import ClientCall
from qsync.client.changes import Change, ChangeBatch, ChangeKind
from qsync.client.rows import Key, Receipt, key_of
from qsync.client.sync.runner import BlockingRunner
from qsync.wire.verbs import Name

WAIT_S: Final = 1.0
"""How long a node keeps a question for which it has no news."""


@dataclass(slots=True)
class Cursor:
    """Where a reader is, and what it wants. `space` becomes a number once it is known.

    `term`: of the write that the feed goes on after, until the log is known to have that write.
    """

    space: Name | None
    prefix: list[object]
    upto: int | None
    term: int = 0
    pending: deque[Change] = field(default_factory=deque)
    ended: bool = False
    idle_s: float = 0.0

    def call(self) -> ClientCall[ChangeBatch]:
        """The next question."""
        return questions.changes(self.upto, self.space, self.prefix, WAIT_S, term=self.term)

    def took(self, batch: ChangeBatch) -> None:
        """Its answer."""
        if batch.confirmed >= (self.upto or 0):
            self.term = 0  # what is confirmed there is what was asked for, and stays so
        self.upto = batch.upto
        if batch.space is not None:
            self.space = batch.space
        self.pending.extend(batch.changes)
        self.idle_s = 0.0 if batch.changes else self.idle_s + batch.seconds

    def next(self) -> Change | None:
        """The next change that is here. After a drop of the watched space nothing follows."""
        if not self.pending:
            return None
        change = self.pending.popleft()
        if self.space is not None and change.effects[-1].what is ChangeKind.DROP:
            self.pending.clear()
            self.ended = True
        return change


def cursor(space: Name | None, key: Key, after: int | Receipt | None) -> Cursor:
    """A reader's first place: after an index or a write, or (None) now."""
    if isinstance(after, Receipt):
        return Cursor(space, key_of(key), after.index, after.term)
    return Cursor(space, key_of(key), after)


class FeedRunner(BlockingRunner, Protocol):
    """A connection for one feed alone, so that it keeps nobody waiting."""

    def close(self) -> None:
        """Hang up."""


AsyncFeedRunner = AsyncRunner
"""The client's own connection: any number of calls may be under way on it."""


class Feed:
    """Changes, blocking, over a connection of its own. Also a context manager."""

    def __init__(self, client: FeedRunner, place: Cursor, *, idle: float | None = None) -> None:
        self._place = place
        self._idle = idle
        self._client = client
        if place.upto is None:
            try:
                self._ask()
            except BaseException:
                self.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Change:
        place = self._place
        while not place.pending:
            if place.ended or (self._idle is not None and place.idle_s >= self._idle):
                self.close()
                raise StopIteration
            self._ask()
        change = place.next()
        assert change is not None
        return change

    @property
    def upto(self) -> int:
        """Everything up to this index of the log was read, and handed out or waits here."""
        return self._place.upto or 0

    def close(self) -> None:
        """Hang up."""
        self._client.close()

    def _ask(self) -> None:
        self._place.took(self._client.run(self._place.call()))


class AsyncFeed:
    """Changes with `async for`, over the client's own connection.

    Without a place to go on after, "now" is when the first one is asked for, or when `begin` is
    awaited.
    """

    def __init__(
        self, client: AsyncFeedRunner, place: Cursor, *, idle: float | None = None
    ) -> None:
        self._client = client
        self._place = place
        self._idle = idle

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Change:
        place = self._place
        while not place.pending:
            if place.ended or (self._idle is not None and place.idle_s >= self._idle):
                raise StopAsyncIteration
            await self.poll()
        change = place.next()
        assert change is not None
        return change

    @property
    def upto(self) -> int:
        """Everything up to this index of the log was read, and handed out or waits here."""
        return self._place.upto or 0

    async def poll(self) -> None:
        """Ask once. With `after=None` the first time says what "now" is."""
        self._place.took(await self._client.run(self._place.call()))


class Values:
    """The values of a broadcast key, blocking: the present one at once, then every other one."""

    def __init__(self, client: FeedRunner, key: str) -> None:
        self._key = key
        self._known: object = None
        self._client = client

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> object:
        while True:
            value = self._client.run(questions.watch(self._key, self._known, WAIT_S))
            if value != self._known:
                self._known = value
                return value

    def close(self) -> None:
        """Hang up."""
        self._client.close()


class AsyncValues:
    """The same with `async for`, over the client's own connection."""

    def __init__(self, client: AsyncFeedRunner, key: str) -> None:
        self._client = client
        self._key = key
        self._known: object = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> object:
        return await self.within(None)

    async def within(self, seconds: float | None) -> object:
        """The next value; None when there is none for so many seconds."""
        until = None if seconds is None else time.monotonic() + seconds
        while True:
            wait = WAIT_S if until is None else min(WAIT_S, max(0.0, until - time.monotonic()))
            value = await self._client.run(questions.watch(self._key, self._known, wait))
            if value != self._known:
                self._known = value
                return value
            if until is not None and time.monotonic() >= until:
                return None
