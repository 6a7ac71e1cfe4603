"""`try_write` while other tasks use the same transaction."""

from typing import Any

import pytest
import trio

from qsync.client import operations
from qsync.client.async_.transaction import AsyncTransaction
from qsync.errors import DuplicateKey

TAKEN, FREE = operations.insert("s", [1]), operations.insert("s", [2])


class RefusingRunner:
    """A leader that is asked, and refuses when it is let."""

    def __init__(self) -> None:
        self.asked, self.let = trio.Event(), trio.Event()

    async def run(self, call: object, **limits: float | None) -> object:
        del call, limits
        self.asked.set()
        await self.let.wait()
        raise DuplicateKey("taken")


async def refused(tx: AsyncTransaction) -> None:
    with pytest.raises(DuplicateKey):
        await tx.try_write(TAKEN)


async def test_a_refused_trial_takes_back_its_own_operation_whatever_others_wrote() -> None:
    runner: Any = RefusingRunner()
    tx = AsyncTransaction(runner, {})
    async with trio.open_nursery() as nursery:
        nursery.start_soon(refused, tx)
        await runner.asked.wait()
        tx._draft.write(FREE)
        runner.let.set()
    assert tx._draft.ops == [FREE]


async def test_a_refused_trial_takes_nothing_of_others_when_its_own_was_cut() -> None:
    runner: Any = RefusingRunner()
    tx = AsyncTransaction(runner, {})
    async with trio.open_nursery() as nursery:
        nursery.start_soon(refused, tx)
        await runner.asked.wait()
        tx.back_to(0)
        tx._draft.write(FREE)
        runner.let.set()
    assert tx._draft.ops == [FREE]


async def test_what_is_being_committed_is_not_changed_by_a_late_refusal() -> None:
    runner: Any = RefusingRunner()
    tx = AsyncTransaction(runner, {})
    async with trio.open_nursery() as nursery:
        nursery.start_soon(refused, tx)
        await runner.asked.wait()
        call = tx._draft.end({})
        runner.let.set()
    assert call is not None
    assert tx._draft.ops == [TAKEN]
