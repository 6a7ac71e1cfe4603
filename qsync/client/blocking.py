"""The blocking client: the core, plain sockets and `poll`. One call at a time per client.

It may be shared by threads: calls wait for each other. `pipeline()` and `replace_many` have many
requests under way at once.
"""

import random
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Final, Self, TypeVar

from qsync.client import calls, targets
from qsync.client.calls import ClientCall
from qsync.client.core import Core
from qsync.client.numbering import Token
from qsync.client.options import WINDOW
from qsync.client.pending_request import PendingRequest
from qsync.client.pipeline import Pipeline
from qsync.client.pump import Pump
from qsync.client.sync.core_client import CoreClient

T = TypeVar("T")
TIMEOUT_S: Final = 10.0
CONNECT_TIMEOUT_S: Final = 2.0


class Client(CoreClient):
    """A connection to a cluster. Made by `qsync.connect`; also a context manager."""

    def __init__(
        self, core: Core, *, timeout: float, again: "Callable[[], Client] | None" = None
    ) -> None:
        super().__init__(core, timeout=timeout)
        self._again = again
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
        return self._core.numbering.id.hex()

    def submit(self, call: ClientCall[T], *, timeout: float | None = None) -> PendingRequest:
        """Send without waiting; for pipelines."""
        return self._begin(call, timeout)

    def settle(self, ask: PendingRequest) -> None:
        """Wait for one that was begun."""
        self._settle(ask)

    def _reader(self) -> "Client":
        """Another connection to the same cluster, so that who watches keeps nobody waiting."""
        assert self._again is not None
        return self._again()

    def _settle(self, ask: PendingRequest) -> None:
        if ask.settled:
            return
        with self._lock:
            self._pump.until(lambda: ask.settled)

    def _begin(self, call: ClientCall[T], timeout: float | None) -> PendingRequest:
        with self._lock:
            return super()._begin(call, timeout)

    def _begin_again(self, token: Token, timeout: float | None, *, again: bool) -> PendingRequest:
        with self._lock:
            return super()._begin_again(token, timeout, again=again)


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
