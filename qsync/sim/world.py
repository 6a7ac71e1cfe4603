"""A whole cluster of shipped nodes, shipped clients and troubles, built from one plan."""

import uuid
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final, Protocol

from election.messages import Replica
from qsync.config import NodeConfig
from qsync.config.sections import WriterChoice
from qsync.core.configuration import Configuration
from qsync.core.consistency import Consistency
from qsync.faults import Fault
from qsync.member import Member, Members
from qsync.record import Instance, instance_text
from qsync.sim import repertoire, swarm
from qsync.sim.client_load import ClientLoad
from qsync.sim.faults import Faults
from qsync.sim.floors import Tokens, Wall, floors_of
from qsync.sim.history import SimHistory
from qsync.sim.invariants import Invariants
from qsync.sim.kernel import entrusting, mutants
from qsync.sim.kernel.caller import departures_of, kept_for_nobody
from qsync.sim.kernel.chores import Chore
from qsync.sim.kernel.client import Hand
from qsync.sim.kernel.disk import KernelDisk
from qsync.sim.kernel.impatience import EARLY, Impatience
from qsync.sim.kernel.looker import Looker
from qsync.sim.kernel.machine import Computer, MemberMachine
from qsync.sim.kernel.operators import NodeOperators
from qsync.sim.kernel.program import ClientEnvironment, Program
from qsync.sim.kernel.room import SimulatedKernel, Time
from qsync.sim.kernel.short_logs import trim_soon
from qsync.sim.kernel.strikes import KernelFaults
from qsync.sim.kernel.sweeps import look_seldom, sweep_soon
from qsync.sim.membership import MemberOrders
from qsync.sim.parts import NodePart
from qsync.sim.plan import Plan
from qsync.sim.repertoire import OperationGenerator
from qsync.sim.swarm import Swarm
from qsync.sim.trace import Trace
from qsync.sim.troubles import NemesisContext
from qsync.sim.turns import Turns
from qsync.store.contract import Identity

PORTS: Final = 5000
PROGRAMS: Final = 100
OPERATORS: Final = 500
LITTLE_ROOM, SELDOM = 200, 2.0
"""A limit of row bytes for a few rows, and how many times less often such a node folds."""
CALM: Final = 10
"""How many times less often users and readers act in a long life."""
CLUSTER: Final = str(uuid.UUID(int=7))


class WorldLooker(Looker, Protocol):
    """Also of whole clusters."""

    def check_fold(self, node: NodePart) -> None:
        """The rows on a disk are the replay of the log."""

    def at_rest(self) -> str | None:
        """After healing: the difference between nodes; None if all are equal."""


