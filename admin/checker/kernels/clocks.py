"""Whether clocks went back: if one did, rules that compare times prove nothing.

The history of the clients may be as large as a log, so this kernel takes its columns in parts.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from admin.checker.kernels.columns import Samples
from admin.checker.kernels.kernel import PartKernel, groups
from admin.checker.rules.rule import RuleFinding

TIMES = "times-usable"
CLIENTS = "the clients"
_NANOS = 1_000_000_000


@dataclass(slots=True)
class _Clock:
    """A series that is written in order: its last time, and its first step back."""

    whose: str
    last: int
    back: int = 0


@dataclass(slots=True)
class ClockReplay:
    """Feed it the parts of every series in order: within a series the clock must not go back."""

    facts: int = 0
    _clocks: dict[object, _Clock] = field(default_factory=dict)

    def lines(self, time: Iterable[int]) -> None:
        """Take the next part of the history."""
        self._apply(0, CLIENTS, list(time))

    def samples(self, status: Samples) -> None:
        """Take the next samples: each start of a node has its own clock."""
        lives = groups(range(len(status)), status.node, status.generation, status.life)
        for life, own in lives.items():
            self._apply(life, f"node {life[0]}", [status.time_mono[at] for at in own])

    def finding(self) -> RuleFinding:
        """How often clocks were read, and the first clock that went back."""
        found = RuleFinding(facts=self.facts)
        clock = next((each for each in self._clocks.values() if each.back), None)
        if clock is not None:
            back = f"{clock.back / _NANOS:g} s"
            found.doubt = f"the clock of {clock.whose} went back by {back}: times prove nothing"
        return found

    def _apply(self, series: object, whose: str, times: list[int]) -> None:
        if not times:
            return
        clock = self._clocks.get(series)
        if clock is None:
            clock = self._clocks[series] = _Clock(whose, times[0])
        else:
            self.facts += 1
        self.facts += len(times) - 1
        steps = pairwise((clock.last, *times))
        clock.back = clock.back or next((a - b for a, b in steps if b < a), 0)
        clock.last = times[-1]


KERNELS = (
    PartKernel(
        TIMES, "no clock goes back while it is read", needs=(), idle="no clock was read twice"
    ),
)
