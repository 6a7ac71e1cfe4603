"""One attempt to reach a peer: resolve its name beside the loop, try its addresses in turn.

The resolver of the system can take seconds, and for ever in an outage of DNS. A node that waited
for it would neither answer nor send heartbeats; so it never asks inside its loop, and dials a peer
where its name led last if there is no answer.
"""

import errno
import socket
from collections.abc import Callable, Sequence
from typing import Final

from qsync.config import Address
from qsync.lookups import Door
from qsync.node.connection import READABLE, nonblocking
from qsync.node.effects import PendingLookup, Socket
from qsync.node.reactor import Reactor

LOOKUP_TIMEOUT: Final = 1.0
"""Seconds for the resolver; then a peer is dialled where its name led last, if that is known."""
CONNECTING: Final = (0, errno.EINPROGRESS)


class PeerDial:
    """Ends with one call, of `connected` or of `failed`, unless it is closed first.

    `known`: where the name led last; what it leads to now replaces that. `first`: which address is
    tried first, counted round and round. `failed` gets the reason, and true if all addresses
    refused: nobody is there.
    """

    def __init__(
        self,
        reactor: Reactor,
        where: Address,
        *,
        known: list[Door],
        first: int,
        connected: Callable[[Socket], None],
        failed: Callable[[str, bool], None],
    ) -> None:
        self._reactor = reactor
        self._where = where
        self._known = known
        self._first = first
        self._connected, self._failed = connected, failed
        self._lookup: PendingLookup | None = None
        self._sock: Socket | None = None
        self._left: list[Door] = []
        self._refused = True
        """By every address so far."""

    @property
    def is_resolving(self) -> bool:
        """It waits for the resolver."""
        return self._lookup is not None

    def begin_dial(self) -> None:
        """Resolve the name, or connect if it is an address."""
        try:
            found = self._reactor.effects.lookup(self._where.host, self._where.port)
        except (OSError, UnicodeError) as error:  # also: no descriptor is left
            self._fail(f"cannot dial {self._where}: {error}")
            return
        if isinstance(found, list):
            self._try_all(found)
            return
        self._lookup = found
        self._reactor.connecting(found, self._resolved, READABLE)

    def wait(self, seconds: float) -> None:
        """It has gone on for so many seconds."""
        if self._lookup is not None and self._known and seconds >= LOOKUP_TIMEOUT:
            self.close()
            self._try_all(self._known)

    def close(self) -> None:
        """Give up."""
        for pending in (self._lookup, self._sock):
            if pending is not None:
                self._reactor.forget(pending)
                pending.close()
        self._lookup = self._sock = None

    def _resolved(self) -> None:
        lookup, self._lookup = self._lookup, None
        assert lookup is not None
        try:
            self._known[:] = lookup.doors()
        except (OSError, UnicodeError) as error:
            if not self._known:
                self._fail(f"cannot resolve {self._where.host}: {error}")
                return
        finally:
            lookup.close()
        self._try_all(self._known)

    def _try_all(self, doors: Sequence[Door]) -> None:
        begin = self._first % len(doors)
        self._left = [*doors[begin:], *doors[:begin]]
        self._try_next()

    def _try_next(self) -> None:
        family, where = self._left.pop(0)
        sock = None
        try:
            sock = nonblocking(self._reactor.effects.socket(family))
            code = sock.connect_ex(where)
        except OSError as error:
            if sock is not None:
                sock.close()
            self._fail(f"cannot dial {self._where}: {error}")
            return
        if code in CONNECTING:
            self._sock = sock
            self._reactor.connecting(sock, self._dialled)
        else:
            self._missed(sock, code)

    def _dialled(self) -> None:
        sock, self._sock = self._sock, None
        assert sock is not None
        code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self._missed(sock, code)
        else:
            self._connected(sock)

    def _missed(self, sock: Socket, code: int) -> None:
        sock.close()
        self._fail(errno.errorcode.get(code, str(code)), refused=code == errno.ECONNREFUSED)

    def _fail(self, why: str, *, refused: bool = False) -> None:
        self._refused = self._refused and refused
        if self._left:
            self._try_next()
        else:
            self._failed(why, self._refused)
