"""Tasks beside a block under asyncio, whose own groups leave marks on the task of the block."""

import asyncio  # noqa: TID251 - its groups are what is tried here

import anyio
import pytest

from qsync.client.background_tasks import BackgroundTasks, background_tasks


async def fail() -> None:
    raise ValueError


async def fail_in_a_group() -> None:
    with pytest.raises(ExceptionGroup):
        async with asyncio.TaskGroup() as inner:
            inner.create_task(fail())


@pytest.mark.parametrize("times", range(4))
def test_a_block_whose_own_group_has_failed_ends_as_any_other(times: int) -> None:
    async def program() -> str:
        async with background_tasks() as tasks:
            tasks.start_soon(anyio.sleep_forever)
            for _ in range(times):
                await fail_in_a_group()
        return "ended"

    assert asyncio.run(program()) == "ended"


def test_a_block_is_cancelled_from_outside_all_the_same() -> None:
    async def program() -> str:
        with anyio.CancelScope() as scope:
            async with background_tasks() as tasks:
                tasks.start_soon(anyio.sleep_forever)
                scope.cancel()
                await anyio.sleep_forever()
        return "cancelled" if scope.cancelled_caught else "ended"

    assert asyncio.run(program()) == "cancelled"


async def test_a_task_that_a_task_starts_at_the_end_ends_too() -> None:
    async def start_another(tasks: BackgroundTasks) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            tasks.start_soon(anyio.sleep_forever)

    async with background_tasks() as tasks:
        tasks.start_soon(start_another, tasks)
        await anyio.lowlevel.checkpoint()
