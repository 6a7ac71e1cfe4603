"""Between two periods a cluster is recovered from one survivor or a backup; the others join it.

The histories of the period before have been checked. Its clients write again while all nodes stop,
so the survivor has entries that no other node has, or lacks confirmed ones. From now on its log is
the only one, by order of the operator (membership.md M8 a).
"""

import uuid
from dataclasses import replace
from functools import partial
from typing import Final

from election.messages import Index
from qsync.core.generation import GENERATIONS_MAX, first_write, generation_of
from qsync.data.ancestors import Ancestor
from qsync.member import Member
from qsync.record import Instance, instance_text
from qsync.sim.canon import PropertyViolation
from qsync.sim.dice import RandomStream
from qsync.sim.generations import ExploredCluster, RecoveredCluster
from qsync.sim.kernel.disk import KernelDisk
from qsync.sim.kernel.machine import MemberMachine
from qsync.sim.longlife.outside import OutsideNode
from qsync.sim.longlife.passing import pass_time
from qsync.sim.longlife.remaining_clients import RemainingClients
from qsync.sim.longlife.remains import Rows, StoppedMember, stopped
from qsync.sim.membership import asked_change
from qsync.sim.run import BUDGET_TIMEOUTS, come_to_rest
from qsync.sim.swarm import RECOVERIES
from qsync.sim.trace import NOWHERE
from qsync.sim.world import CLUSTER, World
from qsync.store.contract import Identity
from qsync.store.snapshot import SnapshotHead, chunks

SHARE: Final = 0.35
"""How often a period begins with a new cluster."""
RESTORES: Final = 0.3
"""How often it is restored as of an earlier entry, as from a backup, and has no ancestor."""
LAST_TIMEOUTS: Final = 4
"""How many election timeouts clients write while nodes die."""
WRITES_MAX: Final = 3
"""The number of writes of each client."""
WRITES: Final = ("write", "append", "add", "transfer", "note", "mixed")
CUT_OFF: Final = 0.5
"""How often one node is isolated before all die: then its log differs from the others."""
ALONE: Final = 0.7
"""How often the node that was cut off is the survivor."""
INSIDE: Final = 0.8
"""How often that entry is one that was rolled back, if there is any."""
OUTSIDE: Final = 0.5
"""How often one of the others is started on its old directory."""

OldDirectory = tuple[MemberMachine, Identity, KernelDisk]
"""A node that stays outside: its machine, its identity, and its disk."""


