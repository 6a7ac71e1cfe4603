"""The looks of each state of a single node, and the result of every act on it, computed once.

A node is a pure machine, so the result of an act on a state is computed once, for all states of the
whole cluster in which it happens. This caching, not the speed of a turn, makes the search fast.
"""

import traceback
from typing import NamedTuple

from qsync.sim.canon import PropertyViolation
from qsync.sim.explore.acts import ExplorerAct, perform
from qsync.sim.explore.chain import TwoPrefixes
from qsync.sim.explore.clone import clone
from qsync.sim.explore.host import ExploredNode, TurnOutput
from qsync.sim.explore.ids import Renaming
from qsync.sim.explore.roll import Letter, StateNumbers
from qsync.sim.explore.rules import PropertyView, view


class ActResult(NamedTuple):
    """The result of an act on a state: the next state, the sent letters, the events."""

    state: int
    letters: tuple[int, ...]
    happened: tuple[str, ...]


class BrokenProperty(NamedTuple):
    """A violated property; 0 for an internal error."""

    number: int
    text: str


class StateTable(StateNumbers):
    """The roll of states and letters, with the acts and their results."""

    def __init__(self, renamings: list[Renaming], *, leases: bool = False) -> None:
        super().__init__(renamings, leases=leases)
        self.acts: list[ExplorerAct] = []
        self.views: list[PropertyView] = []
        self._act_numbers: dict[ExplorerAct, int] = {}
        self._turns: dict[tuple[int, int], ActResult | BrokenProperty] = {}
        self._seen: dict[int, int] = {}
        self._view_numbers: dict[PropertyView, int] = {}
        self._looks: dict[int, int] = {}
        self._look_numbers: dict[object, int] = {}

    # -- looks

    def view_of(self, number: int) -> int:
        """The number, in `views`, of the part of a state that the properties use."""
        known = self._seen.get(number)
        if known is None:
            seen = view(self.hosts[number])
            known = self._seen[number] = self._view_numbers.setdefault(seen, len(self.views))
            if known == len(self.views):
                self.views.append(seen)
        return known

    def look_of(self, number: int) -> int:
        """The looks of a state, as a number; equal under every renaming of nodes."""
        known = self._looks.get(number)
        if known is None:
            look = self.hosts[number].look()
            known = self._looks[number] = self._look_numbers.setdefault(
                look, len(self._look_numbers)
            )
        return known

    # -- acts

    def act(self, act: ExplorerAct) -> int:
        """The number of an act."""
        known = self._act_numbers.setdefault(act, len(self.acts))
        if known == len(self.acts):
            self.acts.append(act)
        return known

    @property
    def turns(self) -> int:
        """The number of computed turns of single nodes."""
        return len(self._turns)

    def turn(self, state: int, act: int) -> ActResult | BrokenProperty:
        """The result of the act on the state."""
        known = self._turns.get((state, act))
        if known is None:
            known = self._turns[state, act] = self.perform(clone(self.hosts[state]), act)
        return known

    def perform(self, host: ExploredNode, act: int) -> ActResult | BrokenProperty:
        """Perform the act on this host object."""
        try:
            told = perform(host, self.acts[act])
        except PropertyViolation as violation:
            return BrokenProperty(violation.number, str(violation))
        except Exception as error:  # noqa: BLE001 - whatever our code raises is a finding
            where = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{type(error).__name__}: {error} at {where.filename}:{where.lineno}"
            return BrokenProperty(0, f"{text} {where.line}")
        try:
            return self._turned(host, told)
        except TwoPrefixes:
            return BrokenProperty(
                1, f"property 1, log matching: node {host.me} has another log before it"
            )

    def _turned(self, host: ExploredNode, told: TurnOutput) -> ActResult:
        state = self.state(host)  # first: it records the entries in the letters
        here = host.platter.instance
        letters = [self.letter(Letter(host.me, to, each, here)) for to, each in told.letters]
        return ActResult(state, tuple(letters), tuple(told.happened))
