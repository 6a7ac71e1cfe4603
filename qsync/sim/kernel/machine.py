"""A simulated machine: its clocks and its directory stay, its node's process may change."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from election.fencing import Fencing
from election.messages import Replica
from qsync.config import NodeConfig
from qsync.core.inputs import Input
from qsync.core.leader import Leader
from qsync.core.logstart import LogStart
from qsync.core.messages import HeartbeatResponse
from qsync.node.assembly import core_config
from qsync.node.leaving import leave
from qsync.node.node import Node
from qsync.record import Instance, instance_text, read_instance
from qsync.replica import Replica as Core
from qsync.sim import properties
from qsync.sim.generations import GenerationRules
from qsync.sim.kernel import copies
from qsync.sim.kernel.callers import NOBODY, Callers
from qsync.sim.kernel.calls import Calls
from qsync.sim.kernel.clock import MachineClocks
from qsync.sim.kernel.disk import KernelDisk
from qsync.sim.kernel.limits import limited
from qsync.sim.kernel.looker import Looker
from qsync.sim.kernel.process import NO_STRIKE, KernelProcess
from qsync.sim.kernel.room import SimulatedKernel
from qsync.sim.kernel.shelf import DirectoryShelf
from qsync.sim.kernel.snapshots import KernelSnapshot
from qsync.sim.kernel.streams import FAMILY
from qsync.sim.kernel.watch import KernelObserver
from qsync.store.contract import Identity

FILES_MAX = 1024
PORTS_STEP = 1000
"""A machine's number is its port modulo this."""


class Computer:
    """The environment of a process: clocks, the room, a limit of `files_max` descriptors."""

    def __init__(self, number: int, room: SimulatedKernel, disk: KernelDisk) -> None:
        self.number = number
        self.room = room
        self.disk = disk
        self.received = 0.0
        """When its process last received bytes from a connection."""
        self.files_max = FILES_MAX
        self.clocks = MachineClocks(room.clockwork.dice(f"timers {number}"))

    def turned(self, calls: int) -> None:
        """A process has had its turn."""


class MemberView(Computer):
    """The visible state of a member's machine.

    `life` counts starts; 0 while its process is down.
    """

    def __init__(self, config: NodeConfig, room: SimulatedKernel, disk: KernelDisk) -> None:
        super().__init__(config.listen.port % PORTS_STEP, room, disk)
        self.config = config
        self.life = 0
        self.asleep_since: float | None = None
        self.slept_before = 0.0
        """For how long the machine was suspended before its process was started."""
        self.operators: Callers = NOBODY
        """Operators with their own connection."""
        self._run: tuple[KernelProcess, Node, KernelObserver] | None = None

    def elapsed(self, at: float) -> float:
        """The time that its node reads, at a time of the room.

        A process counts only the suspensions of its own life.
        """
        return self.clocks.elapsed(at, asleep_since=self.asleep_since) - self.slept_before

    @property
    def leading(self) -> Leader | None:
        """Its leadership, if it has one that may read by a lease."""
        if self._run is None:
            return None
        machine = self.core.machine
        leader = machine.leader
        if leader is None or not leader.established or machine.raft.transfer.is_lease_void:
            return None
        return leader

    @property
    def me(self) -> Replica:
        """Its id."""
        return self.config.node.id

    @property
    def process(self) -> KernelProcess:
        """The process of the current life."""
        assert self._run is not None
        return self._run[0]

    @property
    def node(self) -> Node:
        """The node of the current life."""
        assert self._run is not None
        return self._run[1]

    @property
    def core(self) -> Core:
        """The replica of the current life."""
        return self.node.replica

    @property
    def up(self) -> bool:
        """The process exists (it may be paused)."""
        return self.life > 0

    @property
    def paused(self) -> bool:
        """The process exists and is stopped."""
        return self._run is not None and self._run[0].stopped

    @property
    def reachable(self) -> bool:
        """The process exists and runs."""
        return self._run is not None and not self._run[0].stopped

    @property
    def leads(self) -> bool:
        """It is up and may write."""
        return self._run is not None and not self.core.machine.reasons()

    def waiting(self) -> list[str]:
        """Operators that were not answered yet."""
        if self._run is None:
            return []
        return [*self._run[2].operators.values(), *self.operators.waiting()]


