"""Load for measurements: many raw connections in one thread, frames written by hand.

It leaves out all that a client does for safety: when the node does not lead any more the run ends
early (`moved`), and nothing is asked again but what a node was too busy to take, after the pause
that it names. What is measured is the cluster and not the client.
"""

import select
import socket
import struct
import time
from array import array
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, final

from qsync.client import operations
from qsync.client.numbering import born
from qsync.client.one_node import NodeConnection
from qsync.core.consistency import Consistency
from qsync.data.operation_kinds import Op
from qsync.errors import NotLeader, Outcome, Overloaded, QsyncError, ReadOnly, Unavailable
from qsync.tls.errors import TlsFailed
from qsync.wire import cbor, limits, replies, requests
from qsync.wire.errors import pause_of
from qsync.wire.session import Hello, Party
from qsync.wire.verbs import GetRequest, ReadLevel, WriteRequest

_HELLO: Final = Hello(party=Party.CLIENT, name="load")
_STATUS_AT: Final = replies.PACKED_STATUS_AT


@final
class LoadRequest:
    """The data for a frame of a workload: an id, and the session and number to use."""

    __slots__ = ("id", "low", "seq", "session")

    def __init__(self, id: int, session: bytes, seq: int, low: int) -> None:
        self.id = id
        self.session = session
        self.seq = seq
        self.low = low


Workload = Callable[[LoadRequest], bytes]
"""Makes the frame of one request."""


def put(space: str, row: Callable[[], bytes], *, flags: int = 0) -> Workload:
    """Return a workload of one replace; `row` gives the CBOR of a tuple."""
    name = cbor.text(space)

    def frame(r: LoadRequest) -> bytes:
        return requests.encode_put(
            r.id,
            session=r.session,
            seq=r.seq,
            low=r.low,
            flags=flags,
            code=Op.REPLACE,
            space=name,
            row=row(),
        )

    return frame


def transaction(space: str, row: Callable[[], bytes], *, size: int = 10) -> Workload:
    """Return a workload of transactions of `size` replaces."""

    def frame(r: LoadRequest) -> bytes:
        ops: list[list[object]] = [[Op.REPLACE, space, row()] for _ in range(size)]
        return requests.encode(WriteRequest(r.id, r.session, r.seq, r.low, 0, ops))

    return frame


def get(
    space: str,
    key: Callable[[], list[object]],
    *,
    consistency: Consistency = Consistency.LINEARIZABLE,
) -> Workload:
    """Return a workload of gets by the primary key."""
    level = ReadLevel(consistency)

    def frame(r: LoadRequest) -> bytes:
        return requests.encode(GetRequest(r.id, space, 0, key(), level))

    return frame


@dataclass(slots=True)
class LoadResult:
    """The result. `latencies`: in seconds, in an open loop from the *intended* start.

    A request that the node was too busy to take counts from when it was asked first.
    """

    done: int = 0
    errors: int = 0
    unknown: int = 0
    overloaded: int = 0
    """How often a node was too busy to accept a request."""
    seconds: float = 0.0
    latencies: "array[float]" = field(default_factory=lambda: array("d"))
    first_error: QsyncError | None = None


