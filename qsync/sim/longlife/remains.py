"""The data of a stopped simulated node, and the cluster recovered from it.

`admin.recovery` and `admin.backup` make clusters of files with the same code.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from election.messages import Index, Term
from qsync.core.logstart import LogStart
from qsync.core.replicated_log import ReplicatedLog
from qsync.data.ancestors import Ancestor
from qsync.data.founding import RewrittenRows
from qsync.data.members import CODEC
from qsync.decided import DecidedLog, copy_rows, start_of_rows, stopped_log
from qsync.member import Member
from qsync.node.assembly import founding, together
from qsync.record import Entry
from qsync.sim.dice import RandomStream
from qsync.sim.generations import RecoveredCluster
from qsync.sim.kernel.disk import KernelDisk
from qsync.sim.kernel.machine import MemberMachine
from qsync.store.contract import RecoveredLog
from qsync.store.memory import MemorySpaces

Rows = tuple[MemorySpaces, LogStart]
"""A copy of stored rows, and the start of the log after them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedMember:
    """A member as its process would find it."""

    machine: MemberMachine
    found: RecoveredLog
    log: ReplicatedLog

    @property
    def disk(self) -> KernelDisk:
        """Its directory."""
        return self.machine.disk

    @property
    def last(self) -> Index:
        """Its last entry."""
        return self.log.log.last

    @property
    def term(self) -> Term:
        """The highest that it has seen."""
        return Term(max(self.found.ballot.term, self.log.log.position.term))

    @property
    def voters(self) -> int:
        """The id of the cluster, by its log; 0 if unknown."""
        configuration = self.log.configurations.in_force
        return 0 if configuration is None else len(configuration.voters)

    @property
    def survives(self) -> bool:
        """Whether a cluster may be recovered from it."""
        return bool(self.voters and self.last and self.found.quarantined is None)

    def stored(self) -> Rows:
        """Its newest rows."""
        begins = start_of_rows(self.log, self.disk.spaces.folded)
        rows = MemorySpaces()
        copy_rows(self.disk.spaces, rows, begins)
        return rows, begins

    def backup(self, dice: RandomStream) -> Rows:
        """The rows of one of its snapshots, if its log continues after one."""
        begins = self.log.log.start.index
        kept = self.disk.snapshots.durable().items()
        among = [each for at, each in sorted(kept) if at >= begins and each.whole]
        if not among:
            return self.stored()
        chosen = dice.choice(among)
        rows, puts = MemorySpaces(), sorted(chosen.contents().items())
        rows.fold(RewrittenRows(folded=chosen.index, puts=puts, deletes=[]))
        return rows, chosen.head.start

    def recovered(
        self,
        member: Member,
        kept: Rows,
        wanted: Index,
        *,
        seen: Term,
        ancestor: Ancestor | None,
    ) -> RecoveredCluster:
        """The cluster of that member, which continues after the wanted entry of this node's log."""
        rules, (rows, start) = self.machine.generations, kept
        ends = rules.restored_upto(wanted, self.last)
        index = rules.counts_upto(self.found.confirmed, ends)
        upto = rules.decided_by(index, self.last)
        decided = DecidedLog(
            start, partial(self._behind, rows.folded, upto), upto=upto, index=index
        )
        decided.fold_into(rows, _unseen)
        rules.rewrite(rows, member, ancestor)
        ended = decided.start_behind()
        return RecoveredCluster(
            member=member,
            log=self.log,
            wanted=wanted,
            ended=ended,
            begins=rules.founded(ended, member, CODEC),
            term=rules.first_term(self.term),
            seen=seen,
            rows=rows,
        )

    def _behind(self, rows: Index, upto: Index) -> Iterator[list[Entry]]:
        """Its log after them, up to there."""
        if rows < upto:
            yield self.disk.log.entries(Index(rows + 1), upto)


def stopped(machine: MemberMachine) -> StoppedMember:
    """The data of the node. It does not run."""
    disk = machine.disk
    found = disk.log.recover()
    disk.spaces.settle(found.start.index)
    found = together(found, disk.spaces)
    log = stopped_log(disk.log, found, founding(machine.shelf.identity))
    return StoppedMember(machine=machine, found=found, log=log)


def _unseen(_index: int) -> None:
    """No thread waits for it."""
