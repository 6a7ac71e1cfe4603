"""The sockets of the blocking client: does what its core asks for, and reports events to it."""

import contextlib
import errno
import os
import select
import socket
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Protocol

from qsync import lookups
from qsync.client import local_sockets, targets
from qsync.client.connection import reason
from qsync.client.core import Core
from qsync.client.effects import Close, Dial, Send
from qsync.client.links import certify, went_on
from qsync.client.response_timeout import FAR
from qsync.client.security import ClientTls
from qsync.client.sockets import ClientSocket
from qsync.errors import ConfigError, QsyncError
from qsync.lookups import Door, Lookup
from qsync.socket_files import named
from qsync.tls.errors import TlsFailed
from qsync.tls.plain import StreamSocket
from qsync.wire import limits


class ClientPoll(Protocol):
    """The part of `select.poll` that is used."""

    def register(self, fd: int, eventmask: int, /) -> None:
        """Watch a socket."""

    def modify(self, fd: int, eventmask: int, /) -> None:
        """Watch it for something else."""

    def unregister(self, fd: int, /) -> None:
        """Watch it no longer."""

    def poll(self, timeout: float | None, /) -> list[tuple[int, int]]:
        """The ready sockets and their events, after at most this many milliseconds."""


class ClientSystem(Protocol):
    """The system that a client runs on."""

    def now(self) -> float:
        """Monotonic seconds."""

    def socket(self, family: int) -> ClientSocket:
        """A stream socket. Raises OSError."""

    def poll(self) -> ClientPoll:
        """Watches sockets."""

    def resolved(self, address: str) -> list[Door] | Lookup:
        """Return all addresses of a name, its families in turn, or where they will be.

        Raises OSError.
        """


class _Sockets:
    """The real system."""

    now = staticmethod(time.monotonic)

    def socket(self, family: int) -> ClientSocket:
        """A stream socket."""
        return socket.socket(family, socket.SOCK_STREAM)

    def poll(self) -> ClientPoll:
        """A poll."""
        return select.poll()

    def resolved(self, address: str) -> list[Door] | Lookup:
        """Return all addresses of a name, or where they will be. Raises OSError, ConfigError."""
        path = local_sockets.path_of(address)
        if path is not None:
            local_sockets.check(path)
            return [(socket.AF_UNIX, path)]
        host, port = targets.split(address)
        return lookups.begun(host, port)


SYSTEM: Final[ClientSystem] = _Sockets()


READS_MAX: Final = 256
"""Reads before the deadlines are looked at, when that is overdue."""
_UNDER_WAY: Final = (0, errno.EINPROGRESS)
_GONE: Final = select.POLLHUP | select.POLLERR | select.POLLNVAL


