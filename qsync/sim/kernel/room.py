"""What all machines of a room share: time, the network, the minutes, and what was found."""

from typing import Final, Protocol

from qsync.core.leader import Leader
from qsync.sim.clockwork import VirtualClock
from qsync.sim.kernel.clock import MachineClocks
from qsync.sim.kernel.errors import Halt
from qsync.sim.kernel.net import Net
from qsync.sim.kernel.process import KernelProcess
from qsync.sim.swarm import Swarm
from qsync.sim.trace import Trace

DEPTH_MAX: Final = 5
"""So many processes may wait inside of calls, one in the other; one more just passes its time."""
HOLD_UP_S: Final = 0.02
"""Nor may one that waits longer than those before it keep them from going on for more than this."""


class LeaseHolder(Protocol):
    """A member, as the others' leases see it."""

    number: int

    @property
    def clocks(self) -> MachineClocks:
        """Its machine's."""

    @property
    def leading(self) -> Leader | None:
        """Its leadership, if it has one that may read by a lease."""

    def elapsed(self, at: float) -> float:
        """What its node takes the time for, at a moment of the room."""


class Time(VirtualClock):
    """The room's own time."""

    @property
    def next_at(self) -> float:
        """When the next thing happens."""
        return self._heap[0][0] if self._heap else float("inf")

    def pass_to(self, moment: float) -> None:
        """Nothing happens until then."""
        self.now = max(self.now, moment)


class SimulatedKernel:
    """`fatal`: what was found, of which a process that waits inside of a call knows nothing."""

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

    def found(self, error: Exception) -> None:
        """End the run: whatever goes on now is left at once."""
        if self.fatal is None:
            self.fatal = error
        raise Halt

    def step(self) -> bool:
        """The next thing. Raises what was found."""
        try:
            return self.clockwork.step()
        except Halt:
            assert self.fatal is not None
            raise self.fatal from None

    def let_others(self, process: KernelProcess, until: float) -> None:
        """A process waits in the middle of a call until then, or until it is let go on."""
        clockwork, waits = self.clockwork, self._waits
        # Whoever waits below this one on the stack cannot go on before it.
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
