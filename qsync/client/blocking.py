"""The blocking client: the core, plain sockets and `poll`. One call at a time per client.

It may be shared by threads: calls wait for each other. `pipeline()` and `replace_many` have many
requests under way at once.
"""

import random
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from types import TracebackType
from typing import Final, Generic, Protocol, Self, TypeVar, Unpack

from qsync.client import calls, operations, options, retry_policy, targets, tls_files
from qsync.client.arguments import window_of
from qsync.client.calls import ClientCall
from qsync.client.closed import check_open
from qsync.client.core import Core
from qsync.client.numbering import Token
from qsync.client.options import WINDOW, Changes, ReadOptions, WriteOptions
from qsync.client.pending_request import PendingRequest
from qsync.client.pump import Pump
from qsync.client.rows import Key, Receipt, Row, Values, named
from qsync.client.security import ClientTls
from qsync.client.sync.core_client import CoreClient
from qsync.errors import ConfigError, QsyncError
from qsync.wire.verbs import Name

T = TypeVar("T")


class Beginner(Protocol):
    """Clients that can send a request now and wait for it later."""

    def submit(self, call: ClientCall[T], *, timeout: float | None = None) -> PendingRequest:
        """Ask."""

    def settle(self, ask: PendingRequest) -> None:
        """Wait for one that was begun."""


class Pending(Generic[T]):
    """An answer to come."""

    __slots__ = ("_ask", "_beginner", "_call")

    def __init__(self, beginner: Beginner, ask: PendingRequest, call: ClientCall[T]) -> None:
        self._beginner = beginner
        self._ask = ask
        self._call = call

    @property
    def settled(self) -> bool:
        """Is it there already?"""
        return self._ask.settled

    def result(self) -> T:
        """The answer; waits for it. Raises its error."""
        if not self._ask.settled:
            self._beginner.settle(self._ask)
        return calls.outcome(self._ask, self._call.read)