class World:
    """It does not run before `start` and `step`."""

    def __init__(
        self,
        plan: Plan,
        *,
        watched_by: Callable[[Invariants], WorldLooker] | None = None,
        clockwork: Time | None = None,
        drawn: Swarm | None = None,
    ) -> None:
        self.plan = plan
        self.clockwork = Time(plan.seed) if clockwork is None else clockwork
        dice = self.clockwork.dice("kernel")
        self.swarm = drawn or swarm.draw(
            plan, self.clockwork.dice("swarm"), self.clockwork.dice("variety")
        )
        window = dice.choice((2_000, 16_000, 200_000, 200_000))
        writers = [dice.choice(("thread", "thread", "inline", "auto")) for _ in range(9)]
        self.room = SimulatedKernel(
            self.clockwork,
            self.swarm,
            Trace(),
            window=window,
            leases_hold=self.leases_hold,
        )
        """The shared environment of all machines."""
        self.invariants = Invariants(lease_checked=self.leases_hold)
        self.invariants.retained.checkpoint_count = self.swarm.variety.checkpoint_count
        self.looker: WorldLooker = self.invariants
        """The first observer of all events; it checks the invariants."""
        if watched_by is not None:
            self.looker = watched_by(self.invariants)
        ids = self.clockwork.dice("instances")
        common = _config(self.swarm)
        founders = tuple(
            Member(
                Replica(number),
                Instance(ids.getrandbits(127)),
                name=f"n{number}",
                address=str(common.peers[number - 1].address),
            )
            for number in range(1, self.swarm.nodes + 1)
        )
        founding = founders[: self.swarm.variety.founders(self.swarm.nodes)]
        self.invariants.rules.founding = Configuration(founding)
        self.nodes = [
            self._node(
                _own(common, self.swarm, each.replica, writers[each.replica]),
                instance=instance_text(each.instance),
                founders=founding if each in founding else (),
            )
            for each in founders
        ]
        scene = NemesisContext(
            clockwork=self.clockwork,
            network=self.room.net,
            nodes=self.nodes,
            swarm=self.swarm,
            trace=self.trace,
            dice=self.clockwork.dice("nemesis"),
            over=plan.life is not None,
        )
        self.faults: Faults = KernelFaults(scene, self.nodes, self.room.net)
        self.history = SimHistory(self.clockwork)
        self.tokens = Tokens()
        self.clients = self.new_clients()
        members = MemberOrders(scene, partial(_place, founders))
        self.turns = Turns(scene, self._write_once, members, self._chores(scene))
        for machine in self.nodes:
            self._equip(machine)
        if plan.mutant is not None:
            mutants.plant(plan.mutant, self.nodes, self.programs)

    def _chores(self, scene: NemesisContext) -> dict[str, Chore]:
        """Periodic activities of nodes in runs with that habit."""
        users = entrusting.Visitors(self.clockwork.dice("users"), entrusting.trusted)
        readers = entrusting.Visitors(self.clockwork.dice("readers"), entrusting.reader)
        calm = 1 if self.plan.life is None else CALM
        return {
            "snapshots": Chore(scene, self.nodes, name="trims", do=trim_soon),
            "retention": Chore(scene, self.nodes, name="sweeps", do=sweep_soon),
            "users": Chore(scene, self.nodes, name="rights", do=users, pace=30 / calm),
            "readers": Chore(scene, self.nodes, name="reads on", do=readers, pace=15 / calm),
        }

    def _node(
        self,
        config: NodeConfig,
        *,
        instance: str,
        founders: Members,
    ) -> MemberMachine:
        me = config.node.id
        disk = KernelDisk(self.clockwork, self.clockwork.dice(f"disk {me}"), self.swarm.platter)
        disk.snapshots.kept = self.swarm.variety.retention is not None
        identity = Identity(
            cluster=CLUSTER,
            instance=instance,
            replica=me,
            name=f"n{me}",
            founders=founders,
        )
        machine = MemberMachine(config, identity, self.room, disk, self.looker)
        self.invariants.nodes.append(machine)
        self.looker.opened(me, machine.instance, disk)
        return machine

    def _write_once(self, done: Callable[[], None]) -> None:
        self.clients[0].write_once(done)

    def new_clients(self) -> list[Hand]:
        """Programs that are not started yet, and share their receipts."""
        load = self.swarm.load
        addresses = tuple(f"127.0.0.1:{PORTS + machine.number}" for machine in self.nodes)
        fresh = {Consistency.LINEARIZABLE} | ({Consistency.LEASE} if self.leases_hold else set())
        around = ClientEnvironment(
            addresses=addresses,
            promises=self.invariants.promises,
            history=self.history,
            timeout=load.timeout,
            fresh=frozenset(fresh),
            leased=load.leased,
            resolves=load.resolves,
        )
        hands: list[Hand] = []
        wall: Wall = {}
        self.tokens = self.tokens.of_the_past()
        for number in range(1, load.clients + 1):
            fresh_one = (number - 1) % load.hands == 0
            program = self._program(number, around) if fresh_one else hands[-1].program
            mind = self._mind(number, load, wall)
            leaves = departures_of(self.clockwork, self.swarm, number)
            hands.append(Hand(mind, program, self._impatience(number), leaves))
        if "floors" in self.swarm.variety.habits:
            looks = replace(load, weights=(("read", 1),))
            for number, address in enumerate(addresses, start=load.clients + 1):
                one = around._replace(addresses=(address,), leased=0.0)
                program = self._program(number, one, direct=True)
                hands.append(Hand(self._mind(number, looks, wall), program))
        return hands

    def _impatience(self, number: int) -> Impatience | None:
        load = self.swarm.load
        if not load.impatience:
            return None
        dice = self.clockwork.dice(f"impatience {number}")
        return Impatience(dice, rate=load.impatience, mean=load.timeout / EARLY)

    def _equip(self, machine: MemberMachine) -> None:
        """With operators, and with the parameters of its node in this run."""
        address = f"127.0.0.1:{PORTS + machine.number}"
        around = self.clients[0].program.around._replace(addresses=(address,))
        number = OPERATORS + machine.number
        machine.operators = NodeOperators(lambda: self._program(number, around, direct=True))
        if "users" in self.swarm.variety.habits:
            machine.rebuild = entrusting.as_owners
        if self.plan.life is not None:
            machine.rebuild = partial(mutants.both, machine.rebuild, look_seldom)

    def _mind(self, number: int, load: ClientLoad, wall: Wall) -> OperationGenerator:
        return OperationGenerator(
            number=number,
            dice=self.clockwork.dice(f"client {number}"),
            load=load,
            tunings=self.swarm.tunings(),
            floors=floors_of(self.clockwork, self.swarm, number, wall),
            tokens=self.tokens,
        )

    def _program(self, number: int, around: ClientEnvironment, *, direct: bool = False) -> Program:
        dice = self.clockwork.dice(f"program {number}")
        disk = KernelDisk(self.clockwork, dice, self.swarm.platter)
        computer = Computer(PROGRAMS + number, self.room, disk)
        return Program(computer, around, dice, direct=direct)

    @property
    def trace(self) -> Trace:
        """The trace of the run."""
        return self.room.trace

    @property
    def programs(self) -> list[Program]:
        """Operations of clients: each has several hands."""
        return list(dict.fromkeys(hand.program for hand in self.clients))

    @property
    def leases_hold(self) -> bool:
        """Whether no clock jumps, so a lease read is as fresh as a read with a quorum round."""
        return Fault.MONOTONIC_JUMP not in self.swarm.nemesis.active

    # -- how a run goes

    def power_on(self) -> None:
        """Processes start."""
        for program in self.programs:
            program.start()
        for node in self.nodes:
            node.start()

    def start(self) -> None:
        """Processes start; one client makes the spaces, then all begin; then faults start."""
        self.power_on()
        first = self.clients[0]
        first.script = [partial(repertoire.create_spaces, self.swarm.load.keys)]
        first.done = self._open_doors
        first.start()

    def _open_doors(self) -> None:
        for client in self.clients[1:]:
            client.start()
        self.break_things()

    def break_things(self) -> None:
        """Start troubles, and requests of operators."""
        self.faults.start()
        self.turns.start()

    def step(self) -> bool:
        """The next event. Raises Violation when it breaks a property."""
        return self.room.step()

    def heal(self) -> None:
        """Repair everything; clients finish their operations."""
        self.faults.heal()
        if "members" in self.swarm.variety.habits:
            self.turns.members.heal()
        for client in self.clients:
            client.finish()

    @property
    def decided(self) -> bool:
        """Whether all visible entries are confirmed, and all nodes are up."""
        last = self.invariants.canon.last
        return all(node.core.machine.replicated_log.visible <= last for node in self.nodes)

    def waiting(self) -> list[str]:
        """Unanswered requests of operators."""
        return [f"{what} at node {node.me}" for node in self.nodes for what in node.waiting()]

    def unrest(self) -> str | None:
        """Why the cluster is not at rest yet, after healing; None if all is done and equal."""
        down = [node.me for node in self.nodes if not node.up]
        if down:
            return f"{down} are down"
        leaders = [node.me for node in self.nodes if node.leads]
        if len(leaders) != 1:
            return f"{leaders} lead"
        busy = [client.busy_with for client in self.clients if not client.idle]
        if busy:
            return f"waiting: {busy}"
        kept = [why for each in self.programs if (why := kept_for_nobody(each.core)) is not None]
        if kept:
            return f"clients keep what nobody asks for: {kept}"
        waiting = self.waiting()
        if waiting:
            return f"operators wait: {waiting}"
        stopped = [node.me for node in self.nodes if _stops_where_it_is(node)]
        if stopped:
            return f"{stopped} stop folding at an index that their rows have already"
        return self.looker.at_rest()


