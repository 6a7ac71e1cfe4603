"""One connection of a cluster's client: its phase, and the requests on it."""

from enum import Enum
from typing import Final

from typing_extensions import override

from qsync.client.connection import ClientConnection
from qsync.client.login import Credentials
from qsync.client.pending_request import PendingRequest
from qsync.wire.session import Hello

EXCUSED_MAX_S: Final = 10.0
"""How long a node that says nothing is excused altogether, by a process that is always late."""
PROGRESS_BYTES: Final = 4096
"""So many more bytes of an answer that is not whole yet are a sign of life; fewer are not: what
comes after half a frame may never make it whole."""


class ConnectionPhase(Enum):
    """The phases of a connection."""

    DIALLING = "dialling"
    SHAKING = "shaking"
    READY = "ready"
    CLOSED = "closed"


class ClientLink(ClientConnection):
    """`inflight`: asks by id, in the order in which they were sent. `out`: bytes to be sent.

    `probed_at`: when the node was last asked whether it is there and leads. `vouched_at`: when it
    last said so. `deposed`: the last it said was that it does not lead. `word_by`: a node that says
    nothing at all until then is not there; infinity when it owes nothing. Asks whose callers went
    away count too, or calls that end sooner than our patience would never end a dead connection.
    `excused_until`: before that it is not late, because we were ourselves.
    """

    def __init__(
        self,
        id: int,
        address: str,
        hello: Hello,
        *,
        until: float,
        credentials: Credentials | None = None,
    ) -> None:
        super().__init__(hello, credentials=credentials)
        self.id = id
        self.address = address
        self.phase = ConnectionPhase.DIALLING
        self.until = until
        self.inflight: dict[int, PendingRequest] = {}
        self.probed_at = self.vouched_at = 0.0
        self.deposed = False
        self.word_by = float("inf")
        self.excused_until = self._excused = 0.0
        self._counted = 0

    @override
    def received(self, data: bytes) -> list[bytes]:
        self._excused = 0.0
        return super().received(data)

    def advanced(self, *, whole: bool) -> bool:
        """Return whether what was received is a sign of life: a `whole` answer, or enough of one.

        Long answers take long on slow networks: who leaves then gets them from nobody.
        """
        begun = self.frames.buffered
        if not whole and begun < self._counted + PROGRESS_BYTES:
            return False
        self._counted = 0 if whole else begun
        return True

    def excuse(self, seconds: float, now: float) -> None:
        """Let it be late by so much: we are. Once it has been too often, it is silent."""
        if self._excused < EXCUSED_MAX_S:
            self._excused += seconds
            self.excused_until = now + seconds

    @property
    def cluster(self) -> str:
        """The cluster's id, from the greeting."""
        return self.greeting.cluster if self.greeting else ""

    @property
    def replica(self) -> int:
        """The replica id of the node; 0 before the greeting."""
        return self.greeting.replica if self.greeting else 0

    @property
    def name(self) -> str:
        """The node's name, from the greeting."""
        return self.greeting.name if self.greeting else ""
