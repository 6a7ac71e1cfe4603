"""One question of a caller, from the moment it is asked until its answer or error is known."""

from enum import Enum
from typing import Final

from qsync.errors import QsyncError
from qsync.wire.verbs import ChangesRequest, Request, WatchRequest

ANSWER_PATIENCE_S: Final = 1.0
"""How long a node may be silent before another one is asked (the same write, the same number)."""


class RetryKind(Enum):
    """How a question may be repeated."""

    READ = "read"
    """As often as one likes."""
    WRITE = "write"
    """With the same session and number only."""
    ONCE = "once"
    """Never after it was sent: an operator's command."""
    OPEN = "open"
    """Our own: open the session. One that we never heard of expires."""
    STATUS = "status"
    """Our own: who is there, who leads? Not worth repeating."""


class PendingRequest:
    """`answer` or `error` is set once, together with `settled_at`.

    `doubted`: there is or may be an attempt of which nobody knows what became. `refusal`: the last
    definite "not now". `wake` belongs to the shell.
    """

    __slots__ = (
        "answer",
        "asked_at",
        "deadline",
        "doubted",
        "error",
        "frame",
        "kind",
        "refusal",
        "request",
        "sent_at",
        "settled_at",
        "wake",
    )

    def __init__(
        self, kind: RetryKind, request: Request, frame: bytes, *, now: float, deadline: float
    ) -> None:
        self.kind = kind
        self.request = request
        self.asked_at = now
        self.deadline = deadline
        self.frame = frame
        self.sent_at = 0.0
        self.settled_at: float | None = None
        self.answer: list[object] | None = None
        self.error: QsyncError | None = None
        self.refusal: QsyncError | None = None
        self.doubted = False
        self.wake: object = None

    @property
    def id(self) -> int:
        """The number that its reply will carry."""
        return self.request.id

    @property
    def patience(self) -> float:
        """Seconds without a word of the node until another one is asked."""
        return ANSWER_PATIENCE_S + _wait(self.request)

    @property
    def wants_leader(self) -> bool:
        """Is a node that does not lead of no use to it?"""
        return self.kind in _LEADERS and not _wait(self.request)

    @property
    def settled(self) -> bool:
        """Is it answered, one way or the other?"""
        return self.settled_at is not None

    @property
    def seconds(self) -> float:
        """How long it took."""
        return 0.0 if self.settled_at is None else self.settled_at - self.asked_at


_LEADERS: Final = frozenset({RetryKind.READ, RetryKind.WRITE, RetryKind.OPEN})


def _wait(request: Request) -> float:
    """How long the node was asked to wait for news."""
    return request.wait if isinstance(request, WatchRequest | ChangesRequest) else 0.0
