"""Places that clients were told of, which their next reads may ask for; tokens of their writes."""

from collections import deque
from dataclasses import replace
from typing import TypeAlias

from election.messages import Position
from qsync.sim.clockwork import VirtualClock
from qsync.sim.dice import RandomStream
from qsync.sim.operations import NOWHERE, Ask, OperationResult, Token, WriteOperation
from qsync.sim.replies import ReadResult, WriteDone
from qsync.sim.spaces import NOTES
from qsync.sim.swarm import Swarm

TOKENS_MAX = 12

Wall: TypeAlias = dict[int, Position]
"""Where clients leave for each other the newest place that they were told of, by number."""


class Tokens:
    """Writes that were answered, or of which nobody knows what became: whose, and what for."""

    def __init__(self) -> None:
        self.known: deque[WriteOperation] = deque(maxlen=TOKENS_MAX)
        self._done: deque[WriteOperation] = deque(maxlen=TOKENS_MAX)
        """Of those, the ones that took effect for good: asynchronous ones may yet be lost."""

    def of_the_past(self) -> "Tokens":
        """The tokens that later clients know, when no unknown write can take effect any more."""
        twin = Tokens()
        twin.known.extend(self._done)
        return twin

    def outlive_cluster(self) -> None:
        """Later clients know all of them: none can take effect any more, whatever became of it."""
        self._done.extend(each for each in self.known if each not in self._done)

    @property
    def named(self) -> set[Token]:
        """The writes that a client may ask for once more."""
        return {ask.token for ask in self.known if ask.token is not None}

    def told(self, ask: Ask, told: OperationResult) -> None:
        """A question came to its end. What was refused for certain is nobody's business again."""
        if (
            isinstance(ask, WriteOperation)
            and told.seq
            and ask.token is None
            and told.type != "fail"
        ):
            asked = replace(ask, token=(told.session, told.seq))
            self.known.append(asked)
            if told.ok and any(op[1:2] != [NOTES] for op in ask.ops):
                self._done.append(asked)


class Floors:
    """Of one client. Its own last write, unless `dice` are given, which choose among more.

    Then also what it was shown last (monotonic reads), or what somebody else was told, who passed
    it on (causality).
    """

    def __init__(self, number: int, wall: Wall, dice: RandomStream | None) -> None:
        self._number = number
        self._wall = wall
        self._dice = dice
        self._written = self._shown = NOWHERE

    def told(self, told: OperationResult) -> None:
        """A question was answered."""
        reply = told.reply
        if not told.ok or not isinstance(reply, WriteDone | ReadResult):
            return
        place = Position(reply.term, reply.index)
        if isinstance(reply, WriteDone):
            self._written = place
        else:
            self._shown = place
        self._wall[self._number] = place

    def choose(self) -> Position:
        """What the next read is to show at least."""
        if self._dice is None:
            return self._written
        others = list(self._wall.values())
        somebody = self._dice.choice(others) if others else NOWHERE
        return self._dice.choice((self._written, self._shown, somebody))


def floors_of(clockwork: VirtualClock, swarm: Swarm, number: int, wall: Wall) -> Floors:
    """Of the client of that number, as the run draws them."""
    wide = "floors" in swarm.variety.habits
    return Floors(number, wall, clockwork.dice(f"floors {number}") if wide else None)
