"""The resolver of a simulated machine, where it is slow: a name's address comes late, or never."""

import socket
from typing import Final

from qsync.lookups import UNRESOLVED, Door, Unresolved
from qsync.sim.dice import RandomStream
from qsync.sim.kernel.process import KernelProcess
from qsync.sim.kernel.streams import SimulatedSocket, StreamChunk

DELAYS_S: Final = (0.01, 0.5, 2.0, 60.0)
"""Of an answer: within a second, in the time of a handshake, later than that, never."""
FAILURE: Final = 0.3
"""How often the answer is that there is no such name."""


class SimulatedLookup:
    """See `qsync.node.effects.PendingLookup`. Raises OSError when no descriptor is left."""

    def __init__(self, process: KernelProcess, door: Door, dice: RandomStream) -> None:
        self._process = process
        self._door = None if dice.chance(FAILURE) else door
        self._answered_at = process.enter() + dice.random() * dice.choice(DELAYS_S)
        self._end = SimulatedSocket(process, process.machine.number)
        self._end.connected_at = process.at
        self._end.inbox.append(StreamChunk(self._answered_at, b"\0"))
        self._end.listen_up()

    def fileno(self) -> int:
        """Of the end that becomes readable."""
        return self._end.fileno()

    def doors(self) -> list[Door]:
        """The address, or none."""
        if self._process.enter() < self._answered_at:
            raise Unresolved(UNRESOLVED)
        if self._door is None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [self._door]

    def close(self) -> None:
        """Ask no longer."""
        self._end.close()
