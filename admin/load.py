"""A lean load generator: many connections in one thread, requests packed without an encoder.

It goes straight to the leader and repeats nothing, so that it measures the nodes and not itself.
"""

import select
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from admin.ask import TIMEOUT_S
from qsync.errors import Outcome, ProtocolError, QsyncError
from qsync.wire import replies
from qsync.wire.frames import Frames, frame
from qsync.wire.session import Dialer, Hello, Party

RECEIVE_BYTES = 256 * 1024
IDLE_POLL_S = 0.05
OPEN_LOOP_OUTSTANDING_MAX = 100_000
# Where a reply that is no error has its zero: behind the array's head and an id of eight bytes.
_FATE_AT = 10
_ID = slice(2, 10)
_FIRST_ID = 1 << 32

Maker = Callable[[int, int], bytes]
"""Frames a request: `(id, number of the request on its connection)`."""


@dataclass(slots=True)
class Counts:
    """What came back while measuring. Latencies in seconds."""

    done: int = 0
    errors: int = 0
    unknown: int = 0
    latencies: list[float] = field(default_factory=list)
    first_error: QsyncError | None = None


class Lane:
    """One connection and what is outstanding on it."""

    def __init__(self, address: str, make: Maker) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host.strip("[]"), int(port)), timeout=TIMEOUT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.outstanding: dict[int, float] = {}
        self._make = make
        self._frames = Frames()
        self._sent = 0
        self._unsent = b""
        self._shake_hands()

    def send(self, count: int, intended: Sequence[float]) -> None:
        """Send `count` new requests; `intended` says when each was due, for its latency."""
        make, at = self._make, self._sent
        first = _FIRST_ID + at
        self._sent = at + count
        parts = [make(first + n, at + n + 1) for n in range(count)]
        for n in range(count):
            self.outstanding[first + n] = intended[n]
        self._write(self._unsent + b"".join(parts))

    def receive(self, counts: Counts | None) -> int:
        """Take what has arrived; how many requests were answered. Raises OSError."""
        data = self.socket.recv(RECEIVE_BYTES)
        if not data:
            raise ConnectionError("the node hung up")
        if self._unsent:
            self._write(self._unsent)
        payloads = self._frames.feed(data)
        now, gone = time.perf_counter(), self.outstanding.pop
        for payload in payloads:
            sent_at = gone(int.from_bytes(payload[_ID], "big"))
            if counts is None:
                continue
            if payload[_FATE_AT] == 0:
                counts.done += 1
                counts.latencies.append(now - sent_at)
            else:
                _count_error(payload, counts)
        return len(payloads)

    def _write(self, data: bytes) -> None:
        try:
            sent = self.socket.send(data)
        except BlockingIOError:
            sent = 0
        self._unsent = data[sent:]

    def _shake_hands(self) -> None:
        dialer = Dialer(Hello(party=Party.CLIENT))
        waiting = 2
        while waiting:
            data = self.socket.recv(RECEIVE_BYTES)
            if not data:
                raise ConnectionError("the node hung up")
            for payload in self._frames.feed(data):
                waiting -= 1
                answer = dialer.received(payload)
                if answer is not None:
                    self.socket.sendall(answer)
        self.socket.settimeout(0)

    def exchange(self, request: bytes) -> list[object]:
        """One request before the load begins. Raises its error."""
        self.socket.settimeout(TIMEOUT_S)
        self.socket.sendall(frame(request))
        payloads: list[bytes] = []
        while not payloads:
            payloads = self._frames.feed(self.socket.recv(RECEIVE_BYTES))
        self.socket.settimeout(0)
        _, answer = replies.decode(payloads[0])
        if isinstance(answer, QsyncError):
            raise answer
        return answer


@dataclass(slots=True, kw_only=True)
class Load:
    """All connections. With `rate` an open loop (so many a second in all), else a closed one."""

    lanes: Sequence[Lane]
    pipeline: int
    rate: float | None = None
    lost: int = 0
    _epoll: select.epoll = field(default_factory=select.epoll)
    _by_file: dict[int, Lane] = field(default_factory=dict)
    _due: float = 0.0
    _turn: int = 0

    def run(self, seconds: float, counts: Counts | None) -> None:
        """Work for so long; what is answered is added to `counts`."""
        if not self._by_file:
            self._start()
        end = time.perf_counter() + seconds
        while (now := time.perf_counter()) < end:
            wait = min(IDLE_POLL_S, end - now)
            if self.rate is not None:
                wait = min(wait, self._send_due(now))
            for number, _ in self._epoll.poll(wait):
                self._serve(self._by_file[number], counts)
            if not self._by_file:
                raise ProtocolError("every connection was lost")

    def close(self) -> None:
        """Hang up."""
        self._epoll.close()
        for lane in self.lanes:
            lane.socket.close()

    def _start(self) -> None:
        self._due = time.perf_counter()
        for lane in self.lanes:
            self._by_file[lane.socket.fileno()] = lane
            self._epoll.register(lane.socket, select.EPOLLIN)
            if self.rate is None:
                lane.send(self.pipeline, [time.perf_counter()] * self.pipeline)

    def _serve(self, lane: Lane, counts: Counts | None) -> None:
        try:
            answered = lane.receive(counts)
            if answered and self.rate is None:
                lane.send(answered, [time.perf_counter()] * answered)
        except BlockingIOError:
            return
        except OSError:
            # What was outstanding may have happened or not.
            self.lost += 1
            if counts is not None:
                counts.unknown += len(lane.outstanding)
            self._epoll.unregister(lane.socket)
            del self._by_file[lane.socket.fileno()]

    def _send_due(self, now: float) -> float:
        """Send what is due by now, spread over the lanes; how long until the next is."""
        assert self.rate is not None
        count = int((now - self._due) * self.rate)
        lanes = list(self._by_file.values())
        room = OPEN_LOOP_OUTSTANDING_MAX - sum(len(lane.outstanding) for lane in lanes)
        for _ in range(min(count, room)):
            self._due += 1 / self.rate
            self._turn = (self._turn + 1) % len(lanes)
            lanes[self._turn].send(1, [self._due])
        return max(0.0, self._due + 1 / self.rate - now)


def _count_error(payload: bytes, counts: Counts) -> None:
    _, answer = replies.decode(payload)
    assert isinstance(answer, QsyncError)
    counts.errors += 1
    counts.unknown += answer.outcome is Outcome.UNKNOWN
    counts.first_error = counts.first_error or answer
