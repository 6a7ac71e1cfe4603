"""A node of a cluster that ended, started on its old directory: it gets no peer (M8 d, e)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from typing_extensions import override

from election.messages import Index, Position, Replica, Term
from election.roles import Role
from qsync.config.kinds import Address
from qsync.core.inputs import ReadAsked
from qsync.core.logstart import LogStart
from qsync.core.messages import Message
from qsync.core.ready import Settled, Write
from qsync.node.links import LinkStatus
from qsync.record import Instance
from qsync.replica import Replica as Core
from qsync.sim import properties
from qsync.sim.invariants import DirectoryWitness, Invariants
from qsync.sim.kernel.disk import KernelDisk
from qsync.sim.kernel.machine import MemberMachine
from qsync.sim.parts import Disk, NodePart
from qsync.sim.retained import RetentionRules
from qsync.sim.world import World
from qsync.store.contract import Identity

NUMBER: Final = 50
"""The number of its machine is its id plus this: another machine has the id in the new cluster."""


class OutsideNode:
    """It runs on its old directory on another machine, and dials the addresses of all members."""

    def __init__(
        self, world: World, former: MemberMachine, identity: Identity, disk: KernelDisk
    ) -> None:
        """`former`: the machine that it ran on, which has a new directory now."""
        host, port = former.config.listen.host, former.config.listen.port
        config = replace(
            former.config,
            listen=Address(f"{host}:{port + NUMBER}"),
            cluster=replace(former.config.cluster, id=identity.cluster),
        )
        self._world = world
        witness = OutsideWitness(disk)
        self._machine = MemberMachine(config, identity, world.room, disk, witness)
        self._machine.rebuild = former.rebuild
        witness.machine = self._machine

    def start(self) -> None:
        """Start it on its old directory."""
        self._machine.start()

    def end(self, *, superseded_by: str | None) -> None:
        """Stop it. `superseded_by`: the cluster that it must know by now, if any."""
        machine, world = self._machine, self._world
        told = machine.core.machine.disk.superseded
        if told != superseded_by:
            properties.no_peer_of_the_new(machine.me, f"is superseded by {told}")
        machine.stop(power=False)
        world.room.members.remove(machine)


class OutsideWitness:
    """See `qsync.sim.kernel.looker.Looker`. The acts of the node must have no effect."""

    def __init__(self, disk: KernelDisk) -> None:
        self.machine: MemberMachine | None = None
        self.floor = Position(Term(0), Index(0))
        self.retained = _Unjudged()
        self._last = disk.log.last
        disk.looks_on = _unseen

    def turned(self, me: Replica, core: Core, *, looked: float) -> None:
        """Property 20: it has no peer, does not lead, and gets no entry."""
        del looked
        machine = self.machine
        if core.machine.raft.role is Role.LEADER:
            properties.no_peer_of_the_new(me, f"leads in term {core.machine.term}")
        if core.machine.replicated_log.log.last > self._last:
            properties.no_peer_of_the_new(me, f"has entries behind {self._last}")
        if machine is None or not machine.up:
            return
        peers = [
            to for to, each in machine.node.links.links.items() if each.status is LinkStatus.UP
        ]
        if peers:
            properties.no_peer_of_the_new(me, f"is a peer of {sorted(map(int, peers))}")

    def opened(self, me: Replica, instance: Instance, disk: Disk) -> None:
        """It has the directory that it had."""

    def started(self, me: Replica, core: Core) -> None:
        """It has recovered."""

    def said(self, me: Replica, core: Core, peer: Replica, message: Message) -> None:
        """Its messages reach no node, otherwise it would have a peer."""

    def settled(
        self, me: Replica, core: Core, request: tuple[bytes, int], settled: Settled
    ) -> None:
        """Property 20: no client of the new cluster finds it."""
        properties.no_peer_of_the_new(me, f"tells {request[1]}: {settled} at {core.machine.term}")

    def served(self, me: Replica, core: Core, asked: ReadAsked, floor: Position) -> None:
        """Property 20, again."""
        properties.no_peer_of_the_new(me, f"answers {asked} at {core.machine.term}, not {floor}")

    def folded(self, me: Replica, core: Core) -> None:
        """Its rows do not change."""

    def check_fold(self, node: NodePart) -> None:
        """Nor here."""


class _Unjudged(RetentionRules[DirectoryWitness]):
    """Trimming of an old directory is not checked."""

    def __init__(self) -> None:
        invariants = Invariants(lease_checked=False)
        super().__init__(invariants.starts, invariants.retained.rows, invariants.books)

    @override
    def wrote_snapshot(
        self, me: Replica, core: Core, start: LogStart, rows: Mapping[bytes, bytes]
    ) -> None:
        """No check: its log no longer belongs to a cluster."""


def _unseen(_what: Write | LogStart) -> None:
    """Nobody looks on."""
