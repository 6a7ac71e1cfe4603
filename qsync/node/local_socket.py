"""The socket in a node's own directory: the kernel says who may connect, not a password.

Only the node's own user and root can connect (mode 0600, and SO_PEERCRED is asked as well), and
they may do everything.
"""

import contextlib
import os
import socket
import struct
from pathlib import Path
from typing import Final, Protocol

from qsync.node.effects import Socket
from qsync.node.reactor import Reactor
from qsync.node.server import Server
from qsync.node.timeline import Timeline
from qsync.socket_files import FILE, named

_MODE: Final = 0o600
_PEER: Final = struct.Struct("3i")
"""Process, user and group at the other end."""
_BACKLOG: Final = 64


class LocalNode(Protocol):
    """The part of a node that this module uses."""

    reactor: Reactor
    server: Server
    timeline: Timeline


def listen(node: LocalNode, directory: Path) -> None:
    """Open the socket. The node works without it, too: a failure is noted only."""
    path = directory / FILE
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.unlink(missing_ok=True)  # of an earlier life: under the lock it is unused
        with named(str(path)) as name:
            sock.bind(name)
        path.chmod(_MODE)
        sock.listen(_BACKLOG)  # no connection before this, so the earlier mode does not matter
    except OSError as error:
        sock.close()
        node.timeline.append("no_local_socket", {"why": str(error)})
        return
    node.reactor.listen(sock, lambda fresh, _: node.server.accept(fresh, local=is_owner(fresh)))


def remove(directory: Path) -> None:
    """Remove the socket file. A node that is killed leaves it; the next one removes it."""
    with contextlib.suppress(OSError):
        (directory / FILE).unlink(missing_ok=True)


def is_owner(sock: Socket) -> bool:
    """Return whether root, or the user of this process, is at the other end."""
    assert isinstance(sock, socket.socket)
    said = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    _, uid, _ = _PEER.unpack(said)
    return uid in {0, os.geteuid()}
