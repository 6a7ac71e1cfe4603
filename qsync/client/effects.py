"""The outputs of a client's core, for its shell."""

from dataclasses import dataclass, field

from qsync.client.pending_request import PendingRequest


@dataclass(frozen=True, slots=True)
class Dial:
    """Connect; answer with `dialled` or `lost`."""

    link: int
    address: str


@dataclass(frozen=True, slots=True)
class Send:
    """Send these bytes."""

    link: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Close:
    """Close that connection; the core does not use it again."""

    link: int


Effect = Dial | Send | Close


@dataclass(slots=True)
class ClientReady:
    """The actions for the shell, in order, and the callers to wake."""

    effects: list[Effect] = field(default_factory=list)
    settled: list[PendingRequest] = field(default_factory=list)
