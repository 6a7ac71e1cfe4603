"""Broken rules of trimmed logs and snapshots: membership.md M6, a to d."""

from dataclasses import replace

from typing_extensions import override

from election.messages import Position, Replica, Term
from qsync.core.follower import Follower
from qsync.core.leader import Leader
from qsync.core.logindex import LogIndex
from qsync.core.messages import InstallSnapshot, Message
from qsync.core.rounds import Send
from qsync.replica import Replica as Core
from qsync.sim.mutants.mutant import Mutant, every_follower, every_leader, put


def _of_later_voters(core: Core) -> None:
    def change(leader: Leader) -> None:
        honest, log = leader.replicate, leader.replicated_log

        def replicate(send: Send) -> None:
            def altered(peer: Replica, message: Message) -> None:
                if isinstance(message, InstallSnapshot):
                    body = log.configurations.body_at(log.log.last)
                    start = replace(message.start, configuration=body)
                    message = replace(message, start=start)
                send(peer, message)

            honest(altered)

        put(leader, replicate=replicate)

    every_leader(core, change)


class _GoesBack(Follower):
    @override
    def offered(self, message: InstallSnapshot) -> bool:
        """What is confirmed here is taken again, and all behind it with it."""
        behind = message.start.index <= self.replicated_log.confirmed
        if behind:
            limbo = self.replicated_log.limbo
            limbo.confirmed = type(limbo.confirmed)(message.start.index - 1)
        return behind or super().offered(message)


class _DropsLog(Follower):
    @override
    def offered(self, message: InstallSnapshot) -> bool:
        """The log begins at the snapshot whenever that is ahead of what is confirmed."""
        ahead = message.start.index > self.replicated_log.confirmed
        return ahead or super().offered(message)


class _EmptyWhenTrimmed(LogIndex):
    @property
    @override
    def position(self) -> Position:
        """Of the last entry that can still be read; none means an empty log."""
        empty = self.last == self.start.index
        return Position(Term(0), type(self.last)(0)) if empty else super().position


def _trimmed_is_empty(core: Core) -> None:
    core.machine.replicated_log.log.__class__ = _EmptyWhenTrimmed


class _TermsForgotten(LogIndex):
    @override
    def has(self, index: int, term: int) -> bool:
        """What is before the log is taken to be there, unless its term is newer."""
        if index < self.start.index:
            return term <= self.start.term
        return super().has(index, term)


def _terms_forgotten(core: Core) -> None:
    core.machine.replicated_log.log.__class__ = _TermsForgotten


SNAPSHOTS = (
    Mutant(
        name="snapshot_of_later_voters",
        rule="membership.md M6 a",
        without="a snapshot carries the leader's latest configuration, not the one at its index",
        remodel=_of_later_voters,
    ),
    Mutant(
        name="snapshot_goes_back",
        rule="membership.md M6 b",
        without="a node installs a snapshot that is not ahead of its confirmed index",
        remodel=lambda core: every_follower(core, _GoesBack),
    ),
    Mutant(
        name="snapshot_drops_log",
        rule="membership.md M6 c",
        without="a node drops the log behind a snapshot although its log has the snapshot's entry",
        remodel=lambda core: every_follower(core, _DropsLog),
    ),
    Mutant(
        name="trimmed_is_empty",
        rule="membership.md M6 d",
        without="a node that trimmed its whole log votes as if the log were empty",
        remodel=_trimmed_is_empty,
    ),
    Mutant(
        name="trimmed_terms_forgotten",
        rule="protocol.md 7",
        without="an entry before the start of the log matches any earlier term",
        remodel=_terms_forgotten,
    ),
)