class Pump:
    """Does what the core asks for, and reports events to it."""

    def __init__(
        self, core: Core, system: ClientSystem = SYSTEM, *, tls: ClientTls | None = None
    ) -> None:
        self.core = core
        self._tls = tls
        self._system = system
        self._poll = system.poll()
        self._sockets: dict[int, StreamSocket] = {}
        self._plain: dict[int, ClientSocket] = {}
        """The same, below TLS."""
        self._links: dict[int, int] = {}
        self._unsent: dict[int, bytearray] = {}
        self._lookups: dict[int, Lookup] = {}
        self._dialling: dict[int, list[Door]] = {}
        self._addresses: dict[int, str] = {}
        self.at_rest = True
        """Nothing is half done, as while the sockets are awaited."""

    def until(self, done: Callable[[], bool]) -> None:
        """Work until `done()`; the deadlines of requests make sure that this ends."""
        while True:
            self.at_rest = False
            self._perform()
            if done():
                self.at_rest = True
                return
            left = self.core.wake_at() - self._now()
            self._receive(None if left == FAR else max(0.0, left) * 1000)
            if left <= 0:  # nobody looked for a while: what has come meanwhile is not late
                for _ in range(READS_MAX):
                    if not self._receive(0.0):
                        break
            self.core.tick(self._now())

    def flush(self) -> None:
        """Send what can be sent without waiting."""
        self._perform()

    def restart(self) -> None:
        """Begin anew after an exception of a signal, which can end anything half done."""
        self.hang_up()
        self._poll = self._system.poll()
        self._sockets, self._plain, self._links, self._unsent = {}, {}, {}, {}
        self._lookups, self._dialling, self._addresses = {}, {}, {}
        self.core.restart(self._now())
        self.at_rest = True

    def hang_up(self) -> None:
        """Close all sockets without a word on them: those of a forked process are its parent's."""
        for plain in self._plain.values():
            plain.close()
        for lookup in self._lookups.values():
            lookup.close()

    def turn(self) -> None:
        """Do whatever can be done without waiting."""
        self._perform()
        self._receive(0.0)
        self.core.tick(self._now())
        self._perform()

    def close(self) -> None:
        """Send what is left, then close everything."""
        self.core.close(self._now())
        self._perform()

    def _now(self) -> float:
        return self._system.now()

    def _perform(self) -> None:
        while effects := self.core.ready().effects:
            for effect in effects:
                match effect:
                    case Dial(link, address):
                        self._dial(link, address)
                    case Send(link, data):
                        self._send(link, data)
                    case Close(link):
                        self._close(link)

    def _dial(self, link: int, address: str) -> None:
        try:
            found = self._system.resolved(address)
        except (OSError, ConfigError, UnicodeError) as error:  # a name that cannot be one
            self.core.lost(link, reason(error), self._now())
            return
        self._addresses[link] = address
        if isinstance(found, Lookup):
            self._lookups[link] = found
            self._links[found.end.fileno()] = link
            self._poll.register(found.end.fileno(), select.POLLIN)
            return
        self._dialling[link] = found
        self._dial_next(link, None)

    def _looked_up(self, link: int) -> None:
        address, lookup = self._addresses[link], self._lookups[link]
        self._close(link)
        try:
            self._dialling[link] = lookup.doors()
        except (OSError, UnicodeError) as error:
            self.core.lost(link, reason(error), self._now())
            return
        self._addresses[link] = address
        self._dial_next(link, None)

    def _dial_next(self, link: int, error: OSError | None) -> None:
        """Begin to connect to the next address of the name, without waiting."""
        doors = self._dialling[link]
        while doors:
            family, where = doors.pop(0)
            try:
                made = self._system.socket(family)
            except OSError as found:
                error = found
                continue
            code = _begun(made, family, where)
            if code in _UNDER_WAY:
                self._sockets[link] = self._plain[link] = made
                self._links[made.fileno()] = link
                self._poll.register(made.fileno(), select.POLLOUT)
                return
            made.close()
            error = OSError(code, os.strerror(code))
        del self._dialling[link]
        self.core.lost(link, reason(error or OSError("no such host")), self._now())

    def _connected(self, link: int) -> None:
        made = self._sockets[link]
        code = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            doors, address = self._dialling[link], self._addresses[link]
            self._close(link)
            self._dialling[link], self._addresses[link] = doors, address
            self._dial_next(link, OSError(code, os.strerror(code)))
        else:
            del self._dialling[link]
            self._poll.modify(made.fileno(), select.POLLIN)
            local = made.family == socket.AF_UNIX
            if self._tls is not None and not local and not self._secure(link, made, self._tls):
                return
            self.core.dialled(link, self._now())

    def _secure(self, link: int, made: StreamSocket, tls: ClientTls) -> bool:
        from qsync.client import secured  # noqa: PLC0415 - only where TLS is spoken

        try:
            shown = partial(certify, self.core.wires, link)
            self._sockets[link] = secured.dialled(made, tls, self._addresses[link], shown)
        except (OSError, QsyncError) as error:
            self._fail(link, error)
            return False
        return True

    def _send(self, link: int, data: bytes) -> None:
        unsent = self._unsent.get(link)
        if unsent:
            unsent += data
            return
        made = self._sockets.get(link)
        if made is None:
            return
        try:
            sent = made.send(data)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            self._fail(link, error)
            return
        if sent < len(data):
            self._unsent[link] = bytearray(data[sent:])
            self._poll.modify(made.fileno(), select.POLLIN | select.POLLOUT)

    def _receive(self, wait: float | None) -> bool:
        """Take what comes within this many milliseconds; return whether anything came."""
        self.at_rest = True
        ready = self._poll.poll(wait)
        self.at_rest = False
        for fileno, events in ready:
            link = self._links.get(fileno, 0)
            if link in self._lookups:
                self._looked_up(link)
                continue
            if link in self._dialling:
                self._connected(link)
                continue
            if events & select.POLLOUT and link in self._unsent:
                self._send_rest(link)
            if events & (select.POLLIN | _GONE) and link in self._sockets:
                self._read(link)
        return bool(ready)

    def _read(self, link: int) -> None:
        try:
            data = self._sockets[link].recv(limits.RECEIVE_BYTES)
        except BlockingIOError:
            return
        except (OSError, TlsFailed) as error:
            self._fail(link, error)
            return
        if data:
            self.core.received(link, data, self._now())
        else:
            self._fail(link, ConnectionError("it hung up"))

    def _send_rest(self, link: int) -> None:
        unsent, made = self._unsent[link], self._sockets[link]
        try:
            sent = made.send(unsent)
        except BlockingIOError:
            return
        except OSError as error:
            self._fail(link, error)
            return
        del unsent[:sent]
        went_on(self.core.wires, link, self._now())
        if not unsent:
            del self._unsent[link]
            self._poll.modify(made.fileno(), select.POLLIN)

    def _fail(self, link: int, error: OSError | QsyncError) -> None:
        self._close(link)
        self.core.lost(link, reason(error), self._now())

    def _close(self, link: int) -> None:
        made = self._sockets.pop(link, None)
        lookup = self._lookups.pop(link, None)
        if lookup is not None:
            self._poll.unregister(lookup.end.fileno())
            self._links.pop(lookup.end.fileno(), None)
            lookup.close()
        self._plain.pop(link, None)
        self._unsent.pop(link, None)
        self._dialling.pop(link, None)
        self._addresses.pop(link, None)
        if made is not None:
            with contextlib.suppress(OSError, KeyError):
                self._poll.unregister(made.fileno())
            self._links.pop(made.fileno(), None)
            made.close()


def _begun(made: ClientSocket, family: int, where: Any) -> int:  # noqa: ANN401 - the standard library says no more
    """Begin to connect, without waiting; return the number of an error, or 0."""
    made.settimeout(0)
    if family != socket.AF_UNIX:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made.connect_ex(where)
    try:
        with named(where) as name:
            return made.connect_ex(name)
    except OSError as error:
        return error.errno or errno.EIO
