"""A machine in the cluster: its directory and clocks stay, its process comes and goes."""

from collections.abc import Callable
from dataclasses import replace

from election.fencing import Fencing
from election.messages import Replica
from qsync.core.config import CoreConfig
from qsync.core.inputs import Connected, Disconnected, Input, Received
from qsync.core.messages import Message
from qsync.record import Instance
from qsync.replica import Replica as Core
from qsync.sim.alarms import DriftingClocks
from qsync.sim.calls import Answer, Call, WriteCall
from qsync.sim.disk import SimulatedDisk
from qsync.sim.process import NodeEnvironment, SimulatedProcess, brief


class Member:
    """What can be seen of a node. `life` counts starts of the process; 0 while it is down."""

    def __init__(self, config: CoreConfig) -> None:
        self.config = config
        self.life = 0
        self._process: SimulatedProcess | None = None

    @property
    def me(self) -> Replica:
        """Its id."""
        return self.config.me

    @property
    def process(self) -> SimulatedProcess:
        """The process of the present life."""
        assert self._process is not None
        return self._process

    @property
    def core(self) -> Core:
        """The replica of the present life."""
        return self.process.core

    @property
    def up(self) -> bool:
        """The process exists (it may be paused)."""
        return self.life > 0

    @property
    def paused(self) -> bool:
        """The process exists and is stopped."""
        return self.up and self.process.paused

    @property
    def reachable(self) -> bool:
        """Somebody answers a handshake here."""
        return self.up and not self.process.paused

    @property
    def instance(self) -> Instance:
        """On which directory it runs."""
        return self.config.instance

    @property
    def leads(self) -> bool:
        """It is up and may write."""
        return self.up and not self.core.machine.reasons()

    def waiting(self) -> list[str]:
        """What operators asked for and were not answered yet."""
        return list(self.process.desk.operators.values()) if self.up else []


class SimulatedNode(Member):
    """Its directory and clocks stay, its process comes and goes."""

    def __init__(self, config: CoreConfig, disk: SimulatedDisk, around: NodeEnvironment) -> None:
        super().__init__(config)
        self.disk = disk
        self.clocks = DriftingClocks(around.clockwork.dice(f"timers {config.me}"))
        self.remodel: Callable[[Core], None] = _as_built
        self._around = around
        self._lives = 0
        self._shelf: dict[Instance, SimulatedDisk] = {config.instance: disk}
        around.network.join(config.me, self)

    # -- life and death of the process

    def start(self) -> None:
        """A new process on the same directory."""
        assert not self.up
        self._lives += 1
        self.life = self._lives
        core = self.disk.recover(self.config, self.life)
        self.remodel(core)
        self._process = SimulatedProcess(core, self.clocks, self.disk, self._around)
        self._around.network.started(self.me)
        self._process.start()

    def stop(self, *, power: bool) -> None:
        """As by kill -9; with `power` the whole machine: its peers are not even told."""
        self.process.die()
        self.process.note("power cut" if power else "killed")
        self._process = None
        self.life = 0
        self.disk.crash(power=power)
        self._around.network.stopped(self.me, silent=power)

    def exchange(self, instance: Instance | None = None) -> None:
        """Its directory is another one from the next start on: an earlier one, or a new one."""
        assert not self.up
        wanted = Instance(len(self._shelf)) if instance is None else instance
        if wanted not in self._shelf:
            self._shelf[wanted] = self.disk.another()
        self.disk = self._shelf[wanted]
        self.config = replace(self.config, instance=wanted)
        self._around.watch.opened(self.me, wanted, self.disk)

    def configure(self, election_timeout: float, fencing: Fencing) -> None:
        """From the next start on its own settings are these."""
        self.config = replace(self.config, election_timeout=election_timeout, fencing=fencing)

    def pause(self) -> None:
        """SIGSTOP: clocks run on, inputs queue."""
        self.process.paused = True
        self.process.note("paused")

    def resume(self) -> None:
        """SIGCONT."""
        self.process.resume()

    # -- what happens to it

    def receive(self, sender: Replica, message: Message, instance: Instance) -> None:
        """From the network."""
        event = Received(peer=sender, message=message, instance=instance)
        self.order(f"from {sender}: {brief(message)}", event)

    def connected(self, peer: Replica, epoch: int, instance: Instance) -> None:
        """From the network."""
        event = Connected(peer=peer, epoch=epoch, instance=instance)
        self.order(f"connected to {peer}", event)

    def disconnected(self, peer: Replica, epoch: int, *, refused: bool) -> None:
        """From the network."""
        self.order(
            f"disconnected from {peer}{' refused' if refused else ''}",
            Disconnected(peer=peer, epoch=epoch, refused=refused),
        )

    def call(self, call: Call, answer: Answer) -> None:
        """A client asks."""
        if self.up:
            kind = "write" if isinstance(call, WriteCall) else call.consistency.value
            what = f"client {call.client} attempt {call.attempt}: {kind}"
            self.process.take(what, call, answer)

    def operate(self, what: str, make: Callable[[int], Input]) -> None:
        """An operator asks, and waits for the answer as long as this process lives."""
        self.order(what, make(self.process.desk.operator(what)))

    def order(self, what: str, event: Input) -> None:
        """Something happens to it that nobody waits for."""
        self.process.input(what, event)


def _as_built(core: Core) -> None:
    """The product itself, unchanged."""
