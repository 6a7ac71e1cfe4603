"""One request of a caller, from its beginning until its answer or error is known."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Final, Protocol

from qsync.errors import QsyncError
from qsync.wire.verbs import ChangesRequest, Request, WatchRequest, WriteRequest

ANSWER_PATIENCE_S: Final = 1.0
"""How long a node may be silent before another one is asked (the same write, the same number)."""


class RetryKind(Enum):
    """How a request may be repeated."""

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


class RequestObserver(Protocol):
    """Observes one request of a caller, until it is settled."""

    def sent(self, ask: "PendingRequest", address: str) -> None:
        """An attempt goes to that node; `refusal`: the error of the attempt before, if any."""

    def settled(self, ask: "PendingRequest") -> None:
        """The request has its answer or error."""


Observe = Callable[[Request], RequestObserver | None]
"""Asked about every question of callers when it begins; None: nobody wants to hear of it."""


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
        """The id that its reply will carry."""
        return self.request.id

    @property
    def patience(self) -> float:
        """Seconds without an answer of the node until another one is asked."""
        return ANSWER_PATIENCE_S + _wait(self.request)

    @property
    def wants_leader(self) -> bool:
        """Whether only a leader can answer it."""
        return self.kind in _LEADERS and not _wait(self.request)

    @property
    def settled(self) -> bool:
        """Whether it has its answer or error."""
        return self.settled_at is not None

    def withdraw(self) -> None:
        """Let nobody send it any more, unless it is a write that was sent: its caller has gone.

        The core drops it when it meets it next, with the answer that may still come.
        """
        sent = bool(self.sent_at) or self.doubted
        if self.settled_at is None and (not sent or self.kind is RetryKind.READ):
            self.settled_at = self.asked_at

    @property
    def seconds(self) -> float:
        """How long it took, in seconds."""
        return 0.0 if self.settled_at is None else self.settled_at - self.asked_at


_LEADERS: Final = frozenset({RetryKind.READ, RetryKind.WRITE, RetryKind.OPEN})


def _wait(request: Request) -> float:
    """Return how long the node was asked to wait for news."""
    return request.wait if isinstance(request, WatchRequest | ChangesRequest) else 0.0


def doubt(asks: Iterable[PendingRequest], token: tuple[bytes, int]) -> WriteRequest | None:
    """Put the attempts of that write in doubt, for another one begins; return it if there is one.

    Else its first attempt could get a new number when the node knows its own no more: the second
    attempt has been answered and forgotten by then.
    """
    found = None
    for ask in asks:
        write = ask.request
        if isinstance(write, WriteRequest) and (write.session, write.seq) == token:
            ask.doubted = True
            found = write if found is None else found
    return found


def keep_observer(
    observers: dict[int, RequestObserver], ask: PendingRequest, observe: Observe | None
) -> None:
    """Add the observer of a request, if it has one."""
    observer = None if observe is None else observe(ask.request)
    if observer is not None:
        observers[ask.id] = observer


class SendQueues:
    """Two queues. `held`: writes of the own session while it is not open."""

    def __init__(self) -> None:
        self.held: deque[PendingRequest] = deque()
        self._asks: deque[PendingRequest] = deque()

    def __bool__(self) -> bool:
        return bool(self._asks or self.held)

    def put(self, ask: PendingRequest, session: bytes, *, first: bool = False) -> None:
        """Queue a request; `session` is the own one. `first`: before all others."""
        request = ask.request
        own = (
            ask.kind is RetryKind.WRITE
            and isinstance(request, WriteRequest)
            and request.session == session
        )
        queue = self.held if own else self._asks
        if first:
            queue.appendleft(ask)
        else:
            queue.append(ask)

    def release(self) -> None:
        """Release the held writes: their session is open, or has ended."""
        self._asks.extend(self.held)
        self.held.clear()

    def drop_held(self) -> list[PendingRequest]:
        """Return the held writes: the session cannot be opened."""
        held = [ask for ask in self.held if not ask.settled]
        self.held.clear()
        return held

    def prune(self) -> None:
        """Drop requests whose deadline passed before they could be sent."""
        self.held = deque(ask for ask in self.held if not ask.settled)
        self._asks = deque(ask for ask in self._asks if not ask.settled)

    def next_batch(self, room: int) -> Iterator[PendingRequest]:
        """Return at most `room` requests that can be sent now, and those that need not be sent."""
        while self._asks and room > 0:
            ask = self._asks.popleft()
            room -= not ask.settled
            yield ask
