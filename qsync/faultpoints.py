"""Fault points: named places where a node breaks on purpose, when armed and allowed.

This is only the list of what is armed. What strikes there looks here, and nothing looks while
nothing is armed (see `qsync.node.seams`).
"""

from collections.abc import Callable
from dataclasses import dataclass

from qsync.errors import AccessDenied, ConfigError
from qsync.faults import Fault

POINTS = (
    Fault.SLOW_FSYNC,
    Fault.FAIL_FSYNC,
    Fault.CLOCK_JUMP,
    Fault.LOSE_CONFIRM,
    Fault.LOSE_ROLLBACK,
)
"""The faults that a node can do to itself."""
DELAY_S_MAX = 60.0
JUMP_S_MAX = 366 * 86_400.0
TIMES_MAX = 1_000_000
LASTS_S, LASTS_S_MAX = 3600.0, 86_400.0
"""Limit in seconds, after which an armed point is disarmed: its driver may be gone."""


@dataclass(slots=True)
class ArmedFault:
    """One armed point. `left`: how often it still strikes; None until disarmed or `until`."""

    point: Fault
    until: float
    seconds: float = 0.0
    left: int | None = None
    struck: int = 0

    def describe(self) -> dict[str, object]:
        """For people and scripts."""
        return {
            "point": self.point.value,
            "seconds": self.seconds,
            "left": self.left,
            "struck": self.struck,
        }


class FaultPoints:
    """What is armed. `changed` is called after every change; `now` is a clock that never jumps."""

    def __init__(
        self, *, allowed: bool, changed: Callable[[], None], now: Callable[[], float]
    ) -> None:
        self.allowed = allowed
        self._changed = changed
        self._now = now
        self._armed: dict[Fault, ArmedFault] = {}

    def arm(
        self, name: str, *, seconds: float = 0.0, times: int = 0, lasts: float = LASTS_S
    ) -> None:
        """Arm one for so many `times` (0: until it is disarmed). One that is armed begins again.

        `lasts`: it is disarmed by itself after so many seconds.

        Raises AccessDenied where that is not allowed, ConfigError for what cannot be.
        """
        if not self.allowed:
            raise AccessDenied(
                "this node may not be broken on purpose",
                hint="`node.faults: true` in its configuration allows it; never in production",
            )
        point = _known(name)
        _check(point, seconds, times)
        if not 0 < lasts <= LASTS_S_MAX:
            raise ConfigError(f"{point}: lasting {lasts:g} s; at most {LASTS_S_MAX:g}, and not 0")
        self._armed[point] = ArmedFault(point, self._now() + lasts, seconds, times or None)
        self._changed()

    def disarm(self, name: str = "") -> None:
        """Disarm one, or all. Disarming what is not armed changes nothing."""
        if name:
            self._armed.pop(_known(name), None)
        else:
            self._armed.clear()
        self._changed()

    @property
    def any_armed(self) -> bool:
        """Whether any point is armed, or was until it had struck its number of times."""
        return bool(self._armed)

    def expire(self) -> None:
        """Disarm what has been armed for as long as it was to be."""
        late = [each.point for each in self._armed.values() if each.until <= self._now()]
        for point in late:
            del self._armed[point]
        if late:
            self._changed()

    def seconds(self, point: Fault) -> float | None:
        """Return the seconds of an armed point; None when it is not armed, or is used up."""
        found = self._armed.get(point)
        return None if found is None or found.left == 0 else found.seconds

    def strike(self, point: Fault) -> float | None:
        """Return the same and count the strike. Each point is struck from one thread only."""
        found = self._armed.get(point)
        if found is None or found.left == 0:
            return None
        found.struck += 1
        if found.left is not None:
            found.left -= 1
        return found.seconds

    def describe(self) -> list[dict[str, object]]:
        """Everything that is armed, also what has struck as often as it was to."""
        return [each.describe() for each in list(self._armed.values())]


def _known(name: str) -> Fault:
    found = next((point for point in POINTS if point == name), None)
    if found is None:
        raise ConfigError(f"there is no fault point {name!r}; there are {', '.join(POINTS)}")
    return found


def _check(point: Fault, seconds: float, times: int) -> None:
    limit = JUMP_S_MAX if point is Fault.CLOCK_JUMP else DELAY_S_MAX
    low = -limit if point is Fault.CLOCK_JUMP else 0.0
    if not low <= seconds <= limit:
        raise ConfigError(f"{point}: {seconds:g} seconds are not between {low:g} and {limit:g}")
    if not 0 <= times <= TIMES_MAX:
        raise ConfigError(f"{point}: {times} times; at most {TIMES_MAX}, or 0 for no end")
