"""What one small message costs more over TLS: processor time, and nothing but the two sockets.

`python -m tests.bench.tls_speed [MESSAGES]` sends 150 bytes one way and 24 the other over loopback,
as a put and its answer are, through plain sockets, through `TlsSocket`, and through OpenSSL alone,
from memory to memory, in turn. Printed: the least of five rounds, in us of the processor for such a
pair, both ends together. Pairs of versions are told apart by it where other programs keep the
processors busy; what OpenSSL takes alone no version of ours can save.
"""

import contextlib
import socket
import ssl
import sys
import tempfile
import time
from pathlib import Path

from qsync.tls import files
from qsync.tls.channel import TlsSocket
from qsync.tls.files import TlsFiles
from qsync.tls.plain import StreamSocket
from qsync.wire import limits
from tests.certificates import Authority

MESSAGES, ROUNDS = 10_000, 5
ASKED, ANSWERED = bytes(150), bytes(24)
Ends = tuple[StreamSocket, StreamSocket]


def connected() -> tuple[socket.socket, socket.socket]:
    """Two ends that wait in no call."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        far = socket.create_connection(listener.getsockname())
        near, _ = listener.accept()
    for end in (near, far):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end.setblocking(False)
    return near, far


def contexts(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Of the side that is dialled, and of the one that dials."""
    authority = Authority(folder)
    authority.node("n1")
    authority.user("ann")
    node, user = (
        TlsFiles(ca=authority.ca, certificate=folder / f"{name}.crt", key=folder / f"{name}.key")
        for name in ("n1", "ann")
    )
    return files.acceptor(node, demand=True), files.dialer(user, check_host=False)


def secured(acceptor: ssl.SSLContext, dialer: ssl.SSLContext) -> Ends:
    """The same, the handshake over."""
    near, far = connected()
    accepted = TlsSocket(near, acceptor, accepted=True)
    dialled = TlsSocket.dialled(far, dialer)
    while not (accepted.open and dialled.open):
        for end in (accepted, dialled):
            try:
                end.recv(limits.RECEIVE_BYTES)
            except BlockingIOError:
                continue
    return accepted, dialled


class Records:
    """Both sides of TLS in memory: what OpenSSL takes without sockets, and without us."""

    def __init__(self, acceptor: ssl.SSLContext, dialer: ssl.SSLContext) -> None:
        self.there, self.back = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.near = acceptor.wrap_bio(self.there, self.back, server_side=True)
        self.far = dialer.wrap_bio(self.back, self.there, server_side=False)
        for side in (self.far, self.near, self.far, self.near):
            with contextlib.suppress(ssl.SSLWantReadError):
                side.do_handshake()

    def measure(self, messages: int) -> float:
        """As `measure` does; the bytes are taken out and put in again, as those of a socket are."""
        near, far, there, back = self.near, self.far, self.there, self.back
        begun = time.process_time()
        for _ in range(messages):
            far.write(ASKED)
            there.write(there.read())
            near.read(limits.RECEIVE_BYTES)
            near.write(ANSWERED)
            back.write(back.read())
            far.read(limits.RECEIVE_BYTES)
        return (time.process_time() - begun) / messages * 1e6


def measure(ends: Ends, messages: int) -> float:
    """Processor time of one question and its answer, in us."""
    near, far = ends
    begun = time.process_time()
    for _ in range(messages):
        far.send(ASKED)
        receive(near)
        near.send(ANSWERED)
        receive(far)
    return (time.process_time() - begun) / messages * 1e6


def receive(end: StreamSocket) -> None:
    """What was sent; it is under way."""
    while True:
        try:
            end.recv(limits.RECEIVE_BYTES)
        except BlockingIOError:
            continue
        return


def main() -> None:
    """Measure and print."""
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else MESSAGES
    with tempfile.TemporaryDirectory() as folder:
        both = contexts(Path(folder))
        kinds: dict[str, Ends] = {"plain": connected(), "tls": secured(*both)}
        records = Records(*both)
        rounds = [
            {kind: measure(each, messages) for kind, each in kinds.items()}
            | {"records": records.measure(messages)}
            for _ in range(ROUNDS)
        ]
    least = {kind: min(each[kind] for each in rounds) for kind in rounds[0]}
    more = least["tls"] - least["plain"]
    print(
        f"plain {least['plain']:.2f} us  TLS {least['tls']:.2f} us  more {more:.2f} us, "
        f"of which OpenSSL alone {least['records']:.2f} us"
    )


if __name__ == "__main__":
    main()
