"""Callers of an async client that are cancelled at any await, and nodes that never answer."""

from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing
from typing_extensions import override

from qsync.client import calls, operations
from qsync.client.aio import GOODBYE_S, AsyncClient
from qsync.client.async_.transaction import AsyncTransaction
from qsync.client.response_timeout import SILENCE_S
from qsync.errors import GivenUp, OutcomeUnknown, QsyncError, Unavailable
from qsync.wire.verbs import Request
from tests.node.memory_nodes import in_memory

Caller = Callable[[AsyncClient], Awaitable[object]]
PLACES_MAX = 50
tokens: list[AsyncTransaction] = []


class CancelAt(trio.abc.Instrument):
    """Cancels a task where it waits for the so-manieth time."""

    def __init__(self, task: trio.lowlevel.Task, place: int, scope: trio.CancelScope) -> None:
        self._task = task
        self._left = place
        self._scope = scope

    @override
    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        if task is self._task:
            self._left -= 1
            if self._left == 0:
                self._scope.cancel()


async def cancelled(place: int, act: Callable[[], Awaitable[object]]) -> bool:
    """Do it, cancelled where it waits for the so-manieth time; whether it was."""
    with trio.CancelScope() as scope:
        at = CancelAt(trio.lowlevel.current_task(), place, scope)
        trio.lowlevel.add_instrument(at)
        try:
            await act()
        finally:
            trio.lowlevel.remove_instrument(at)
    return scope.cancelled_caught


async def put(db: AsyncClient) -> None:
    await db.space("s").replace([1, 1])


async def transaction(db: AsyncClient) -> None:
    async with db.transaction() as tx:
        tokens.append(tx)
        await tx.space("s").get(1)
        await tx.space("s").select(iterator="all")
        tx.space("s").replace([2, 1])


async def trial(db: AsyncClient) -> None:
    async with db.transaction() as tx:
        tokens.append(tx)
        await tx.try_write(operations.replace("s", [3, 1]))
        tx.space("s").replace([4, 1])


async def atomic(db: AsyncClient) -> None:
    async def function(tx: AsyncTransaction) -> None:
        tokens.append(tx)
        await tx.space("s").get(1)
        tx.space("s").replace([5, 1])

    await db.atomic(function)


async def count(db: AsyncClient) -> None:
    await db.space("s").count()


async def many(db: AsyncClient) -> None:
    await db.space("s").replace_many([[number, 1] for number in range(10, 30)], window=4)


async def status(db: AsyncClient) -> None:
    await db.status()


async def watch(db: AsyncClient) -> None:
    feed = db.watch("s", after=0)
    for index in (1, 2, 3):
        assert (await anext(feed)).index == index


async def watch_key(db: AsyncClient) -> None:
    values = db.watch_key("box.status")
    assert await anext(values) == 1
    assert await values.within(3.0) == 2


CALLERS = [put, transaction, trial, atomic, count, many, status, watch, watch_key]


@pytest.mark.parametrize("caller", CALLERS)
async def test_a_caller_that_is_cancelled_anywhere_leaves_nothing_behind(
    caller: Caller, autojump_clock: trio.testing.MockClock
) -> None:
    for place in range(1, PLACES_MAX):
        tokens.clear()
        async with in_memory() as (node, db):
            ended = False
            async with trio.open_nursery() as nursery:
                for number in range(100, 103):
                    nursery.start_soon(db.space("s").replace, [number])
                ended = not await cancelled(place, lambda: caller(db))
            assert {100, 101, 102} <= set(node.store.rows)
            await put(db)
            await agree(db)
        if ended:
            return
    raise AssertionError(f"{PLACES_MAX} places are too few")


async def agree(db: AsyncClient) -> None:
    """Every transaction that has a token is resolved by it, and that is what the node did."""
    for tx in tokens:
        if tx.token is None:
            continue
        try:
            receipt = await db.resolve(tx.token, again=False)
        except GivenUp:
            assert tx.receipt is None
        else:
            assert tx.receipt is None or tx.receipt.index == receipt.index


async def test_a_client_that_is_cancelled_as_a_whole_anywhere_leaves_nothing_behind(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def whole() -> None:
        async with in_memory() as (_, db):
            await transaction(db)
            await many(db)

    for place in range(1, 10 * PLACES_MAX):
        if not await cancelled(place, whole):
            return
    raise AssertionError("too few places")


@pytest.mark.parametrize("caller", CALLERS)
async def test_a_node_that_never_answers_keeps_no_call_beyond_its_time(
    caller: Caller, autojump_clock: trio.testing.MockClock
) -> None:
    async with in_memory(timeout=5.0) as (node, db):
        await put(db)
        node.mute = True
        begun = trio.current_time()
        with pytest.raises(QsyncError) as raised:
            await caller(db)
        assert trio.current_time() - begun <= 5.1 * (1 if caller is not many else 10)
        assert not isinstance(raised.value, OutcomeUnknown) or raised.value.token
        node.mute = False
        await put(db)
    assert trio.current_time() - begun < 60


async def test_a_client_leaves_a_node_that_does_not_read_without_work_of_its_own(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with in_memory() as (node, db):
        node.deaf = True
        await node.streams[0].aclose()
        for _ in range(2):  # the first one is read, and the other one waits to be
            with pytest.raises(Unavailable):
                await db.run(calls.ping(), timeout=0.5)
        begun = trio.current_time()
    assert trio.current_time() - begun == pytest.approx(GOODBYE_S)


async def test_a_client_leaves_a_node_that_goes_on_behind_half_a_frame(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """All that it says then is taken for the rest of that frame."""
    async with in_memory() as (node, db):
        honest, begun = node.answer, trio.current_time()
        await put(db)

        def half(request: Request) -> bytes:
            node.answer = honest
            return b"\x00\x01\x00\x00"

        node.answer = half
        await put(db)
        assert len(node.streams) == 2
        assert trio.current_time() - begun < SILENCE_S + 0.1
