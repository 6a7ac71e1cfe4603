"""A chooser replaces the random draws: each draw is a question, and every answer is tried."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from typing import Final, NamedTuple

from typing_extensions import override

from qsync.faults import Fault
from qsync.sim.dice import RandomStream
from qsync.sim.kernel.room import Time

SEED: Final = 1
"""The seed for draws that are not choices: secrets, names of directories, the times of timers."""
EVEN: Final = 0.5
"""An event of at least this probability is a free choice."""

Choices = Mapping[int, int]
"""The chosen option by the number of the question. All other questions take the first."""


class Question(NamedTuple):
    """`costs`: by option the bound that it uses, nothing for None. The first has no effect.

    `place`: equal answers to questions of one place have equal results; None: the place is unique.
    `inside`: options whose place is always unique.
    """

    costs: tuple[Fault | None, ...]
    place: Hashable = None
    inside: frozenset[int] = frozenset()


class Chooser:
    """Answers with the given choices.

    `left`: how often each fault, and all together, may still happen.
    """

    def __init__(self, choices: Choices, bounds: Mapping[Fault, int], faults: int) -> None:
        self.questions: list[Question] = []
        self.left = Counter(bounds)
        self.faults_left = faults
        self.open = False
        """From now on faults may happen."""
        self._choices = choices

    def choose(self, question: Question) -> int:
        """The option that is taken."""
        taken = self._choices.get(len(self.questions), 0)
        self.questions.append(question)
        cost = question.costs[taken]
        if cost is not None:
            self.left[cost] -= 1
            self.faults_left -= 1
            assert self.left[cost] >= 0, f"{cost} was chosen too often"
        return taken

    def may(self, fault: Fault) -> bool:
        """Whether the bound is not used up, and faults may happen now."""
        return self.open and self.faults_left > 0 and self.left[fault] > 0


class ChosenDice(RandomStream):
    """Draws of the network and of disks: each delay is the mean, each chance is a question.

    A rare event uses one of the bound `fault`; a likely one is free.
    """

    def __init__(self, name: str, chooser: Chooser, fault: Fault) -> None:
        super().__init__(name)
        self._chooser = chooser
        self._fault = fault

    @override
    def about(self, mean: float) -> float:
        """Always that."""
        return mean

    @override
    def chance(self, probability: float) -> bool:
        """Whether it happens."""
        if probability == EVEN:
            return bool(self._chooser.choose(Question((None, None))))
        if not probability or not self._chooser.may(self._fault):
            return False
        return bool(self._chooser.choose(Question((None, self._fault))))


class ChosenTime(Time):
    """Virtual time whose draws for network, disks and faults come from a chooser."""

    def __init__(self, chooser: Chooser) -> None:
        super().__init__(SEED)
        self._chooser = chooser
        self._chosen: dict[str, RandomStream] = {}

    @override
    def dice(self, name: str) -> RandomStream:
        """Draws of a chooser, or draws that no property depends on."""
        make = next((_CHOSEN[each] for each in _CHOSEN if name.startswith(each)), None)
        if make is None:
            return super().dice(name)
        found = self._chosen.get(name)
        if found is None:
            found = self._chosen[name] = make(f"{SEED} {name}", self._chooser)
        return found


def _slow_link(name: str, chooser: Chooser) -> RandomStream:
    return ChosenDice(name, chooser, Fault.SLOW_LINK)


def _bad_disk(name: str, chooser: Chooser) -> RandomStream:
    return ChosenDice(name, chooser, Fault.FAIL_FSYNC)


_CHOSEN: Mapping[str, Callable[[str, Chooser], RandomStream]] = {
    "net": _slow_link,
    "disk": _bad_disk,
}