class LeaseOracle:
    """Checks leases and promises, by the clocks of their machines."""

    def __init__(self, member: MemberView) -> None:
        self._member = member

    def elected(self) -> None:
        """The member begins to lead; a leader of an older term must have no lease any more."""
        member, room = self._member, self._member.room
        term = member.core.machine.term
        for other in room.members if room.leases_hold else ():
            leader = other.leading
            if leader is not None and leader.term < term:
                left = leader.rounds.leased_until() - other.elapsed(room.clockwork.now)
                properties.lease_is_alone(member.number, int(term), other.number, left)

    def promised(self, to: int, heard: HeartbeatResponse) -> None:
        """The member gives a leader a promise of this duration."""
        member, room = self._member, self._member.room
        other = next(each for each in room.members if each.number == to)
        leader = other.leading
        if not room.leases_hold or leader is None or leader.term != heard.term:
            return
        until = leader.rounds.rests_until(heard.round, heard.promised_us / 1e6)
        if until is not None:
            now = member.process.at
            lease = (until - other.elapsed(now)) / other.clocks.rate
            loyal = member.core.machine.raft.state.promise.left(member.elapsed(now))
            properties.promise_outlasts_lease(member.number, to, lease - loyal / member.clocks.rate)


class MemberMachine(MemberView):
    """A member's machine, whose process may change."""

    def __init__(
        self,
        config: NodeConfig,
        identity: Identity,
        room: SimulatedKernel,
        disk: KernelDisk,
        looker: Looker,
    ) -> None:
        super().__init__(config, room, disk)
        self.remodel: Callable[[Core], None] = _as_built
        self.rebuild: Callable[[Node], None] = _as_built
        """Changes the shipped node: a mutant, or one with other clients."""
        self.generations = GenerationRules()
        self.shelf = DirectoryShelf(identity, disk)
        self._looker = looker
        self._lives = 0
        disk.spaces.looks_at_fold = self._folded
        disk.spaces.looks_at_install = partial(looker.check_fold, self)
        disk.log.looks_at_trim = partial(_trims, self, looker)
        disk.snapshots.looks_at_file = partial(_wrote, self, looker)
        room.members.append(self)

    # -- life and death of the process

    def start(self) -> None:
        """A new process on the same directory."""
        assert not self.up
        self._lives += 1
        self.life = self._lives
        self.room.net.off.discard(self.number)
        process = KernelProcess(self, self.life)
        process.run(partial(self._load, process))

    def _load(self, process: KernelProcess) -> None:
        self.slept_before = self.clocks.slept
        storage = self.disk.open(process, self.shelf.identity)
        leases = LeaseOracle(self)
        observe = partial(KernelObserver, room=self.room, witness=self._looker, leases=leases)
        node = Node(self.config, storage, Calls(process, self.disk), observe)
        _limit(self, node)
        node.begin_anew = partial(copies.begin_anew, self, self.life)
        watch = node.loop.events
        assert isinstance(watch, KernelObserver)
        self._run = (process, node, watch)
        self.remodel(node.replica)
        self.rebuild(node)
        self._looker.started(self.me, node.replica)
        node.listen([(FAMILY, (self.config.listen.host, self.config.listen.port))])
        node.start()
        process.spawn(*node.tasks())

    def stop(self, *, power: bool) -> None:
        """As by kill -9; with `power` the whole machine: its peers are not notified."""
        run, self._run = self._run, None
        assert run is not None
        self.asleep_since = None
        process = run[0]
        self._note("power cut" if power else "killed", run[1].replica)
        self.clocks.end_sleep(self.room.clockwork.now)
        now = max(process.at, self.room.clockwork.now)
        if power:
            self.room.net.off.add(self.number)
        self.room.net.stopped(process.open_files(), now, silent=power)
        process.dead = True
        process.bury()
        self.life = 0
        self.disk.crash(power=power)

    @property
    def instance(self) -> Instance:
        """Which directory it has."""
        return read_instance(self.shelf.identity.instance)

    @property
    def replaced(self) -> bool:
        """It has another directory than its first."""
        return self.instance != self.shelf.first

    def exchange(self, instance: Instance | None = None, copy: KernelDisk | None = None) -> None:
        """From the next start on it has another directory: an earlier one, or a new one."""
        assert not self.up
        if instance is not None and copy is not None:
            self.shelf.replace(instance, copy)
        if instance is None:
            dice = self.room.clockwork.dice("instances")
            instance = Instance(dice.getrandbits(127))
            text = instance_text(instance)
            identity = replace(self.shelf.identity, instance=text, founders=())
            self.shelf.put(instance, identity, self.disk.another())
        self._open(instance)

    def move_in(self, identity: Identity, disk: KernelDisk) -> None:
        """From the next start on it has that directory, which may be of another cluster."""
        assert not self.up
        instance = read_instance(identity.instance)
        self.shelf.put(instance, identity, disk)
        self.config = replace(
            self.config, cluster=replace(self.config.cluster, id=identity.cluster)
        )
        self._open(instance)

    def _open(self, instance: Instance) -> None:
        self.disk = self.shelf.take(instance)
        self._looker.opened(self.me, instance, self.disk)

    def configure(self, election_timeout: float, fencing: Fencing) -> None:
        """From the next start on it has these settings of its own."""
        section = replace(self.config.election, timeout=election_timeout, fencing=fencing)
        self.config = replace(self.config, election=section)

    def start_again(self) -> None:
        """Start it unless it is up."""
        if not self.up:
            self.start()

    def leave(self, *, then: float) -> None:
        """As by SIGTERM: hand over, fold, close; and start again after this time."""
        process, node = self.process, self.node

        async def goodbye() -> None:
            await leave(node)
            process.cancel_others()
            node.close()
            self._note("left", node.replica)
            self._run, self.life = None, 0
            process.dead = True
            self.room.clockwork.after(then, self.start_again)

        process.spawn(goodbye)

    def suspend(self) -> None:
        """The machine sleeps, and with it its monotonic clock."""
        self.pause()
        # Its process may be ahead of the room, by a sleep in a call that is counted already.
        self.asleep_since = max(self.room.clockwork.now, self.process.at)

    def spare(self) -> None:
        """No fault happens to it at any call."""
        if self._run is not None:
            self._run[0].strike = NO_STRIKE

    def pause(self) -> None:
        """SIGSTOP: clocks run on, bytes queue."""
        self.process.stopped = True
        self._note("paused", self.core)

    def resume(self) -> None:
        """SIGCONT."""
        self.clocks.slept = self.clocks.slept_by(self.room.clockwork.now, self.asleep_since)
        self.asleep_since = None
        self.process.stopped = False
        self.process.go_on()

    # -- what happens to it

    def operate(self, what: str, make: Callable[[int], Input]) -> None:
        """An operator sends a request, and waits for the answer as long as this process lives.

        Over a connection, or directly to the loop of the node.
        """
        assert self._run is not None
        _, node, watch = self._run
        if self.operators.ask(what, make(0)):
            self._note(what, node.replica)
            return
        ticket = node.requests.tickets.number()
        watch.operators[ticket] = what
        self.order(what, make(ticket))

    def order(self, what: str, event: Input) -> None:
        """Run an input without an answer."""
        process, node = self.process, self.node
        self._note(what, node.replica)

        def do() -> None:
            node.loop.start_batch()
            node.loop.step(event)
            node.loop.turn()

        process.soon(do)

    # -- the minutes

    def turned(self, calls: int) -> None:
        """A line for every turn."""
        if self._run is not None:
            self._note(f"{calls} calls", self.core)

    def _folded(self) -> None:
        if self._run is not None:
            self._looker.folded(self.me, self.core)

    def _note(self, what: str, core: Core) -> None:
        room, role = self.room, "Z" if self.paused else ""
        room.trace.saw(room.clockwork.now, self.me, core, role, what)


def _limit(machine: MemberMachine, node: Node) -> None:
    """Sets also values that a file may not set: small batches send a log in small pieces.

    And with a small index the checksums of old entries are not known.
    """
    swarm, config = machine.room.swarm, node.replica.machine.config
    log = node.replica.machine.replicated_log.log
    log.window, log.step = swarm.limits.index_window, swarm.limits.index_step
    own = core_config(machine.config, instance=machine.shelf.identity.instance)
    node.replica.configure(limited(swarm, replace(own, voters=config.voters)))


def _wrote(machine: MemberMachine, looker: Looker, made: KernelSnapshot) -> None:
    looker.retained.wrote_snapshot(machine.me, machine.core, made.head.start, made.contents())


def _trims(machine: MemberMachine, looker: Looker, start: LogStart) -> None:
    disk = machine.disk
    there = disk.log.start.index
    looker.retained.trims(
        machine.me,
        start,
        written=[each for each in disk.snapshots.written if each >= there],
        stay=[each for each in disk.snapshots.durable() if each >= there],
    )


def _as_built(_: object) -> None:
    """The product itself, unchanged."""
