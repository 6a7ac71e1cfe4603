"""Notifies systemd where it runs the node: ready, alive, stopping (sd_notify(3)).

A unit of `Type=notify` counts as started when the node serves, and `WatchdogSec=` restarts a node
whose loop stands still or whose disk keeps a write for ever. Without systemd nothing is said.
"""

import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import trio

from qsync.errors import ConfigError
from qsync.status import health
from qsync.status.record import NodeStatus

SOCKET: Final = "NOTIFY_SOCKET"
"""Names a datagram socket, by its path or, behind an @, in the abstract namespace."""
WATCHDOG_US: Final = "WATCHDOG_USEC"
WATCHDOG_PID: Final = "WATCHDOG_PID"
LOOK_S: Final = 5.0
"""How often the line of `systemctl status` is brought up to date; with a watchdog not less often
than three times in its time."""
_BEATS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemdSocket:
    """The socket of systemd. `watchdog_s`: how long it waits for a sign of life, if it does."""

    address: str
    watchdog_s: float | None = None

    @property
    def look_s(self) -> float:
        """How often the node sends a sign of life, in seconds."""
        return LOOK_S if self.watchdog_s is None else min(LOOK_S, self.watchdog_s / _BEATS)

    def ready(self, node: NodeStatus) -> None:
        """Report that the node serves."""
        self._try("READY=1", _status(node))

    def beat(self, node: NodeStatus) -> None:
        """Report that it is alive, unless a write has hung for a third of the watchdog's time."""
        hangs = self.watchdog_s is not None and node.disk.busy_s > self.watchdog_s / _BEATS
        alive = [] if hangs or self.watchdog_s is None else ["WATCHDOG=1"]
        self._try(*alive, _status(node))

    def stopping(self) -> None:
        """Report that it hands over leadership and ends."""
        self._try("STOPPING=1", "STATUS=stopping")

    def _try(self, *lines: str) -> None:
        try:
            self._send(*lines)
        except OSError:
            # systemd restarts or is behind: the next beat reaches it. If none ever does, it acts
            # on its own, and a node that serves does not stop because systemd does not hear it.
            return

    def _send(self, *lines: str) -> None:
        with self.connected() as sock:
            sock.send("\n".join(lines).encode())

    def connected(self) -> socket.socket:
        """Return a socket connected to it. Raises OSError when it refuses."""
        name = self.address
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        sock.settimeout(0)
        try:
            sock.connect("\0" + name[1:] if name[0] == "@" else name)
        except BaseException:
            sock.close()
            raise
        return sock


def systemd_socket(environ: Mapping[str, str] = os.environ) -> SystemdSocket | None:
    """Return the socket of this process's systemd; None where there is none.

    Raises ConfigError when it refuses, since that systemd would wait in vain.
    """
    address = environ.get(SOCKET)
    if not address:
        return None
    if address[0] not in "/@":
        raise ConfigError(f"{SOCKET} is {address!r}, which is neither a path nor begins with @")
    found = SystemdSocket(address=address, watchdog_s=_watchdog_s(environ))
    try:
        found.connected().close()
    except OSError as error:
        raise ConfigError(
            f"{SOCKET} is {address}, where nobody listens: {error.strerror}",
            hint=f"systemd sets it for a unit of Type=notify; elsewhere unset {SOCKET}",
        ) from error
    return found


def _watchdog_s(environ: Mapping[str, str]) -> float | None:
    told, whose = environ.get(WATCHDOG_US), environ.get(WATCHDOG_PID)
    if not told or whose not in {None, "", str(os.getpid())}:
        return None
    if not told.isdecimal() or not int(told):
        raise ConfigError(f"{WATCHDOG_US} is {told!r}, which is no number of microseconds")
    return int(told) / 1e6


def _status(node: NodeStatus) -> str:
    """Return a line for `systemctl status`."""
    wrong = health.unsound(node)
    if wrong is not None:
        return f"STATUS={wrong}"
    if node.leads:
        return f"STATUS=leads in term {node.term}"
    who = f"follows {node.leader_name}" if node.leader else "no leader"
    return f"STATUS={who}, term {node.term}"


async def keep_told(unit: SystemdSocket, look: Callable[[], NodeStatus]) -> None:
    """Send signs of life until cancelled."""
    while True:
        await trio.sleep(unit.look_s)
        unit.beat(look())
