"""The place of a reader of changes, whoever asks for the next one, and when it has seen enough."""

import math
from typing import TypeVar, cast

import pytest
import trio

from qsync.client import feed
from qsync.client.async_.feeds import AsyncFeed, AsyncValues
from qsync.client.calls import ClientCall
from qsync.client.changes import Change, ChangeBatch
from qsync.errors import ConfigError, NoSuchSpace, QsyncError
from qsync.wire.verbs import ChangesRequest, WatchRequest

T = TypeVar("T")


class TwoEach:
    """A log without an end; an answer has the next two changes, and takes a while."""

    timeout = 10.0

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


class Quiet:
    """A log that is read to 30 in three answers; each question waits as long as it may."""

    def __init__(self, *changes: int, timeout: float = 10.0) -> None:
        self.timeout = timeout
        self.changes = changes
        self.waits: list[float] = []

    async def run(self, call: ClientCall[T], *, timeout: float | None = None) -> T:  # noqa: ASYNC109 - as a client has it
        asked = call.make(1)
        assert isinstance(asked, ChangesRequest)
        assert asked.after is not None
        upto = min(asked.after + 10, 30)
        found = tuple(change(index) for index in self.changes if asked.after < index <= upto)
        seconds = asked.wait if asked.after == 30 else 0.2
        self.waits.append(asked.wait)
        await trio.lowlevel.checkpoint()
        batch = ChangeBatch(changes=found, upto=upto, confirmed=30, seconds=seconds)
        return cast("T", batch)


@pytest.mark.parametrize("idle", [0.0, 0.3, 2.5])
async def test_a_reader_ends_when_it_read_all_and_was_idle_for_so_long(idle: float) -> None:
    """What is there already is read to its end, however long that takes without a change."""
    log = Quiet(2, 28)
    read = AsyncFeed(log, feed.cursor(None, None, 0), idle=idle)
    assert [each.index async for each in read] == [2, 28]
    assert sum(log.waits[3:]) == pytest.approx(idle)
    assert max(log.waits) <= min(idle, feed.WAIT_S)


async def test_a_question_is_answered_before_the_time_of_a_call_is_over() -> None:
    log = Quiet(timeout=0.5)
    read = AsyncFeed(log, feed.cursor(None, None, 30))
    await read.poll()
    assert log.waits == [0.25]


class Unchanged:
    """A broadcast key with one value; each question waits as long as it may."""

    timeout = 0.5

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def run(self, call: ClientCall[T], *, timeout: float | None = None) -> T:  # noqa: ASYNC109 - as a client has it
        asked = call.make(1)
        assert isinstance(asked, WatchRequest)
        self.waits.append(asked.wait)
        await trio.lowlevel.checkpoint()
        return cast("T", len(self.waits) > 2)


async def test_a_question_about_a_key_is_answered_before_the_time_of_a_call_is_over() -> None:
    node = Unchanged()
    values = AsyncValues(node, "box.id")
    assert [await anext(values), await anext(values)] == [False, True]
    assert node.waits == [0.25] * 3


class Dropped:
    """A space that is gone after the first answer, in which it had a number."""

    timeout = 10.0

    def __init__(self, error: QsyncError) -> None:
        self.error = error
        self.asked = 0

    async def run(self, call: ClientCall[T], *, timeout: float | None = None) -> T:  # noqa: ASYNC109 - as a client has it
        await trio.lowlevel.checkpoint()
        self.asked += 1
        if self.asked > 1:
            raise self.error
        return cast("T", ChangeBatch(changes=(), upto=1, confirmed=1, space=51))


@pytest.mark.parametrize(
    ("space", "message", "told"),
    [
        ("pets", "there is no space 51 to be watched", "there is no space 'pets' to be watched"),
        ("pets", "read on space 512, not space 51", "read on space 512, not space 'pets'"),
        (r"\1", "read on space 51", r"read on space '\\1'"),
        (51, "read on space 51", "read on space 51"),
        ("pets", "the log begins at 51", "the log begins at 51"),
    ],
)
async def test_an_error_names_the_space_as_the_reader_named_it(
    space: str | int, message: str, told: str
) -> None:
    read = AsyncFeed(Dropped(NoSuchSpace(message)), feed.cursor(space, [1], 0))
    await read.poll()
    with pytest.raises(NoSuchSpace) as raised:
        await read.poll()
    assert raised.value.message == told
    assert raised.value.args == (told,)


@pytest.mark.parametrize("seconds", [math.nan, "1", [], True])
async def test_how_long_a_reader_waits_is_a_number(seconds: float) -> None:
    with pytest.raises(ConfigError, match="idle is a number of seconds"):
        AsyncFeed(Quiet(), feed.cursor(None, None, 0), idle=seconds)
    with pytest.raises(ConfigError, match="seconds is a number of seconds"):
        await AsyncValues(Quiet(), "box.id").within(seconds)
