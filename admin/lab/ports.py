"""Ports for nodes that restart at the same address: free now, and not taken by chance later."""

import contextlib
import random
import socket
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from pathlib import Path

from qsync.errors import StoreError

LOOPBACK = "127.0.0.1"
FIRST = 10_000
"""The first port to use; lower ones belong to well-known services."""
TRIES_MAX = 4096
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_EPHEMERAL_DEFAULT = (32768, 60999)


class NoFreePort(StoreError):
    """All ports that were tried are in use."""

    code = "NO_FREE_PORT"
    number = 75


def free_ports(count: int, *, wanted: range = range(0), others: Collection[int] = ()) -> list[int]:
    """Return free loopback ports, all different: those `wanted`, if all of them are free.

    None of the `others`, which are meant for something that does not run now.
    They lie outside the range from which the kernel takes the ports of outgoing connections: a
    port in it may be taken while its node is down, even by a client that dials that very node
    and so gets connected to itself.
    """
    given = [port for port in wanted[:count] if port not in others]
    if wanted and len(found := _free(given, count)) == count:
        return found
    first, last = ephemeral()
    ranges = [range(FIRST, first), range(last + 1, 65536)]
    every = [port for each in ranges for port in each] or range(FIRST, 65536)
    candidates = [port for port in every if port not in others]
    dice = random.SystemRandom()
    found = _free(dice.sample(candidates, min(TRIES_MAX, len(candidates))), count)
    if len(found) < count:
        raise NoFreePort(f"{count} free ports wanted on {LOOPBACK}, {len(found)} found")
    return found


def _free(candidates: Sequence[int], count: int) -> list[int]:
    """The first `count` of the candidates that a node could have; all are held until all are found.

    As a node binds it: what is left of the connections of a process that has ended keeps nobody
    out. Listening on it is what keeps out others that look for ports at the same time.
    """
    found: list[int] = []
    with ExitStack() as held:
        for port in candidates:
            if len(found) == count:
                break
            taken = held.enter_context(socket.socket())
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                taken.bind((LOOPBACK, port))
                taken.listen(1)
                found.append(port)
    return found


def ephemeral() -> tuple[int, int]:
    """Return the first and last port that the kernel uses for outgoing connections."""
    try:
        first, last = _EPHEMERAL.read_text("ascii").split()
        return int(first), int(last)
    except (OSError, ValueError):
        return _EPHEMERAL_DEFAULT
