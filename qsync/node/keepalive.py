"""Finds dead connections between members: pings, pongs, and how many may be missed.

Links are directed, so nothing of the protocol comes back over one, and a connection that died
silently (an address translator that forgot it, a machine that moved) looks like a calm one. Who
dialled asks once a period and the other side answers over the same connection. The first question
comes with the connection: it says for how long the other side has to wait for the next one.
Patience is counted in ticks of our own timer and not in seconds: a process that was paused itself
has missed the ticks too, and hears what waits in its sockets before it gives anybody up.
"""

import socket
from typing import TYPE_CHECKING, Final

import cbor2

from qsync.errors import ProtocolError
from qsync.node.connection import Connection
from qsync.node.effects import Effects
from qsync.tls.plain import StreamSocket
from qsync.wire import cbor
from qsync.wire.frames import seal

if TYPE_CHECKING:
    from qsync.core.machine import Machine

PERIOD_EARLIEST: Final = 0.1
"""Seconds between two questions at least, however short `replication.timeout` is."""
SILENT_TICKS_MAX: Final = 4
"""The connection is closed after this many periods without a message."""
UNDER_WAY_BYTES: Final = 64 << 10
"""More than this on its way is a transfer, and as long as it moves the other end lives."""
TCP_PATIENCE_MS: Final = 30_000
"""The kernel's own limit for what is not acknowledged between members."""

_PING, _PONG = 11, 12
_PING_HEAD: Final = bytes((cbor.ARRAY | 2, _PING))
PONG: Final = seal(cbor2.dumps([_PONG]))


def ping_period(machine: "Machine") -> float:
    """Return the seconds between two pings of a node, as it is configured now."""
    return max(PERIOD_EARLIEST, machine.config.replication_timeout)


def ping(period: float) -> bytes:
    """Return a ping, which says how often pings are sent."""
    return seal(cbor2.dumps([_PING, int(period * 1e6)]))


def period_of(payload: bytes) -> float | None:
    """Return the seconds between the other side's pings; None: it is no ping."""
    if payload[:2] != _PING_HEAD:
        return None
    _, period_us = cbor.loads_array(payload)
    if not isinstance(period_us, int) or period_us < 0:
        raise ProtocolError("a ping without a period")
    return period_us / 1e6


def watched(sock: StreamSocket) -> None:
    """Switch on TCP keepalive for a connection between members."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if sock.family in (socket.AF_INET, socket.AF_INET6):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, TCP_PATIENCE_MS)


def silent(connection: Connection, effects: Effects, *, ticks_max: int = SILENT_TICKS_MAX) -> bool:
    """Return whether the other end was silent for too many periods; one more has passed."""
    turn = connection.turn
    under_way = connection.unsent + effects.unacknowledged(connection.sock)
    if under_way > UNDER_WAY_BYTES and under_way != turn.under_way:
        turn.idle = 0  # It takes a long message, which it can answer only when it is whole.
    turn.under_way = under_way
    turn.idle += 1
    return turn.idle > ticks_max