class LoadGenerator:
    """`connections` x `outstanding` requests under way at one node, closed loop or at a rate.

    `session` makes the beginning of an id (at most 7 bytes) for each connection, so that writes
    are numbered as those of any client; without it they are not.
    """

    def __init__(
        self,
        address: str,
        workload: Workload,
        *,
        connections: int = 1,
        outstanding: int = 1,
        session: Callable[[], bytes] | None = None,
        timeout: float = 5.0,
    ) -> None:
        self.tally = LoadResult()
        self.moved = False
        """The node hung up, or does not lead any more."""
        self._workload = workload
        self._outstanding = outstanding
        self._under_way = 0
        self._paused: list[_Line] = []
        self._poll = select.epoll()
        self._lines = [_Line(address, timeout, session) for _ in range(connections)]
        self._line_of = {line.socket.fileno(): line for line in self._lines}
        for fd in self._line_of:
            self._poll.register(fd, select.EPOLLIN)

    def close(self) -> None:
        """Close all connections."""
        self._poll.close()
        for line in self._lines:
            line.socket.close()

    def run(
        self, *, seconds: float, count: int | None = None, rate: float | None = None
    ) -> LoadResult:
        """Run until the time is over or `count` requests are answered; then wait for the rest.

        `rate`: requests a second of all connections together, begun on schedule as far as
        `outstanding` allows; what is late counts from when it should have begun. All that is due
        within `PASS_S` is sent together, and waits for that at most so long.
        """
        begin = time.perf_counter()
        schedule = LoadSchedule(begin, begin + seconds, count, rate)
        self._begin(schedule, begin, self._lines)
        now = begin
        while self._under_way or not schedule.over(now) or self._paused:
            wait = schedule.wait(now)
            if self._paused:
                wait = max(0.0, min(wait, *(line.resume_at - now for line in self._paused)))
            found: list[tuple[int, int]] = self._poll.poll(wait)
            touched = [self._line_of[fd] for fd, _ in found]
            for line in touched:
                self._receive(line)
            now = time.perf_counter()
            if self.moved:
                schedule.stop(now)
            if now >= schedule.end:
                self._paused.clear()
            elif self._paused:
                touched += self._resumed(now)
            if schedule.begins_pass(now):
                self._begin(schedule, now, self._lines if rate else touched)
            if now > schedule.end + _DRAIN_S:
                self._give_up()
                break
        self.tally.seconds = min(time.perf_counter(), schedule.end) - begin
        return self.tally

    def _begin(self, schedule: "LoadSchedule", now: float, lines: list["_Line"]) -> None:
        for line in lines:
            if line.refused and now < line.resume_at:
                continue
            room = self._outstanding - len(line.started)
            low = line.low()
            frames: list[bytes] = []
            while room > 0:
                again = line.refused and now < schedule.end
                start = line.refused.popleft() if again else schedule.next_start(now)
                if start is None:
                    break
                frames.append(self._workload(line.request(start, low)))
                room -= 1
            if frames:
                self._under_way += len(frames)
                try:
                    line.send(b"".join(frames))
                except OSError as error:
                    self._lost(line, str(error))

    def _resumed(self, now: float) -> list["_Line"]:
        """Return the lines whose pause is over."""
        over = [line for line in self._paused if line.resume_at <= now]
        self._paused = [line for line in self._paused if line.resume_at > now]
        return over

    def _pause(self, line: "_Line", start: float, resume_at: float) -> None:
        """Pause: the node was too busy for a request, which is asked again later."""
        self.tally.overloaded += 1
        line.refused.append(start)
        line.resume_at = resume_at
        if line not in self._paused:
            self._paused.append(line)

    def _lost(self, line: "_Line", why: str) -> None:
        """End a line: the outcomes of its pending requests are unknown."""
        self.moved = True
        if line.lost:
            return
        line.lost = True
        self._poll.unregister(line.socket.fileno())
        count = len(line.started)
        self._under_way -= count
        self.tally.unknown += count
        self.tally.first_error = self.tally.first_error or Unavailable(why)
        line.started.clear()

    def _receive(self, line: "_Line") -> None:
        try:
            data = line.socket.recv(limits.RECEIVE_BYTES)
        except BlockingIOError:
            return  # of a message of TLS, a part has come
        except (OSError, TlsFailed) as error:
            self._lost(line, str(error))
            return
        if not data:
            self._lost(line, "the node hung up in the middle of the run")
            return
        tally, started, latencies = self.tally, line.started, self.tally.latencies
        now = time.perf_counter()
        payloads = line.frames.feed(data)
        self._under_way -= len(payloads)
        for payload in payloads:
            # The packed replies begin with array, U64 and id; then comes 0 if it is no error.
            if payload[1] == cbor.U64 and payload[_STATUS_AT] == replies.SUCCEEDED:
                (id,) = replies.PACKED_ID.unpack_from(payload, replies.PACKED_ID_AT)
                tally.done += 1
            else:
                id, answer = replies.decode(payload)
                if isinstance(answer, Overloaded) and pause_of(answer):
                    self._pause(line, started.pop(id), now + pause_of(answer))
                    continue
                self._count(answer)
            latencies.append(now - started.pop(id))

    def _count(self, answer: object) -> None:
        if not isinstance(answer, QsyncError):
            self.tally.done += 1
            return
        self.tally.first_error = self.tally.first_error or answer
        if isinstance(answer, NotLeader | ReadOnly):
            self.moved = True
        if answer.outcome is Outcome.UNKNOWN:
            self.tally.unknown += 1
        else:
            self.tally.errors += 1

    def _give_up(self) -> None:
        for line in self._lines:
            self.tally.unknown += len(line.started)
            line.started.clear()
        self._under_way = 0


