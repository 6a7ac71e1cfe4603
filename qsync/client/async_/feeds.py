"""Confirmed changes, and values of broadcast keys, one after another."""

import time
from typing import Self

from qsync.client import questions
from qsync.client.arguments import seconds_of
from qsync.client.async_.runner import AsyncFeedRunner
from qsync.client.changes import Change
from qsync.client.feed import Cursor, wait_within
from qsync.errors import QsyncError


class AsyncFeed:
    """Changes in the order of the log, each once.

    Without a place to go on after, "now" is when the first question is asked: by `poll`, at the
    latest with the first change. A blocking feed asks it when it is made.
    """

    def __init__(
        self, client: AsyncFeedRunner, place: Cursor, *, idle: float | None = None
    ) -> None:
        self._place = place
        self._idle = None if idle is None else seconds_of("idle", idle)
        self._client = client
        # |if place.upto is None:
        # |    try:
        # |        self.poll()
        # |    except BaseException:
        # |        self.close()
        # |        raise

    # |def __enter__(self) -> Self:
    # |    return self

    # |def __exit__(self, *_: object) -> None:
    # |    self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Change:
        place = self._place
        while not place.pending:
            if place.ended or place.is_idle(self._idle):
                # |self.close()
                raise StopAsyncIteration
            await self.poll()
        change = place.next()
        assert change is not None
        return change

    @property
    def upto(self) -> int:
        """The index up to which the log was read; all changes were handed out or wait here."""
        return self._place.upto or 0

    # |def close(self) -> None:
    # |    """Hang up."""
    # |    self._client.close()

    async def poll(self) -> None:
        """Ask once. With `after=None` the first call sets what "now" is."""
        place = self._place
        asked = place.upto
        try:
            batch = await self._client.run(place.call(self._client.timeout, self._idle))
        except QsyncError as error:
            place.name_space(error)
            raise
        place.took(batch, asked)


class AsyncValues:
    """The values of a broadcast key: the present one at once, then every other one."""

    def __init__(self, client: AsyncFeedRunner, key: str) -> None:
        self._client = client
        self._key = key
        self._known: object = None

    # |def __enter__(self) -> Self:
    # |    return self

    # |def __exit__(self, *_: object) -> None:
    # |    self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> object:
        return await self.within(None)

    # |def close(self) -> None:
    # |    """Hang up."""
    # |    self._client.close()

    async def within(self, seconds: float | None) -> object:
        """The next value; None if there is none within this time in seconds."""
        until = None if seconds is None else time.monotonic() + seconds_of("seconds", seconds)
        while True:
            left = None if until is None else until - time.monotonic()
            wait = wait_within(self._client.timeout, left)
            value = await self._client.run(questions.watch(self._key, self._known, wait))
            if value != self._known:
                self._known = value
                return value
            if until is not None and time.monotonic() >= until:
                return None