class Recoveries:
    """Counts those of a life. `forced`: of a survivor. `restored`: as of an earlier entry.

    `lost`: confirmed entries that a new cluster lacks, or has with another fate. `outsiders`: nodes
    that ran on their old directory beside a new cluster. `remaining_clients`: programs that went on
    in a new cluster.
    """

    def __init__(self, world: World) -> None:
        self.forced = 0
        self.restored = 0
        self.lost = 0
        self.outsiders = 0
        self.remaining_clients = 0
        self._world = world
        self._cluster = ExploredCluster(id=CLUSTER)
        self._alone: MemberMachine | None = None
        self._outside: OutsideNode | None = None
        self._supersedes = False

    def begin_period(self, number: int) -> None:
        """Maybe end the cluster, which is at rest, and begin another one."""
        world = self._world
        dice = world.clockwork.dice(f"recovery {number}")
        allowed = RECOVERIES not in world.plan.without
        more = self._cluster.generation + 2 < GENERATIONS_MAX
        if not (allowed and more and dice.random() < SHARE):
            return
        clients = RemainingClients(world, world.clockwork.dice(f"recovery {number} clients"))
        self._end_cluster(dice, clients)
        left = [stopped(each) for each in world.nodes]
        survivor = self._survivor(dice, [each for each in left if each.survives])
        restores = dice.random() < RESTORES
        outside = self._outsider(dice, [each for each in left if each is not survivor])
        made = self._begin_cluster(dice, survivor, left, restores=restores)
        self.lost += world.invariants.begin_anew(made, clients.remembered())
        self._supersedes = not restores
        for node in world.nodes:
            node.start()
        if outside is not None:
            self._outside = OutsideNode(world, *outside)
            self._outside.start()
            self.outsiders += 1
        clients.ask_again()
        self._take_in()
        clients.end_loyal()
        come_to_rest(world)
        self.remaining_clients += clients.count

    def end_period(self) -> None:
        """Wipe the node that stayed outside."""
        outside, self._outside = self._outside, None
        if outside is not None:
            outside.end(superseded_by=self._cluster.id if self._supersedes else None)

    # -- the end of the old one

    def _end_cluster(self, dice: RandomStream, clients: RemainingClients) -> None:
        """Let its clients write again while its nodes die, at once or one after the other.

        Some of them go on when the nodes are gone, with whatever they wait for.
        """
        world = self._world
        self._alone = None
        after = world.clockwork.after
        lasts = LAST_TIMEOUTS * world.swarm.timing.election_timeout
        for hand in world.clients:
            for _ in range(dice.randint(1, WRITES_MAX)):
                asked = hand.asks(dice.choice(WRITES))
                after(dice.random() * lasts, hand.perform, [asked])
        if dice.random() < CUT_OFF:
            after(dice.random() * lasts / 2, self._cut_off, dice)
        spread = dice.choice((0.0, 0.05, 1.0, lasts / 2))
        for node in world.nodes:
            power = dice.random() < 0.5
            after(lasts - spread * dice.random(), partial(_stop, node, power=power))
        pass_time(world, lasts + 1.0)
        clients.choose()
        for node in world.nodes:
            _stop(node, power=False)  # one that left long ago may have returned just now
            node.operators.leave()
        world.room.net.heal()

    def _cut_off(self, dice: RandomStream) -> None:
        """Cut off a node, half of the time the leader."""
        nodes = self._world.nodes
        leaders = [each for each in nodes if each.leads]
        alone = dice.choice(leaders if leaders and dice.random() < 0.5 else nodes)
        self._alone = alone
        others = [each.number for each in nodes if each is not alone]
        pairs = [pair for to in others for pair in ((alone.number, to), (to, alone.number))]
        self._note(f"node {alone.me} is cut off")
        self._world.room.net.block(pairs, tear=dice.random() < 0.5)

    def _survivor(self, dice: RandomStream, among: list[StoppedMember]) -> StoppedMember:
        """Choose the survivor: often the node that was cut off."""
        alone = [each for each in among if each.machine is self._alone]
        return dice.choice(alone if alone and dice.random() < ALONE else among)

    def _outsider(self, dice: RandomStream, others: list[StoppedMember]) -> OldDirectory | None:
        """Maybe choose a node that continues outside, with a log that needs another voter."""
        among = [each for each in others if each.survives and each.voters > 1]
        if not among or dice.random() >= OUTSIDE:
            return None
        machine = dice.choice(among).machine
        self._note(f"the old directory of node {machine.me} stays outside")
        return machine, machine.shelf.identity, machine.disk

    # -- the beginning of the new one

    def _begin_cluster(
        self, dice: RandomStream, left: StoppedMember, all_: list[StoppedMember], *, restores: bool
    ) -> RecoveredCluster:
        """Give all nodes new directories: one with the survivor's data, the others empty."""
        world, machine, former = self._world, left.machine, self._cluster
        last = left.last
        kept = left.backup(dice) if restores else left.stored()
        wanted = self._wanted(dice, left, kept) if restores else last
        self._cluster = replace(former, id=_uuid(dice), ancestors=(*former.ancestors, former.id))
        if machine.generations.lets_in(former, self._cluster):
            self._cluster = replace(self._cluster, id=former.id)
        what = "restored from" if restores else "made of"
        self._note(f"cluster {self._cluster.generation} is {what} node {machine.me} at {wanted}")
        ancestor = Ancestor(
            generation=generation_of(left.term),
            cluster=former.id,
            index=last,
            term=left.log.log.position.term,
        )
        member = Member(
            machine.me,
            Instance(dice.getrandbits(127)),
            name=machine.config.node.name,
            address=str(machine.config.listen),
        )
        made = left.recovered(
            member,
            kept,
            wanted,
            seen=max(each.term for each in all_),
            ancestor=None if restores else ancestor,
        )
        self._lay_out(machine, made)
        for each in world.nodes:
            if each is not machine:
                self._empty(each, dice)
        self.restored += restores
        self.forced += not restores
        return made

    def _wanted(self, dice: RandomStream, left: StoppedMember, kept: Rows) -> Index:
        """Choose an entry to restore behind those rows: often one that was rolled back, if any."""
        begins = int(kept[0].folded)
        stretches = [*left.log.limbo.stretches_above(Index(begins))]
        if stretches and dice.random() < INSIDE:
            stretch = dice.choice(stretches)
            return Index(dice.randint(int(stretch.first), int(stretch.rollback) - 1))
        return Index(dice.randint(begins, int(left.last)))

    def _lay_out(self, machine: MemberMachine, made: RecoveredCluster) -> None:
        """Make the directory of the single member: a snapshot, and a log that begins after it."""
        self._world.invariants.durable[machine.me].reopened(machine.disk.log)
        fresh = machine.disk.another()
        text = instance_text(made.member.instance)
        machine.move_in(self._identity(machine, text, (made.member,)), fresh)
        view = made.rows.view()
        stored = [row for chunk in chunks(view) for row in chunk.rows]
        fresh.snapshots.put(SnapshotHead(start=made.begins, sums=view.sums), stored, alone=True)
        write = first_write(made.term)
        fresh.log.keep(write)
        fresh.looks_on(write)
        fresh.log.begin_at(made.begins)

    def _empty(self, machine: MemberMachine, dice: RandomStream) -> None:
        text = instance_text(Instance(dice.getrandbits(127)))
        machine.move_in(self._identity(machine, text, ()), machine.disk.another())

    def _identity(
        self, machine: MemberMachine, instance: str, founders: tuple[Member, ...]
    ) -> Identity:
        return replace(
            machine.shelf.identity, cluster=self._cluster.id, instance=instance, founders=founders
        )

    def _take_in(self) -> None:
        """Add all others as members, and make as many of them voters as founded the cluster."""
        world = self._world
        timing, members = world.swarm.timing, world.turns.members
        voters = world.swarm.variety.founders(world.swarm.nodes)
        end = world.clockwork.now + BUDGET_TIMEOUTS * timing.election_timeout
        while world.clockwork.now < end:
            pass_time(world, timing.election_timeout / 4)
            for leader in [each for each in world.nodes if each.leads]:
                followed = leader.core.machine.replicated_log.configurations.followed
                change = None if followed is None else members.next_of(followed, voters=voters)
                if change is None:
                    return
                if not leader.waiting():
                    what = f"operator: {change}"
                    leader.operate(what, partial(asked_change, change, forced=False))
        raise PropertyViolation(11, f"no {voters} nodes vote in the new cluster: {world.unrest()}")

    def _note(self, what: str) -> None:
        self._world.trace.note(self._world.clockwork.now, NOWHERE, what)


def _stop(node: MemberMachine, *, power: bool) -> None:
    if node.up:
        node.stop(power=power)


def _uuid(dice: RandomStream) -> str:
    return str(uuid.UUID(int=dice.getrandbits(128)))