def _stops_where_it_is(machine: MemberMachine) -> bool:
    """Whether folding waits for a comparison that should have been made."""
    stop = machine.node.folding.comparing.stop
    return stop is not None and stop <= machine.disk.spaces.folded


def _place(founders: Members, node: NodePart) -> Member:
    """The member record of a node, with its current directory."""
    known = next(each for each in founders if each.replica == node.me)
    return replace(known, instance=node.instance)


def _config(drawn: Swarm) -> NodeConfig:
    """The configuration file of the first node."""
    timing = drawn.timing
    queue_max = drawn.limits.queue_entries_max
    numbers = range(1, drawn.nodes + 1)
    peers = [f"{{id: {n}, name: n{n}, address: '127.0.0.1:{PORTS + n}'}}" for n in numbers]
    text = "\n".join(
        (
            "node: {id: 1, name: n1, dir: /nowhere}",
            f"cluster: {{id: {CLUSTER}}}",
            f"listen: 127.0.0.1:{PORTS + 1}",
            f"peers: [{', '.join(peers)}]",
            f"election: {{timeout: {_ms(timing.election_timeout)}, fencing: '{drawn.fencing}'}}",
            (
                f"replication: {{timeout: {_ms(timing.replication_timeout)},"
                f" synchro_timeout: {_ms(timing.synchro_timeout)},"
                f" synchro_policy: {drawn.policy}, queue_entries_max: {queue_max}}}"
            ),
            (
                f"store: {{fold_interval: {_ms(timing.fold_interval)},"
                f" fold_rows_max: {drawn.limits.fold_rows_max},"
                f" memtable_rows_max: {drawn.limits.memtable_rows_max}}}"
            ),
            (
                f"limits: {{session_ttl: {_ms(drawn.load.session_ttl)},"
                f" session_outcomes_max: {drawn.limits.session_outcomes_max}}}"
            ),
        )
    )
    return NodeConfig.loads(text)


def _own(common: NodeConfig, drawn: Swarm, me: Replica, writer: str) -> NodeConfig:
    """The configuration of another node: reading YAML takes longer than a hundred events."""
    patience = round(drawn.timing.election_timeout * drawn.variety.pace(me) * 1000) / 1000
    mode = drawn.variety.mode(me)
    store = replace(common.store, writer=WriterChoice(writer))
    if drawn.variety.has_little_room(me):
        # Less than its file may say.
        interval = SELDOM * store.fold_interval
        store = replace(store, unfolded_bytes_max=LITTLE_ROOM, fold_interval=interval)
    return replace(
        common,
        node=replace(common.node, id=me, name=f"n{me}"),
        listen=common.peers[me - 1].address,
        election=replace(common.election, timeout=patience, mode=mode),
        store=store,
    )


def _ms(seconds: float) -> str:
    return f"{round(seconds * 1000)}ms"
