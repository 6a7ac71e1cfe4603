"""Nodes that are none: they answer STATUS, PACKED and DIGEST as a test tells them to."""

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from election.messages import Replica
from qsync import record
from qsync.core.logstart import EMPTY
from qsync.data import body
from qsync.errors import QsyncError
from qsync.node.info import LOG_START
from qsync.node.strangers import HANDSHAKE_TIMEOUT
from qsync.record import Entry, EntryKind, LimboRef, ref_body
from qsync.wire import packed, replies, requests
from qsync.wire.frames import Frames
from qsync.wire.session import Acceptor, Greeting
from qsync.wire.verbs import DigestRequest, InfoRequest, PackedRequest, PlainRequest, Verb
from tests.answers import placed


def entries(
    count: int, *, after: Sequence[Entry] = (), term: int = 1, salt: str = ""
) -> list[Entry]:
    """A log that goes on behind another one; the first entry of a term is its PROMOTE."""
    made = list(after)
    for _ in range(count):
        index = len(made) + 1
        begins = not made or made[-1].term != term
        content = (
            ref_body(LimboRef(Replica(0), record.Lsn(0)))
            if begins
            else body.encode((b"s" * 16, index, 1), [[512, b"key %d" % index, salt.encode()]], [])
        )
        made.append(
            record.make(
                index=index,
                term=term,
                origin=term,
                lsn=1 + sum(each.origin == term for each in made),
                kind=EntryKind.PROMOTE if begins else EntryKind.TXN,
                flags=1,
                time=1.0,
                body=content,
                previous=made[-1].crc if made else 0,
            )
        )
    return made


class Pretender:
    """One node; what it says may be changed at any time."""

    def __init__(self, node: int, *, uuid: str = "") -> None:
        self.node = node
        self.uuid = uuid or f"uuid-{node}"
        self.log: list[Entry] = []
        self.confirmed: int | None = None
        self.known: dict[str, object] = {}
        self.members: list[Pretender] = []
        self.features: tuple[str, ...] = (packed.FEATURE,)
        self._going = threading.Event()
        self._going.set()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._connections: list[socket.socket] = []
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, name=f"pretender {node}")
        self._thread.start()

    def hang_up(self) -> None:
        """Break every connection; it answers on new ones."""
        for each in self._connections:
            with ExitStack() as ignoring:
                ignoring.callback(each.close)
                try:
                    each.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue
        self._connections.clear()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """As a stopped process: the kernel takes connections, and nobody answers."""
        self._going.clear()
        try:
            yield
        finally:
            self._going.set()

    def close(self) -> None:
        """No more."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()
        self.hang_up()
        self._thread.join(HANDSHAKE_TIMEOUT)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self._connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        greeting = Greeting(
            cluster="pretended",
            instance=self.uuid,
            replica=Replica(self.node),
            name=f"n{self.node}",
            features=self.features,
        )
        acceptor, frames = Acceptor(greeting), Frames()
        try:
            self._going.wait()
            connection.sendall(acceptor.greet())
            while received := connection.recv(65536):
                for payload in frames.feed(received):
                    self._going.wait()
                    if acceptor.hello is None:
                        acceptor.received(payload)
                        connection.sendall(acceptor.accept())
                    else:
                        connection.sendall(self._answer(payload))
        except (OSError, QsyncError):
            connection.close()

    def _answer(self, payload: bytes) -> bytes:
        request = requests.decode(payload)
        match request:
            case PlainRequest(number, Verb.STATUS):
                return replies.reply(number, self.status())
            case InfoRequest(number, path):
                return replies.reply(number, EMPTY.encode() if path == LOG_START else {})
            case DigestRequest(number, _):
                return replies.reply(number, len(self.log), 0, {"things": "same"})
            case PackedRequest(number, first, most, opening):
                log = self.log
                some = log[first - 1 : first - 1 + packed.fitting(most, opening)]
                rows = packed.pack(record.encode(some), opening=opening).rows
                before = log[first - 2].crc if 1 < first <= len(log) + 1 else 0
                answer = packed.PackedAnswer(first, first + len(some) - 1, len(log), before, rows)
                return packed.reply(number, answer)
            case _:
                raise AssertionError(request)

    def status(self) -> dict[str, object]:
        """Consistent with its log, but for what is `known` better."""
        last = len(self.log)
        confirmed = last if self.confirmed is None else self.confirmed
        found: dict[str, object] = {
            "id": self.node,
            "uuid": self.uuid,
            "name": f"n{self.node}",
            "address": self.address,
            "cluster": "pretended",
            "cluster_uuid": "pretended",
            "role": "follower",
            "term": self.log[-1].term if self.log else 0,
            "ro": True,
            "status": "running",
            "last": last,
            "written": last,
            "confirmed": confirmed,
            "visible": confirmed,
            "synchro": {"quorum": 2, "len": 0},
            "nodes": [[each.node, f"n{each.node}", each.address] for each in self.members],
            "pid": 100 + self.node,
            "time": 1.0,
        }
        return placed(found | self.known)


@contextmanager
def pretending(count: int) -> Iterator[list[Pretender]]:
    """Members of one cluster with empty logs."""
    with ExitStack() as stack:
        found = []
        for node in range(1, count + 1):
            one = Pretender(node)
            stack.callback(one.close)
            found.append(one)
        for each in found:
            each.members = found
        yield found
