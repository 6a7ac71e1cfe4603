"""Snapshots on a simulated disk whose process or power goes before their names are flushed."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from qsync.sim.dice import RandomStream
from qsync.sim.kernel.snapshots import KernelSnapshots
from qsync.store.memory_rows import MemoryRowsView
from tests.unit.test_logstart import SOME


class _Killed(Exception):
    """In a call, before what it was to do."""


class _Disk:
    """Its process is killed in its call number `last`."""

    broken = False

    def __init__(self, last: int) -> None:
        clocks = SimpleNamespace(wall=lambda at: at)
        self.left = last
        self.process = cast(
            "Any",
            SimpleNamespace(enter=self._enter, at=1.0, machine=SimpleNamespace(clocks=clocks)),
        )

    def check(self) -> None:
        """All writes succeed."""

    def _enter(self) -> None:
        self.left -= 1
        if not self.left:
            raise _Killed


class _Lucky(RandomStream):
    """What may happen does."""

    def chance(self, probability: float) -> bool:
        return probability > 0


def _half_named() -> KernelSnapshots:
    """One has its name, and the process was killed before it flushed that."""
    made = KernelSnapshots(_Disk(last=2), _Lucky("luck"))
    with pytest.raises(_Killed):
        for _ in made.writing(MemoryRowsView([], folded=SOME.index), SOME):
            pass
    assert made.place == ((SOME.index,), ())
    assert made.written == []
    return made


def test_a_name_that_is_flushed_later_counts_as_written() -> None:
    made = _half_named()
    made.settle()
    assert made.place == ((SOME.index,), (SOME.index,))
    assert made.written == [SOME.index]


def test_a_name_that_survives_a_power_cut_counts_as_written() -> None:
    """A node may trim its log behind it: nothing that follows can take it away again."""
    made = _half_named()
    made.crash(needed=SOME.index)
    assert made.place == ((SOME.index,), (SOME.index,))
    assert made.written == [SOME.index]
