"""The order in which a process runs its ready tasks: Trio promises none."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from qsync.sim.dice import RandomStream

LATE: Final = 0.2
"""How often a ready task waits for the next turn of its process."""
T = TypeVar("T")


class TaskOrder:
    """As they began, each at once; in runs with `task_order` any order, and some wait."""

    def __init__(self, dice: "RandomStream | None" = None) -> None:
        """`dice`: of this process alone; None for the common order."""
        self._dice = dice

    def arrange(self, tasks: Iterable[T]) -> list[T]:
        """All of them."""
        arranged = list(tasks)
        if self._dice is not None:
            self._dice.shuffle(arranged)
        return arranged

    def is_late(self) -> bool:
        """Whether a ready task waits for the next turn."""
        return self._dice is not None and self._dice.chance(LATE)