class Pipeline:
    """`with db.pipeline() as pipe:` waits for everything at the end; errors stay in the answers."""

    def __init__(self, beginner: Beginner, window: int) -> None:
        self._beginner = beginner
        self._window = window_of(window)
        self._open: deque[PendingRequest] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if kind is None:
            self.drain()

    def space(self, name: Name) -> "PipelineSpace":
        """A space whose calls return at once."""
        return PipelineSpace(self, name)

    def add(self, call: ClientCall[T], *, timeout: float | None = None) -> Pending[T]:
        """Ask; when the window is full, wait until half of it is free."""
        if len(self._open) >= self._window:
            self.drain(self._window // 2)
        ask = self._beginner.submit(call, timeout=timeout)
        self._open.append(ask)
        return Pending(self._beginner, ask, call)

    def drain(self, most: int = 0) -> None:
        """Wait until at most this many requests are pending."""
        while len(self._open) > most:
            self._beginner.settle(self._open.popleft())


class PipelineSpace:
    """A space of a pipeline: every call returns an answer to come."""

    def __init__(self, pipeline: Pipeline, name: Name) -> None:
        self.name = named(name)
        self._pipeline = pipeline

    def insert(self, row: Values, **given: Unpack[WriteOptions]) -> Pending[Receipt]:
        """A new tuple."""
        return self._write(operations.insert(self.name, row), given)

    def replace(self, row: Values, **given: Unpack[WriteOptions]) -> Pending[Receipt]:
        """Insert a tuple, or replace the one with its key."""
        return self._write(operations.replace(self.name, row), given)

    def update(self, key: Key, changes: Changes, **given: Unpack[WriteOptions]) -> Pending[Receipt]:
        """Change fields of one tuple."""
        return self._write(operations.update(self.name, key, changes), given)

    def upsert(
        self, row: Values, changes: Changes, **given: Unpack[WriteOptions]
    ) -> Pending[Receipt]:
        """Insert the tuple, or change the one that is there."""
        return self._write(operations.upsert(self.name, row, changes), given)

    def delete(self, key: Key, **given: Unpack[WriteOptions]) -> Pending[Receipt]:
        """Take one tuple away."""
        return self._write(operations.delete(self.name, key), given)

    def get(self, key: Key, **given: Unpack[ReadOptions]) -> Pending[Row | None]:
        """One tuple, or None. It need not see writes of this pipeline that are still under way."""
        call = calls.get(self.name, key, options.level(given))
        return self._pipeline.add(call, timeout=given.get("timeout"))

    def _write(self, operation: operations.Operation, given: WriteOptions) -> Pending[Receipt]:
        return self._pipeline.add(options.write([operation], given), timeout=given.get("timeout"))


TIMEOUT_S: Final = 10.0
CONNECT_TIMEOUT_S: Final = 2.0


class Client(CoreClient):
    """A connection to a cluster. Made by `qsync.connect`; also a context manager."""

    def __init__(
        self,
        core: Core,
        *,
        timeout: float,
        again: "Callable[[], Client] | None" = None,
        tls: ClientTls | None = None,
    ) -> None:
        super().__init__(core, timeout=timeout)
        self._again = again
        self._pump = Pump(core, tls=tls)
        self._lock = threading.RLock()
        self._busy = False
        self._connected = True
        self._leaving = False
        self._readers = weakref.WeakSet[Client]()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Say goodbye and close all connections, also those of feeds.

        A call of another thread that is under way ends first. One of this thread, which a signal
        has interrupted to close the client, is ended as soon as nothing is half done.
        """
        self.closed = True  # before the lock, which a feed that asks again and again hardly leaves
        with self._lock:
            self._leaving = True
            if not self._busy or self._pump.at_rest:
                self._leave()
            readers = list(self._readers)
        for reader in readers:
            reader.close()

    def pipeline(self, *, window: int = WINDOW) -> Pipeline:
        """Many requests under way at once: `with db.pipeline() as pipe: ...`."""
        return Pipeline(self, window)

    @property
    def session(self) -> str:
        """The session in which the next write is numbered; a token begins with it."""
        return self._core.numbering.id.hex()

    def submit(self, call: ClientCall[T], *, timeout: float | None = None) -> PendingRequest:
        """Send without waiting; for pipelines."""
        found: list[PendingRequest] = []
        try:
            with self._lock:
                ask = self._begin(call, timeout, found)
                self._flush()
                return ask
        except QsyncError:
            raise
        except BaseException:
            self._abandon(found, token_known=call.token_known)
            raise

    def settle(self, ask: PendingRequest) -> None:
        """Wait for one that was begun."""
        self._settle(ask)

    def _reader(self) -> "Client":
        """Another connection to the same cluster, so a watcher does not block other requests."""
        assert self._again is not None
        check_open(closed=self.closed, process=self._process)
        reader = self._again()
        with self._lock:
            self._readers.add(reader)
            closed = self.closed
        if closed:  # while it connected
            reader.close()
        return reader

    def _forked(self) -> None:
        """Leave connections and numbers to the process that has forked this one."""
        super()._forked()
        self._connected = False
        self._busy = False
        self._lock = threading.RLock()  # a thread that is not here may hold the other one
        self._pump.hang_up()
        self._pump.at_rest = True  # nobody goes on with what is half done

    def _settle(self, ask: PendingRequest) -> None:
        if ask.settled:
            return
        self._turn(partial(self._wait, ask))

    def _wait(self, ask: PendingRequest) -> None:
        if self.closed and not ask.settled:
            # Of the process that forked this one, or of a client that is about to be closed.
            raise retry_policy.closed(ask, inflight=True)
        self._pump.until(lambda: ask.settled or self._leaving)
        if not ask.settled:
            self._leave()

    def _leave(self) -> None:
        """Say goodbye, unless it was said; who waits is told so."""
        if self._connected:
            self._connected = False
            self._pump.close()

    def _flush(self) -> None:
        self._turn(self._pump.flush)

    def _turn(self, act: Callable[[], T]) -> T:
        """Do something that no other call may come between; the interrupted one begins anew.

        If that is interrupted, too, the next call does it.
        """
        with self._lock:
            if self._busy:  # of this thread, for it has the lock
                raise ConfigError(
                    "this client is in the middle of the call that was interrupted",
                    hint="where a signal calls, use a client of its own, or note it for later",
                )
            self._busy = True
            try:
                if not self._pump.at_rest:
                    self._pump.restart()
                self._pump.at_rest = False
                found = act()
            except QsyncError:
                self._pump.at_rest = True
                raise
            except BaseException:
                if not self._pump.at_rest:
                    self._pump.restart()
                raise
            else:
                self._pump.at_rest = True
                return found
            finally:
                self._busy = False
                if self._leaving and self._pump.at_rest:
                    self._leave()

    def _begin(
        self,
        call: ClientCall[T],
        timeout: float | None,
        found: list[PendingRequest] | None = None,
    ) -> PendingRequest:
        return self._turn(partial(super()._begin, call, timeout, found))

    def _begin_again(
        self, token: Token, timeout: float | None, found: list[PendingRequest], *, again: bool
    ) -> PendingRequest:
        return self._turn(partial(super()._begin_again, token, timeout, found, again=again))


def connect(
    target: str | Iterable[str],
    *,
    timeout: float = TIMEOUT_S,
    connect_timeout: float = CONNECT_TIMEOUT_S,
    direct: bool = False,
    tls: ClientTls | None = None,
    user: str | None = None,
    password: str | None = None,
) -> Client:
    """Connect to a cluster: `host:port`, several, or `qsync://user@h1,h2/`; one is enough.

    Over TLS with `qsyncs://h1,h2/?ca=FILE&certificate=FILE&key=FILE`, or with `tls`.

    `timeout`: seconds for each call unless it says otherwise. `direct`: speak to that one node
    only, whatever its role, and repeat nothing. `user` and `password`: as whom to log in; they may
    stand in the URL (`qsync://user:password@host`) or in QSYNC_USER and QSYNC_PASSWORD. Raises
    Unavailable if nobody welcomes us within `connect_timeout`, and ConfigError at once if files of
    ours cannot be used.
    """
    found = targets.parse(target, tls=tls).logged_in(user, password)
    tls_files.check(found)
    core = Core(found, dice=random.SystemRandom(), direct=direct)

    def again() -> Client:
        known, who = core.wires.route.addresses, core.wires.credentials
        name, word = (None, None) if who is None else (who.user, who.password)
        return connect(
            known,
            timeout=timeout,
            connect_timeout=connect_timeout,
            direct=direct,
            tls=found.tls,
            user=name,
            password=word,
        )

    client = Client(core, timeout=timeout, again=again, tls=found.tls)
    try:
        client.run(calls.ping(), timeout=connect_timeout)
    except BaseException:
        client.close()
        raise
    return client
