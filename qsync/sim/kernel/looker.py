"""Observes everything that happens to machines, to check the properties."""

from typing import Protocol

from election.messages import Replica
from qsync.record import Instance
from qsync.replica import Replica as Core
from qsync.sim.invariants import DirectoryWitness
from qsync.sim.kernel.watch import KernelInvariants
from qsync.sim.parts import Disk, NodePart
from qsync.sim.retained import RetentionRules


class Looker(KernelInvariants, Protocol):
    """Also observes lives and rows on disk."""

    def opened(self, me: Replica, instance: Instance, disk: Disk) -> None:
        """A machine has that directory from now on."""

    def started(self, me: Replica, core: Core) -> None:
        """A process has recovered from its disk."""

    def folded(self, me: Replica, core: Core) -> None:
        """Rows went to its disk."""

    def check_fold(self, node: NodePart) -> None:
        """The rows on a disk are the replay of the log."""

    @property
    def retained(self) -> RetentionRules[DirectoryWitness]:
        """Observes snapshots that nodes write by themselves, and trimming."""
