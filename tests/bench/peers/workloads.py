"""What every contestant is asked to do, and what is written down of it."""

from dataclasses import dataclass
from enum import StrEnum

KEY_BYTES, VALUE_BYTES = 16, 100
TXN_PUTS = 10
KEYS = 10_000


class Operation(StrEnum):
    """One request of a client. A get must see all that was acknowledged before it began."""

    PUT = "put"
    GET = "get"
    TXN10 = "txn10"


@dataclass(frozen=True, slots=True)
class PeerWorkload:
    """Connections, each with so many requests under way, in a closed loop.

    Keys are drawn from `keys`, evenly.
    """

    operation: Operation
    connections: int
    outstanding: int
    value_bytes: int = VALUE_BYTES
    keys: int = KEYS

    @property
    def name(self) -> str:
        """As it stands in tables; what is not usual is said behind."""
        usual = f"{self.operation} {self.connections}x{self.outstanding}"
        if (self.value_bytes, self.keys) == (VALUE_BYTES, KEYS):
            return usual
        return f"{usual} {self.value_bytes} {self.keys}"

    @property
    def by_latency(self) -> bool:
        """Is it the time of one request that matters here?"""
        return self.connections == self.outstanding == 1


def workload_named(name: str) -> PeerWorkload:
    """What `PeerWorkload.name` says."""
    operation, clients, *more = name.split()
    connections, _, outstanding = clients.partition("x")
    return PeerWorkload(Operation(operation), int(connections), int(outstanding), *map(int, more))


WORKLOADS = (
    PeerWorkload(Operation.PUT, 1, 1),
    PeerWorkload(Operation.PUT, 1, 256),
    PeerWorkload(Operation.PUT, 64, 1),
    PeerWorkload(Operation.GET, 64, 1),
    PeerWorkload(Operation.GET, 1, 256),
    PeerWorkload(Operation.TXN10, 64, 1),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One run. Latencies in milliseconds, processor time in microseconds for each operation."""

    ops_per_second: float
    p50_ms: float
    p99_ms: float
    client_us: float
    servers_us: float
    """Of all nodes together."""


class PeerFailed(Exception):
    """A contestant cannot do what it was asked, and why: the others go on without it."""
