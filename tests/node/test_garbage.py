"""A server's garbage collector: seldom, and while nobody waits."""

import gc
from collections.abc import Iterator

import pytest
import trio
import trio.testing

from qsync.node import garbage
from qsync.node.tickets import Tickets


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Nothing is frozen when a test begins, and what the suite froze is so again behind it."""
    usual = gc.get_threshold()
    gc.unfreeze()
    yield
    gc.freeze()
    gc.set_threshold(*usual)
    gc.enable()


def test_what_a_node_begins_with_is_not_looked_at_again() -> None:
    garbage.settle()
    assert gc.get_freeze_count() > 0
    assert gc.get_threshold() == (
        garbage.YOUNG_OBJECTS,
        garbage.OLDER_AFTER,
        garbage.FULL_AFTER,
    )


async def test_young_objects_are_looked_at_while_nobody_asks_and_nothing_is_appended(
    mock_clock: trio.testing.MockClock,
) -> None:
    gc.set_threshold(10 * garbage.YOUNG_OBJECTS)
    tickets, log = Tickets(), [1]
    generations: list[int] = []

    def collected(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            generations.append(info["generation"])

    gc.collect()
    made = [[each] for each in range(garbage.YOUNG_OBJECTS // 2)]
    gc.callbacks.append(collected)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(garbage.collect_while_quiet, tickets, lambda: log[-1])
            await trio.testing.wait_all_tasks_blocked()
            for _ in range(3):
                tickets.number()
                mock_clock.jump(garbage.LOOK_SECONDS)
                await trio.testing.wait_all_tasks_blocked()
            assert generations == []
            for _ in range(3):
                log.append(log[-1] + 1)
                mock_clock.jump(garbage.LOOK_SECONDS)
                await trio.testing.wait_all_tasks_blocked()
            assert generations == []
            for _ in range(3):
                mock_clock.jump(garbage.LOOK_SECONDS)
                await trio.testing.wait_all_tasks_blocked()
            assert generations == [1]
            nursery.cancel_scope.cancel()
    finally:
        gc.callbacks.remove(collected)
    assert len(made) == garbage.YOUNG_OBJECTS // 2
