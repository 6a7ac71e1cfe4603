"""The blocking client: the core, plain sockets and `poll`. One call at a time per client.

It may be shared by threads: calls wait for each other. `pipeline()` and `replace_many` have many
requests under way at once.
"""

import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Final, Self, TypeVar

from qsync.client import calls, targets
from qsync.client.calls import ClientCall
from qsync.client.core import Core
from qsync.client.numbering import parse_token
from qsync.client.options import WINDOW
from qsync.client.pending_request import PendingRequest
from qsync.client.pipeline import Pipeline
from qsync.client.pump import Pump
from qsync.client.rows import Receipt
from qsync.client.sync.database import Database

T = TypeVar("T")
TIMEOUT_S: Final = 10.0
CONNECT_TIMEOUT_S: Final = 2.0


class Client(Database):
    """A connection to a cluster. Made by `qsync.connect`; also a context manager."""

    def __init__(
        self, core: Core, *, timeout: float, again: "Callable[[], Client] | None" = None
    ) -> None:
        super().__init__()
        self._again = again
        self.timeout = timeout
        self._pump = Pump(core)
        self._lock = threading.RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Say goodbye and close all connections."""
        with self._lock:
            self._pump.close()

    def pipeline(self, *, window: int = WINDOW) -> Pipeline:
        """Many requests under way at once: `with db.pipeline() as pipe: ...`."""
        return Pipeline(self, window)

    @property
    def session(self) -> str:
        """The session in which the next write is numbered; a token begins with it."""
        return self._pump.core.numbering.id.hex()

    def resolve(self, token: str, *, timeout: float | None = None, again: bool = True) -> Receipt:
        """What became of a write whose outcome was unknown: a receipt, or why it was not done.

        A write of this client is done again, at most once in all. Of one from elsewhere, or without
        `again`, only the outcome is asked for; where nobody has done it, it is given up (GivenUp):
        no attempt that is still on its way can do it any more. OutcomeUnknown if nobody can say.
        """
        parsed = parse_token(token)
        with self._lock:
            now = time.monotonic()
            until = self._deadline(now, timeout)
            ask = self._pump.core.resolve(parsed, now=now, deadline=until, again=again)
            self._pump.until(lambda: ask.settled)
        return calls.outcome(ask, calls.read_receipt)

    def run(self, call: ClientCall[T], *, timeout: float | None = None) -> T:
        """Ask and wait for the answer."""
        with self._lock:
            ask = self._begin(call, timeout)
            self._pump.until(lambda: ask.settled)
        return calls.outcome(ask, call.read)

    def run_many(
        self, asked: Iterable[ClientCall[T]], *, window: int = WINDOW, timeout: float | None = None
    ) -> list[T]:
        """Ask all of them, at most `window` at once; answers in order, or the first error."""
        begun: list[tuple[PendingRequest, ClientCall[T]]] = []
        open_: deque[PendingRequest] = deque()
        with self._lock:
            for call in asked:
                ask = self._begin(call, timeout)
                begun.append((ask, call))
                open_.append(ask)
                if len(open_) >= window:
                    self._wait(open_, window // 2)
            self._wait(open_, 0)
        return [calls.outcome(ask, call.read) for ask, call in begun]

    def submit(self, call: ClientCall[T], *, timeout: float | None = None) -> PendingRequest:
        """Send without waiting; for pipelines."""
        with self._lock:
            return self._begin(call, timeout)

    def settle(self, ask: PendingRequest) -> None:
        """Wait for one that was begun."""
        with self._lock:
            self._pump.until(lambda: ask.settled)

    def _reader(self) -> "Client":
        """Another connection to the same cluster, so that who watches keeps nobody waiting."""
        assert self._again is not None
        return self._again()

    def _begin(self, call: ClientCall[T], timeout: float | None) -> PendingRequest:
        now = time.monotonic()
        deadline = self._deadline(now, timeout)
        ask = self._pump.core.submit(
            call.kind, call.make, now=now, deadline=deadline, token=call.token
        )
        if call.begun is not None:
            call.begun(ask)
        return ask

    def _wait(self, asks: deque[PendingRequest], most: int) -> None:
        def few() -> bool:
            while asks and asks[0].settled:
                asks.popleft()
            return len(asks) <= most

        self._pump.until(few)

    def _deadline(self, now: float, timeout: float | None) -> float:
        return now + (self.timeout if timeout is None else timeout)


def connect(
    target: str | Iterable[str],
    *,
    timeout: float = TIMEOUT_S,
    connect_timeout: float = CONNECT_TIMEOUT_S,
    direct: bool = False,
) -> Client:
    """Connect to a cluster: `host:port`, several, or `qsync://user@h1,h2/`; one is enough.

    `timeout`: seconds for each call unless it says otherwise. `direct`: speak to that one node
    only, whatever its role, and repeat nothing. Raises Unavailable if nobody welcomes us within
    `connect_timeout`.
    """
    core = Core(targets.parse(target), dice=random.SystemRandom(), direct=direct)

    def again() -> Client:
        known = core.wires.route.addresses
        return connect(known, timeout=timeout, connect_timeout=connect_timeout, direct=direct)

    client = Client(core, timeout=timeout, again=again)
    try:
        client.run(calls.ping(), timeout=connect_timeout)
    except BaseException:
        client.close()
        raise
    return client
