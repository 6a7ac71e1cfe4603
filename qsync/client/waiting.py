"""Asks that are to be sent; writes are held back until their session is open."""

from collections import deque
from collections.abc import Iterator

from qsync.client.pending_request import PendingRequest, RetryKind
from qsync.wire.verbs import WriteRequest


class SendQueues:
    """Two queues. `held`: writes of the own session while it is not open."""

    def __init__(self) -> None:
        self.held: deque[PendingRequest] = deque()
        self._asks: deque[PendingRequest] = deque()

    def __bool__(self) -> bool:
        return bool(self._asks or self.held)

    def put(self, ask: PendingRequest, session: bytes, *, first: bool = False) -> None:
        """Queue an ask; `session` is the own one. `first`: before all others."""
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
        """The session is open."""
        self._asks.extend(self.held)
        self.held.clear()

    def drop_held(self) -> list[PendingRequest]:
        """The session cannot be opened: hand back what waits for it."""
        held = [ask for ask in self.held if not ask.settled]
        self.held.clear()
        return held

    def prune(self) -> None:
        """Forget those whose time was over before they could be sent."""
        self.held = deque(ask for ask in self.held if not ask.settled)
        self._asks = deque(ask for ask in self._asks if not ask.settled)

    def next_batch(self, room: int) -> Iterator[PendingRequest]:
        """At most `room` asks that can be sent now."""
        while self._asks and room > 0:
            ask = self._asks.popleft()
            if not ask.settled:
                room -= 1
                yield ask
