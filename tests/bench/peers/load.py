"""Load for the peers: many connections in one thread, the same loop whatever they speak.

`python -m tests.bench.peers.load PEER ADDRESS OPERATION CONNECTIONS OUTSTANDING SECONDS PID ...`
prints what came of it as JSON. It is to etcd and Tarantool what `qsync bench` is to qsync: raw
connections, frames written by hand, no retries.
"""

import argparse
import dataclasses
import json
import random
import select
import socket
import struct
import sys
import time
from typing import Final, Protocol

from admin.lab import processes
from tests.bench.peers.etcd_wire import EtcdWire
from tests.bench.peers.tarantool_wire import TarantoolWire
from tests.bench.peers.workloads import (
    KEY_BYTES,
    TXN_PUTS,
    Measured,
    Operation,
    PeerFailed,
    PeerWorkload,
    workload_named,
)

WARM_UP_S = 0.5
TIMEOUT_S = 10.0
FILL_OUTSTANDING = 16
_RECEIVE_BYTES: Final = 256 * 1024


class PeerWire(Protocol):
    """How a peer is spoken to, without a socket."""

    out: bytearray

    def ask(self, operation: Operation, keys: list[bytes], value: bytes) -> int:
        """One request; the id of its answer."""

    def feed(self, data: bytes) -> list[tuple[int, bool]]:
        """Ids that were answered, and whether they succeeded."""


WIRES: Final[dict[str, type[EtcdWire] | type[TarantoolWire]]] = {
    "etcd": EtcdWire,
    "tarantool": TarantoolWire,
}


class PeerLine:
    """One connection. `started`: when each request under way began."""

    def __init__(self, peer: str, address: str) -> None:
        self.wire: PeerWire = WIRES[peer]()
        self.started: dict[int, float] = {}
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=TIMEOUT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # As in `qsync bench`: a timeout of Python's would be one more call of the system for each.
        self.socket.settimeout(None)
        limit = struct.pack("ll", int(TIMEOUT_S), 0)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)

    def flush(self) -> None:
        """Send what waits."""
        if self.wire.out:
            data = bytes(self.wire.out)
            self.wire.out.clear()
            self.socket.sendall(data)

    def receive(self) -> list[tuple[int, bool]]:
        """What was answered. Raises PeerFailed when nobody is there any more."""
        data = self.socket.recv(_RECEIVE_BYTES)
        if not data:
            raise PeerFailed("the node hung up")
        done = self.wire.feed(data)
        self.flush()
        return done


class PeerLoad:
    """A closed loop over some connections. `keys` may be given one by one, to fill."""

    def __init__(self, peer: str, address: str, workload: PeerWorkload) -> None:
        self._workload = workload
        self._random = random.Random(1)
        self._keys = [self._random.randbytes(KEY_BYTES) for _ in range(workload.keys)]
        self._value = self._random.randbytes(workload.value_bytes)
        self._poll = select.epoll()
        self.latencies: list[float] = []
        self.lines = [PeerLine(peer, address) for _ in range(workload.connections)]
        self._line_of = {line.socket.fileno(): line for line in self.lines}
        for fd in self._line_of:
            self._poll.register(fd, select.EPOLLIN)

    def close(self) -> None:
        """Hang up."""
        self._poll.close()
        for line in self.lines:
            line.socket.close()

    def fill(self, keys: list[bytes]) -> None:
        """Put these, ten in a transaction."""
        left = [keys[at : at + TXN_PUTS] for at in range(0, len(keys), TXN_PUTS)]
        left.reverse()
        for line in self.lines:
            self._begin_fill(line, left)
        while any(line.started for line in self.lines):
            for line in self._answered():
                self._begin_fill(line, left)

    def prepare(self) -> None:
        """What a get looks for is there."""
        if self._workload.operation is Operation.GET:
            self.fill(self._keys)

    def run(self, seconds: float) -> float:
        """So long, then wait for the rest; the seconds it took."""
        self.latencies = []
        begin = time.perf_counter()
        end = begin + seconds
        for line in self.lines:
            self._begin(line, begin)
        now = begin
        while now < end or any(line.started for line in self.lines):
            touched = self._answered()
            now = time.perf_counter()
            if now < end:
                for line in touched:
                    self._begin(line, now)
        return now - begin

    def _answered(self) -> list[PeerLine]:
        found = self._poll.poll(TIMEOUT_S)
        if not found:
            raise PeerFailed(f"no answer within {TIMEOUT_S:.0f} s")
        touched: list[PeerLine] = []
        for fd, _ in found:
            line = self._line_of[fd]
            done = line.receive()
            now = time.perf_counter()
            for id, succeeded in done:
                if not succeeded:
                    raise PeerFailed(f"{self._workload.name}: an error was answered")
                self.latencies.append(now - line.started.pop(id))
            touched.append(line)
        return touched

    def _begin(self, line: PeerLine, now: float) -> None:
        operation, choice = self._workload.operation, self._random.choice
        count = TXN_PUTS if operation is Operation.TXN10 else 1
        while len(line.started) < self._workload.outstanding:
            keys = [choice(self._keys) for _ in range(count)]
            if count > 1:
                keys = list(set(keys))  # etcd refuses a key twice
            line.started[line.wire.ask(operation, keys, self._value)] = now
        line.flush()

    def _begin_fill(self, line: PeerLine, left: list[list[bytes]]) -> None:
        now = time.perf_counter()
        while left and len(line.started) < FILL_OUTSTANDING:
            keys = left.pop()
            line.started[line.wire.ask(Operation.TXN10, keys, self._value)] = now
        line.flush()


def percentile(values: list[float], share: float) -> float:
    """The value below which that share lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def measure(
    peer: str, address: str, workload: PeerWorkload, seconds: float, pids: list[int]
) -> Measured:
    """One run, and what the processes of the nodes used for it."""
    load = PeerLoad(peer, address, workload)
    try:
        load.prepare()
        load.run(WARM_UP_S)
        nodes = [processes.identify(pid) for pid in pids]
        before = sum(node.cpu_seconds() for node in nodes)
        own = time.process_time()
        took = load.run(seconds)
        own = time.process_time() - own
        spent = sum(node.cpu_seconds() for node in nodes) - before
    finally:
        load.close()
    count = max(1, len(load.latencies))
    return Measured(
        ops_per_second=len(load.latencies) / took,
        p50_ms=percentile(load.latencies, 0.5) * 1e3,
        p99_ms=percentile(load.latencies, 0.99) * 1e3,
        client_us=own / count * 1e6,
        servers_us=spent / count * 1e6,
    )


def main() -> int:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=sorted(WIRES))
    parser.add_argument("address")
    parser.add_argument("workload", help="as it is named in tables")
    parser.add_argument("seconds", type=float)
    parser.add_argument("pids", type=int, nargs="*")
    told = parser.parse_args()
    workload = workload_named(told.workload)
    try:
        found = measure(told.peer, told.address, workload, told.seconds, told.pids)
    except (PeerFailed, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(dataclasses.asdict(found)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
