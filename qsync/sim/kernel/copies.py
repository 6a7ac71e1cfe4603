"""A copy of a simulated directory, as a snapshot of its volume: it may be put back later."""

from copy import copy, deepcopy
from typing import Final, Protocol

from qsync.sim.kernel.disk import KernelDisk
from qsync.sim.kernel.room import SimulatedKernel

_LOG: Final = ("last", "quarantined", "_crc", "_ballot", "_records", "_numbers", "_tails", "_start")
_ROWS: Final = ("folded", "_rows", "_synced", "_rotten")
_SNAPSHOTS: Final = ("kept", "written", "_named", "_durable")

_CHANGES: Final = (list, dict, set)
"""Objects that are changed in place; others are replaced, and some cannot be copied.
"""


def copy_of(disk: KernelDisk) -> KernelDisk:
    """The durable state of the directory now."""
    twin = disk.another()
    for source, target, names in (
        (disk.log, twin.log, _LOG),
        (disk.spaces, twin.spaces, _ROWS),
        (disk.snapshots, twin.snapshots, _SNAPSHOTS),
    ):
        for name in names:
            value = getattr(source, name)
            setattr(target, name, copy(value) if isinstance(value, _CHANGES) else value)
    twin.log.lives = deepcopy(disk.log.lives)
    return twin


class RestartedMachine(Protocol):
    """A member's; see `qsync.sim.kernel.machine`."""

    room: SimulatedKernel
    life: int

    def stop(self, *, power: bool) -> None:
        """As by kill -9."""

    def exchange(self) -> None:
        """From the next start on it has a new directory."""

    def start(self) -> None:
        """A new process."""


def begin_anew(machine: RestartedMachine, life: int) -> None:
    """The process opens its directory again, and finds that it must be another instance."""

    def restart() -> None:
        if machine.life == life:
            machine.stop(power=False)
            machine.exchange()
            machine.start()

    machine.room.clockwork.after(0.0, restart)
