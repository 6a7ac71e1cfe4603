"""A piece of work that takes long is remembered, with what took it."""

import gc
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from qsync.config.sections import StoreSection
from qsync.node import garbage
from qsync.node.folding import Folding
from qsync.node.stalls import (
    ABSORBING,
    BATCH,
    BRIEF_SECONDS,
    COLLECTION,
    COMMIT,
    FOLDING,
    NO_PROCESSOR,
    SLOW_SECONDS,
    STALLS_MAX,
    WAITING,
    Stalls,
)


@dataclass
class Clocks:
    """Time as the test says."""

    at: float = 100.0
    used: float = 1.0

    def stopwatch(self) -> float:
        return self.at

    def processor(self) -> float:
        return self.used

    def wall(self) -> float:
        return 1e9 + self.at

    def work(self, seconds: float) -> None:
        self.at += seconds
        self.used += seconds


def watched() -> tuple[Stalls, Clocks]:
    stalls, clocks = Stalls(), Clocks()
    stalls.watch(clocks)
    return stalls, clocks


def causes(stalls: Stalls) -> list[tuple[object, object]]:
    return [(each["piece"], each["cause"]) for each in stalls.recent]


def test_a_long_piece_is_a_stall_and_a_short_one_is_none() -> None:
    stalls, clocks = watched()
    for seconds in (SLOW_SECONDS / 2, SLOW_SECONDS * 2):
        stalls.begin_piece()
        clocks.work(seconds)
        stalls.end_piece(FOLDING)
    assert causes(stalls) == [(FOLDING, FOLDING)]
    assert stalls.recent[0]["ms"] == 40.0
    assert stalls.recent[0]["processor_ms"] == 40.0
    assert stalls.describe()["counts"] == {FOLDING: 1}


def test_a_brief_piece_is_remembered_apart_and_not_counted() -> None:
    stalls, clocks = watched()
    for seconds in (BRIEF_SECONDS / 2, SLOW_SECONDS / 2):
        stalls.begin_piece()
        clocks.work(seconds)
        stalls.end_piece(FOLDING)
    assert stalls.describe() == {
        "slow_ms": 20.0,
        "counts": {},
        "recent": [],
        "brief": [[1e9 + clocks.at, 10.0, FOLDING, FOLDING]],
    }


def test_the_part_that_took_most_of_it_is_the_cause() -> None:
    stalls, clocks = watched()
    stalls.begin_piece()
    clocks.work(0.004)
    clocks.at += 0.05
    stalls.part(COMMIT, 0.05)
    stalls.end_piece(BATCH)
    stalls.begin_piece()
    clocks.work(0.03)  # and what another batch waited for is not the cause of this one
    stalls.end_piece(BATCH)
    assert causes(stalls) == [(BATCH, COMMIT), (BATCH, BATCH)]
    assert stalls.recent[0]["parts"] == {COMMIT: 50.0}


def test_who_used_no_processor_had_none() -> None:
    stalls, clocks = watched()
    stalls.begin_piece()
    clocks.work(0.005)
    clocks.at += 0.03
    stalls.end_piece(BATCH)
    assert causes(stalls) == [(BATCH, NO_PROCESSOR)]


def test_a_timer_that_comes_late_tells_of_a_process_that_did_not_run() -> None:
    stalls, clocks = watched()
    stalls.asleep(0.1)
    clocks.at += 0.1 + SLOW_SECONDS / 2
    stalls.woke()
    assert not stalls.recent
    stalls.asleep(0.1)
    stalls.begin_piece()
    clocks.work(0.15)  # that one took the time
    stalls.end_piece(BATCH)
    stalls.woke()
    assert causes(stalls) == [(BATCH, BATCH)]
    stalls.asleep(0.1)
    clocks.at += 0.2
    stalls.begin_piece()
    clocks.work(0.01)  # a batch that came first says nothing of the time before it
    stalls.end_piece(BATCH)
    stalls.woke()
    assert causes(stalls)[1:] == [(WAITING, NO_PROCESSOR)]


def test_a_slow_commit_in_a_thread_is_a_stall_of_its_own() -> None:
    stalls, _ = watched()
    stalls.part(COMMIT, SLOW_SECONDS / 2)
    stalls.part(COMMIT, SLOW_SECONDS * 2)
    assert causes(stalls) == [(COMMIT, COMMIT)]


def test_only_the_newest_stalls_are_remembered_and_all_are_counted() -> None:
    stalls, clocks = watched()
    for _ in range(STALLS_MAX + 5):
        stalls.begin_piece()
        clocks.work(1.0)
        stalls.end_piece(BATCH)
    assert len(stalls.recent) == STALLS_MAX
    assert stalls.counts[BATCH] == STALLS_MAX + 5


def test_without_a_clock_nothing_is_measured() -> None:
    stalls = Stalls()
    stalls.begin_piece()
    stalls.part(COMMIT, 1.0)
    stalls.end_piece(BATCH)
    stalls.asleep(1.0)
    stalls.woke()
    assert not stalls.recent


def test_a_collection_is_told_as_a_part() -> None:
    stalls, clocks = watched()

    def stopwatch() -> float:
        """A collection takes half of it."""
        clocks.at += 0.05
        return clocks.at

    before = list(gc.callbacks)
    garbage.watch(stalls, stopwatch)
    try:
        stalls.begin_piece()
        gc.collect()
        clocks.at -= 0.02
        stalls.end_piece(BATCH)
    finally:
        gc.callbacks[:] = before
    assert causes(stalls) == [(BATCH, COLLECTION)]


async def test_what_a_follower_applies_between_two_folds_is_a_piece_of_its_own() -> None:
    stalls, clocks = watched()
    memory = SimpleNamespace(has_frozen=False, is_full=False)

    def absorb() -> None:
        clocks.work(SLOW_SECONDS * 2)

    parts: dict[str, Any] = {
        "replica": SimpleNamespace(absorb=absorb, lost=None, raw=SimpleNamespace(overlay=memory)),
        "timeline": SimpleNamespace(stalls=stalls),
        "care": SimpleNamespace(tick=lambda now: None),
        "comparing": SimpleNamespace(tick=lambda now: clocks.work(SLOW_SECONDS * 2)),
        **dict.fromkeys(("spaces", "effects", "make_room")),
    }
    await Folding(**parts, store=StoreSection())._regular(0.0)
    assert causes(stalls) == [(ABSORBING, ABSORBING), (FOLDING, FOLDING)]
