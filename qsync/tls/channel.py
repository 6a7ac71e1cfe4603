"""A socket that speaks TLS and waits for nothing: what a reactor or a pump takes for a plain one.

It works over memory BIOs, so the code that watches the plain socket does not change: one `recv`
gives all that has come, one `send` takes as much as fits. Where TLS is off it is not there at all.
"""

import contextlib
import ssl
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, Final, Protocol, Self

from qsync.tls import binding, names
from qsync.tls.errors import TlsFailed
from qsync.tls.files import words
from qsync.tls.names import CertifiedName
from qsync.tls.plain import StreamSocket

HANDSHAKE_BYTES_MAX: Final = 64 * 1024
"""Received before the handshake is over; a chain of certificates has a tenth of that."""
_RECORD_BYTES: Final = 16 * 1024
"""The longest piece that TLS encrypts as one."""
_PIECE_BYTES: Final = 256 * 1024
"""Encrypted in one go: so much is kept, at most, that the kernel would not take."""


class HandshakePace:
    """Leaves half of the time to everything else, however many shake hands at once.

    A handshake costs as much as many requests, and any unknown dialer gets one.
    """

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._clock = clock
        self._began = self._free_at = 0.0

    def may_go_on(self) -> bool:
        """May one go on now? What was spent on the last step is waited for first."""
        self._began = self._clock()
        return self._began >= self._free_at

    def step_ended(self) -> None:
        """It has gone on as far as it could."""
        now = self._clock()
        self._free_at = now + (now - self._began)


class _Records(Protocol):
    """What `ssl.SSLObject` passes on as it is: without the call in between, where it can be had."""

    def read(self, size: int, /) -> bytes:
        """Of one record, so many bytes at most. Raises SSLError."""

    def write(self, data: bytes | bytearray | memoryview, /) -> int:
        """As one record, or several; all of it. Raises SSLError."""


class _Handshake:
    """State that only the handshake needs."""

    __slots__ = ("pace", "received")

    def __init__(self, pace: HandshakePace | None) -> None:
        self.pace = pace
        self.received = 0
        """Bytes."""


