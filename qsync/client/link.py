"""One connection to one node, without the socket: handshake, frames, and what waits for replies."""

from enum import Enum

from qsync.client.asks import PendingRequest
from qsync.wire import limits
from qsync.wire.frames import Frames
from qsync.wire.session import ConnectionState, Dialer, Hello


class ConnectionPhase(Enum):
    """How far a connection is."""

    DIALLING = "dialling"
    SHAKING = "shaking"
    READY = "ready"
    CLOSED = "closed"


class ClientLink:
    """`inflight`: asks by id, in the order in which they were sent. `out`: bytes to be sent.

    `probed_at`: when the node was last asked whether it is there and leads. `vouched_at`: when it
    last said so. `deposed`: the last it said was that it does not lead. `word_by`: a node that says
    nothing at all until then is not there; infinity when it owes nothing. Asks whose callers went
    away count too, or calls that end sooner than our patience would never end a dead connection.
    """

    def __init__(self, id: int, address: str, hello: Hello, *, until: float) -> None:
        self.id = id
        self.address = address
        self.phase = ConnectionPhase.DIALLING
        self.until = until
        self.inflight: dict[int, PendingRequest] = {}
        self.out: list[bytes] = []
        self.probed_at = self.vouched_at = 0.0
        self.deposed = False
        self.word_by = float("inf")
        self._dialer = Dialer(hello)
        self._frames = Frames(limits.HANDSHAKE_BYTES_MAX)

    @property
    def cluster(self) -> str:
        """The cluster's id, from the greeting."""
        greeting = self._dialer.greeting
        return greeting.cluster if greeting else ""

    @property
    def replica(self) -> int:
        """Who answers there; 0 before the greeting."""
        greeting = self._dialer.greeting
        return greeting.replica if greeting else 0

    @property
    def name(self) -> str:
        """The node's name, from the greeting."""
        greeting = self._dialer.greeting
        return greeting.name if greeting else ""

    def received(self, data: bytes) -> list[bytes]:
        """Take what came; give the payloads of replies. Raises errors of `qsync.errors`."""
        payloads = self._frames.feed(data)
        if self.phase is ConnectionPhase.READY:
            return payloads
        for at, payload in enumerate(payloads, 1):
            answer = self._dialer.received(payload)
            if answer is not None:
                self.out.append(answer)
            if self._dialer.state is ConnectionState.READY:
                self.phase = ConnectionPhase.READY
                self._frames.bytes_max = limits.CLIENT_FRAME_BYTES_MAX
                return payloads[at:]
        return []
