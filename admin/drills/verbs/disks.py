"""Verbs of a drill for disks: a lost disk, a full disk, a damaged log of a stopped node."""

import os
from typing import TYPE_CHECKING

from typing_extensions import override

from admin.drills.live import LiveCluster
from admin.drills.model import Step
from admin.drills.verbs.verb import Remedy, StepVerb, VerbSpec
from admin.lab.failures import StillRunning
from admin.lab.lab import Lab, LabNode
from qsync.faults import Fault
from qsync.store import faults
from qsync.store.segments.copied import last_batch

if TYPE_CHECKING:
    from admin.drills.simulated import Members, SimulatedCluster


class WipeVerb(StepVerb):
    """As with a new disk; the node starts again as another instance."""

    spec = VerbSpec(
        name="wipe",
        about="deletes the data of a stopped node",
        faults=(Fault.WIPE,),
    )

    WAIT_S = 5.0
    """In the simulator, the time until all others have its entries."""

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        for name in nodes:
            cluster.lab.wipe(cluster.lab.node(name))

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        """Like the replacement of a machine: not while the others need its data."""
        for node in nodes:
            others = [each for each in cluster.world.nodes if each is not node]
            last = node.disk.log.last
            cluster.until(
                lambda: all(each.disk.log.last >= last for each in others),  # noqa: B023 - called here
                self.WAIT_S,
                f"all others have what n{node.me} had",
            )
            node.exchange()


class LogVerb(StepVerb):
    """Damage to the last batch of a stopped node's log, as by a bad disk."""

    def changed(self, batch: bytes) -> bytes:
        """The batch after the damage."""
        raise NotImplementedError

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        for name in nodes:
            self._change(cluster.lab.node(name))

    def _change(self, node: LabNode) -> None:
        if node.process is not None:
            raise StillRunning(
                f"{node.name} runs, so its log must not be changed", hint="kill it first"
            )
        found = last_batch(node.dir / "log")
        try:
            handle = os.open(found.path, os.O_RDWR)
            try:
                batch = os.pread(handle, found.size, found.offset)
                os.pwrite(handle, self.changed(batch), found.offset)
            finally:
                os.close(handle)
        except OSError as error:
            raise faults.typed(error, found.path) from error


class TearVerb(LogVerb):
    """The simulator's memory has no partial entries: the last entry is removed."""

    spec = VerbSpec(
        name="tear",
        about="cuts the end of a stopped node's log short",
        faults=(Fault.TORN_LOG,),
    )

    @override
    def changed(self, batch: bytes) -> bytes:
        kept = len(batch) // 2
        return batch[:kept] + bytes(len(batch) - kept)

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        for node in nodes:
            log = node.disk.log
            if log.last:
                log.lose_tail(above=type(log.last)(log.last - 1))


class FlipVerb(LogVerb):
    """The checksum must detect it."""

    spec = VerbSpec(
        name="flip",
        about="flips one bit at the end of a stopped node's log",
        faults=(Fault.LOG_BIT_FLIP,),
    )

    BIT = 0x10
    SIMULATED_BIT = 8 * 20

    @override
    def changed(self, batch: bytes) -> bytes:
        at = len(batch) // 2
        return batch[:at] + bytes([batch[at] ^ self.BIT]) + batch[at + 1 :]

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        for node in nodes:
            log = node.disk.log
            if log.last:
                log.damage(log.last, bit=self.SIMULATED_BIT)


class FillVerb(StepVerb):
    """No write is possible any more."""

    spec = VerbSpec(
        name="fill",
        about="no file may grow, as on a full disk (RLIMIT_FSIZE of the live process)",
        faults=(Fault.FULL_DISK,),
        undone_by="free",
    )

    BYTES = 4096
    """The size limit of every file: less than any file of a node."""

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        for node in cluster.owe(self.spec.undone_by, *nodes):
            if node.process is not None:
                node.process.limit_files(self.BYTES)

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        for node in nodes:
            node.disk.broken = True


class FreeVerb(Remedy):
    """The end of `fill`."""

    spec = VerbSpec(
        name="free",
        about="lets files grow again",
    )

    @override
    def undo(self, lab: Lab, node: str) -> None:
        process = lab.node(node).process
        if process is not None:  # the limit ended with the process
            process.limit_files(None)

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        for node in nodes:
            node.disk.heal()


VERBS: tuple[StepVerb, ...] = (WipeVerb(), TearVerb(), FlipVerb(), FillVerb(), FreeVerb())
