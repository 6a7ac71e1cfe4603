"""Receipts of clients, which their next reads may require; tokens of their writes."""

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
"""The newest receipt of each client, by number, shared between clients."""


class Tokens:
    """Writes that were answered or have an unknown outcome: their client and purpose."""

    def __init__(self) -> None:
        self.known: deque[WriteOperation] = deque(maxlen=TOKENS_MAX)
        self._done: deque[WriteOperation] = deque(maxlen=TOKENS_MAX)
        """The subset that took effect permanently: asynchronous ones may still be lost."""

    def of_the_past(self) -> "Tokens":
        """The tokens that later clients know, after no unknown write can take effect any more."""
        twin = Tokens()
        twin.known.extend(self._done)
        return twin

    def outlive_cluster(self) -> None:
        """Later clients know all of them: none can take effect any more, whatever became of it."""
        self._done.extend(each for each in self.known if each not in self._done)

    @property
    def named(self) -> set[Token]:
        """The writes that a client may retry."""
        return {ask.token for ask in self.known if ask.token is not None}

    def told(self, ask: Ask, told: OperationResult) -> None:
        """A request ended. A certain refusal is not kept."""
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
    """The floor of one client: its own last write; `dice` choose among more.

    With `dice` also its last read (monotonic reads), or the receipt of another client (causality).
    """

    def __init__(self, number: int, wall: Wall, dice: RandomStream | None) -> None:
        self._number = number
        self._wall = wall
        self._dice = dice
        self._written = self._shown = NOWHERE

    def told(self, told: OperationResult) -> None:
        """A request was answered."""
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
        """The minimum state of the next read."""
        if self._dice is None:
            return self._written
        others = list(self._wall.values())
        somebody = self._dice.choice(others) if others else NOWHERE
        return self._dice.choice((self._written, self._shown, somebody))


def floors_of(clockwork: VirtualClock, swarm: Swarm, number: int, wall: Wall) -> Floors:
    """The floors of the client with that number, as the run draws them."""
    wide = "floors" in swarm.variety.habits
    return Floors(number, wall, clockwork.dice(f"floors {number}") if wide else None)
