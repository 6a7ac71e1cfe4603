"""The shared parts of all machines in a room: time, the network, the trace, the finding."""

from typing import Final, Protocol

from qsync.core.leader import Leader
from qsync.sim.clockwork import VirtualClock
from qsync.sim.kernel.clock import MachineClocks
from qsync.sim.kernel.errors import Halt
from qsync.sim.kernel.net import Net
from qsync.sim.kernel.process import KernelProcess
from qsync.sim.kernel.task_order import TaskOrder
from qsync.sim.swarm import Swarm
from qsync.sim.trace import Trace

DEPTH_MAX: Final = 5
"""How many processes may wait inside nested calls; one more waits without letting others run."""
HOLD_UP_S: Final = 0.02
"""The limit for a nested wait that ends later than the waits around it."""


class LeaseHolder(Protocol):
    """A member, as seen by the leases of others."""

    number: int

    @property
    def clocks(self) -> MachineClocks:
        """Its machine's."""

    @property
    def leading(self) -> Leader | None:
        """Its leadership, if it has one that may read by a lease."""

    def elapsed(self, at: float) -> float:
        """The time that its node reads, at a time of the room."""


class Time(VirtualClock):
    """The room's own time."""

    @property
    def next_at(self) -> float:
        """The time of the next event."""
        return self._heap[0][0] if self._heap else float("inf")

    def pass_to(self, moment: float) -> None:
        """Whether no event happens until then."""
        self.now = max(self.now, moment)


class SimulatedKernel:
    """`fatal`: the finding, which a process that waits inside a call does not know."""

    def __init__(
        self, clockwork: Time, swarm: Swarm, trace: Trace, *, window: int, leases_hold: bool
    ) -> None:
        self.clockwork = clockwork
        self.swarm = swarm
        self.trace = trace
        self.net = Net(clockwork, swarm.weather, window=window)
        self.leases_hold = leases_hold
        self.members: list[LeaseHolder] = []
        self.fatal: Exception | None = None
        self._waits: list[float] = []

    @property
    def unresolved(self) -> float:
        """How often the resolver is slow to answer, or does not know a name."""
        return self.net.weather.unresolved

    def task_order(self, process: str) -> TaskOrder:
        """How a new process of that name runs its tasks."""
        if "task_order" not in self.swarm.variety.habits:
            return TaskOrder()
        return TaskOrder(self.clockwork.dice(f"tasks {process}"))

    def found(self, error: Exception) -> None:
        """End the run: all current work is abandoned at once."""
        if self.fatal is None:
            self.fatal = error
        raise Halt

    def step(self) -> bool:
        """Run the next event. Raises the finding."""
        try:
            return self.clockwork.step()
        except Halt:
            assert self.fatal is not None
            raise self.fatal from None

    def let_others(self, process: KernelProcess, until: float) -> None:
        """A process waits inside a call until then, or until it is released."""
        clockwork, waits = self.clockwork, self._waits
        # Processes below this one on the stack cannot continue before it.
        holds_up = until > min(waits, default=until) + HOLD_UP_S
        if (len(waits) >= DEPTH_MAX or holds_up) and not process.stopped:
            process.at = max(process.at, until)
            return
        waits.append(until)
        try:
            while not process.dead and (process.stopped or clockwork.next_at <= until):
                if not clockwork.step():
                    break
        except Halt:
            raise
        except Exception as error:  # noqa: BLE001 - another process's; this one must not see it
            self.found(error)
        finally:
            waits.pop()
        clockwork.pass_to(until)
        process.at = max(process.at, clockwork.now)