class TlsSocket:
    """A connected socket below, TLS 1.3 above it.

    The side that dials has sent its first words when this is made. `secured` is called once, inside
    the `recv` that ends the handshake; it may refuse the other side by raising QsyncError.
    """

    __slots__ = (
        "_ciphertext",
        "_handshake",
        "_incoming",
        "_outgoing",
        "_plain",
        "_pledged",
        "_records",
        "_ssl",
        "failed",
        "identity",
        "open",
        "secured",
    )

    def __init__(
        self,
        plain: StreamSocket,
        context: ssl.SSLContext,
        *,
        accepted: bool,
        host: str | None = None,
        pace: HandshakePace | None = None,
    ) -> None:
        self._plain = plain
        self._handshake = _Handshake(pace)
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._ssl = context.wrap_bio(
            self._incoming, self._outgoing, server_side=accepted, server_hostname=host
        )
        self._records: _Records = getattr(self._ssl, "_sslobj", self._ssl)
        self.secured: Callable[[TlsSocket], None] | None = None
        self.open = False
        """The handshake is over."""
        self.failed = ""
        """Why it will never be; empty while it may."""
        self.identity: CertifiedName | None = None
        """Whom the other side's certificate names; None without one, or before it was shown."""
        self._ciphertext = b""
        """What the kernel did not take."""
        self._pledged = 0
        """So many bytes that were to be sent are in it: they will be given again."""
        if not accepted:
            self._shake()

    @classmethod
    def dialled(
        cls, plain: StreamSocket, context: ssl.SSLContext, *, host: str | None = None
    ) -> Self:
        """The side that dials. Raises TlsFailed."""
        return cls(plain, context, accepted=False, host=host)

    @property
    def certificate(self) -> Mapping[str, object]:
        """The other side's, as `ssl` shows it; empty without one."""
        return self._ssl.getpeercert() or {} if self.open else {}

    @property
    def binding(self) -> bytes:
        """What names this connection at both ends, once it is open. Raises TlsFailed."""
        return binding.of(self._ssl)

    def recv(self, bufsize: int, /) -> bytes:
        """What has come; nothing at the end of the stream.

        Raises BlockingIOError when it makes no whole message yet, TlsFailed, and OSError.
        """
        if not self.open:
            return self._hear_handshake()
        received = self._plain.recv(bufsize)
        if not received:
            return b""
        self._incoming.write(received)
        return self._decrypted(len(received))

    def send(self, data: bytes | bytearray, /) -> int:
        """How many of the bytes are on their way. The rest is to be given again, from there on.

        Raises BlockingIOError when nothing fits, and OSError.
        """
        if not self.open:
            raise BlockingIOError
        if self._pledged or not 0 < len(data) <= _PIECE_BYTES:
            return self._send_pieces(data)
        # Most of what is sent is one small piece, and the kernel takes all of it.
        self._records.write(data)
        ciphertext = self._outgoing.read()
        try:
            taken = self._plain.send(ciphertext)
        except (BlockingIOError, InterruptedError):
            taken = 0
        except OSError:
            self._ciphertext, self._pledged = ciphertext, len(data)
            raise
        if taken < len(ciphertext):
            self._ciphertext, self._pledged = ciphertext[taken:], len(data)
            raise BlockingIOError
        return len(data)

    def sendall(self, data: bytes) -> None:
        """Send all of it, over a socket that waits. Raises OSError, TimeoutError."""
        while data:
            try:
                sent = self.send(data)
            except BlockingIOError:
                continue  # of a piece, a part has gone
            if sent == len(data):
                return
            data = data[sent:]

    def close(self) -> None:
        """Say goodbye, if it fits, and let it go."""
        if self.open:
            with contextlib.suppress(OSError):  # the other side is gone
                try:
                    self._ssl.unwrap()
                finally:
                    self._ciphertext += self._outgoing.read()
                    self._push()
        self._plain.close()

    # -- as the socket below has it

    @property
    def family(self) -> int:
        """IPv4, IPv6, or something of this machine."""
        return self._plain.family

    def fileno(self) -> int:
        """Its number while it is open."""
        return self._plain.fileno()

    def getsockname(self) -> Any:  # noqa: ANN401 - the standard library says no more
        """Its own address."""
        return self._plain.getsockname()

    def getsockopt(self, level: int, option: int, /) -> int:
        """An option. Raises OSError."""
        return self._plain.getsockopt(level, option)

    def setsockopt(self, level: int, option: int, value: int, /) -> None:
        """Set an option. Raises OSError."""
        self._plain.setsockopt(level, option, value)

    def settimeout(self, seconds: float, /) -> None:
        """0: nothing waits in a call."""
        self._plain.settimeout(seconds)

    # -- inside

    def _hear_handshake(self) -> bytes:
        """As `recv`, until the other side is known, and in the turn that is left for this."""
        pace = self._handshake.pace
        if pace is not None and not pace.may_go_on():
            raise BlockingIOError
        received = self._plain.recv(HANDSHAKE_BYTES_MAX)
        if not received:
            return b""
        self._handshake.received += len(received)
        self._incoming.write(received)
        try:
            self._shake()
        finally:
            if pace is not None:
                pace.step_ended()
        if self.open:
            waiting = self._incoming.pending
            if not waiting:
                raise BlockingIOError
            return self._decrypted(waiting)
        if self._handshake.received >= HANDSHAKE_BYTES_MAX:
            raise _over(self, f"no end of the handshake in {HANDSHAKE_BYTES_MAX} bytes")
        raise BlockingIOError

    def _shake(self) -> None:
        try:
            self._ssl.do_handshake()
        except ssl.SSLWantReadError:
            self._say()
            return
        except ssl.SSLError as error:
            with contextlib.suppress(OSError):
                self._say()  # the alert, which tells the other side why
            raise _over(self, words(error)) from None
        self._say()
        self.open = True
        self.identity = names.named_in(self.certificate)
        if self.secured is not None:
            self.secured(self)

    def _say(self) -> None:
        """Send TLS's own messages. They are short, and a kernel that takes nothing is stuck."""
        self._ciphertext += self._outgoing.read()
        if not self._push():
            raise _over(self, "the other side takes no bytes of the handshake")

    def _decrypted(self, asked: int) -> bytes:
        """All that the records hold that have come. Raises BlockingIOError, TlsFailed.

        `asked`: bytes that have come last. Most often they are one record, which takes more bytes
        than it holds: when less was read than was asked for, nothing of it is left. Asking where
        nothing is left would cost as much as a piece does, since an error is made of it.
        """
        asked = min(asked, _RECORD_BYTES)
        piece = self._piece(asked)
        if piece is None:
            raise BlockingIOError
        if len(piece) < asked and not self._incoming.pending:
            return piece
        found = [piece]
        while piece:
            waiting = self._incoming.pending
            if len(piece) == asked:  # the record may have begun to come before, and hold more
                waiting += self._ssl.pending()
            if not waiting:
                break
            asked = min(waiting, _RECORD_BYTES)
            piece = self._piece(asked)
            if piece is None:
                break
            found.append(piece)
        return b"".join(found)

    def _piece(self, asked: int) -> bytes | None:
        """Of the next record; nothing at the end of the stream, None where one is not whole yet.

        Raises TlsFailed.
        """
        try:
            return self._records.read(asked)
        except ssl.SSLWantReadError:
            return None
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""
        except ssl.SSLError as error:
            raise TlsFailed(words(error)) from None

    def _send_pieces(self, data: bytes | bytearray) -> int:
        """As `send`, with what was encrypted before and more than one piece."""
        view = memoryview(data)
        sent = 0
        while sent < len(data):
            if not self._pledged:
                piece = view[sent : sent + _PIECE_BYTES]
                self._records.write(piece)
                self._ciphertext += self._outgoing.read()
                self._pledged = len(piece)
            if not self._push():
                break
            sent += self._pledged
            self._pledged = 0
        if not sent and data:
            raise BlockingIOError
        return sent

    def _push(self) -> bool:
        """Give the kernel what it takes; true when nothing is left."""
        if not self._ciphertext:
            return True
        try:
            taken = self._plain.send(self._ciphertext)
        except (BlockingIOError, InterruptedError):
            return False
        self._ciphertext = self._ciphertext[taken:]
        return not self._ciphertext


def _over(handshake: TlsSocket, why: str) -> TlsFailed:
    """The error to be raised: this one will never be open."""
    handshake.failed = why
    return TlsFailed(why)
