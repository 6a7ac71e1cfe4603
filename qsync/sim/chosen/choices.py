"""A chooser stands where the dice stand: it is asked, and every answer is tried in some run."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from typing import Final, NamedTuple

from typing_extensions import override

from qsync.faults import Fault
from qsync.sim.dice import RandomStream
from qsync.sim.kernel.room import Time

SEED: Final = 1
"""Of what is no choice: secrets, names of directories, where in its range a timer fires."""
EVEN: Final = 0.5
"""What happens as often as not may happen either way, whatever else was chosen."""

Choices = Mapping[int, int]
"""By the number of a question the option that is taken. Of all others it is the first."""


class Question(NamedTuple):
    """`costs`: by option what it uses up of the bounds, nothing for None. The first does nothing.

    `place`: questions of one place have answers that lead to the same; None for a place of its own.
    `inside`: options whose place is always one of their own.
    """

    costs: tuple[Fault | None, ...]
    place: Hashable = None
    inside: frozenset[int] = frozenset()


class Chooser:
    """Answers as it was told. `left`: how often each fault may still happen; and all of them."""

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
        """There is something left of it, and it is time."""
        return self.open and self.faults_left > 0 and self.left[fault] > 0


class ChosenDice(RandomStream):
    """Dice of the network and of disks: each delay is the mean, each chance is a question.

    What is rare uses up one of the `fault`; what happens as often as not is free.
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
    """Virtual time whose dice for network, disks and strikes are a chooser's."""

    def __init__(self, chooser: Chooser) -> None:
        super().__init__(SEED)
        self._chooser = chooser
        self._chosen: dict[str, RandomStream] = {}

    @override
    def dice(self, name: str) -> RandomStream:
        """A chooser's, or such as only make runs differ in what no property speaks of."""
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
