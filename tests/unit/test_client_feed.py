"""The place of a reader of changes, whoever asks for the next one."""

from typing import TypeVar, cast

import trio

from qsync.client import feed
from qsync.client.async_.feeds import AsyncFeed
from qsync.client.calls import ClientCall
from qsync.client.changes import Change, ChangeBatch
from qsync.wire.verbs import ChangesRequest

T = TypeVar("T")


class TwoEach:
    """A log without an end; an answer has the next two changes, and takes a while."""

    async def run(self, call: ClientCall[T], *, timeout: float | None = None) -> T:  # noqa: ASYNC109 - as a client has it
        asked = call.make(1)
        assert isinstance(asked, ChangesRequest)
        assert asked.after is not None
        first = asked.after + 1
        found = tuple(change(index) for index in (first, first + 1))
        await trio.lowlevel.checkpoint()
        return cast("T", ChangeBatch(changes=found, upto=first + 1, confirmed=first + 10))


def change(index: int) -> Change:
    return Change(index=index, term=1, lsn=index, origin=1, time=0.0, effects=())


async def test_tasks_that_read_one_feed_get_each_change_once() -> None:
    read = AsyncFeed(TwoEach(), feed.cursor(None, None, 5))
    seen: list[int] = []

    async def reader() -> None:
        for _ in range(4):
            found = await anext(read)
            seen.append(found.index)

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(reader)
    assert seen == list(range(6, 18))