_DRAIN_S: Final = 10.0
PASS_S: Final = 0.001
"""At a fixed rate, the least time in seconds between two passes that send requests.

A pass at every answer would send requests one by one, which costs more than the requests do.
"""


@final
class LoadSchedule:
    """When the next request has to begin."""

    def __init__(self, begin: float, end: float, count: int | None, rate: float | None) -> None:
        self.end = end
        self._left = count
        self._step = 1 / rate if rate else 0.0
        self._next = begin
        self._next_pass = begin

    def begins_pass(self, now: float) -> bool:
        """Return whether the connections may send now what is due."""
        if now < self._next_pass:
            return False
        if self._step and now >= self._next:
            self._next_pass = now + PASS_S
        return True

    def next_start(self, now: float) -> float | None:
        """Return the intended start of a request to be begun now, or None."""
        if self.over(now) or self._next > now:
            return None
        if self._left is not None:
            self._left -= 1
        if not self._step:
            return now
        start, self._next = self._next, self._next + self._step
        return start

    def stop(self, now: float) -> None:
        """Begin no more requests."""
        self.end = min(self.end, now)

    def over(self, now: float) -> bool:
        """Whether no more requests begin."""
        return now >= self.end or self._left == 0

    def wait(self, now: float) -> float:
        """Return how long to wait for replies at most."""
        if self.over(now):
            return _DRAIN_S
        if self._step:
            return max(0.0, min(max(self._next, self._next_pass), self.end) - now)
        return self.end - now


class _Line:
    """One connection; `started`: when each request under way began, by id.

    `refused`: the same of those that the node was too busy for, to be asked again at `resume_at`.
    """

    def __init__(self, address: str, timeout: float, session: Callable[[], bytes] | None) -> None:
        self.started: dict[int, float] = {}
        self.refused: deque[float] = deque()
        self.resume_at = 0.0
        self.lost = False
        self._id = 0
        self._session = b""
        node = NodeConnection(address, timeout=timeout, hello=_HELLO)
        if session is not None:
            ops = [operations.open_session(session())]
            self._session = born(node.ask(WriteRequest(0, b"", 0, 0, 0, ops)))
        self.socket, self.frames = node.socket, node.connection.frames
        # Waiting by a timeout of Python's would be one more call of the system for each of ours.
        node.plain.settimeout(None)
        limit = struct.pack("ll", int(timeout), int(timeout % 1 * 1e6))
        node.plain.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)

    def low(self) -> int:
        """The oldest number under way."""
        return next(iter(self.started), self._id + 1)

    def request(self, start: float, low: int) -> LoadRequest:
        """Write the next request."""
        self._id += 1
        self.started[self._id] = start
        return LoadRequest(self._id, self._session, self._id, low)

    def send(self, data: bytes) -> None:
        """Send; replies are small, so the node never waits for us to read."""
        self.socket.sendall(data)
