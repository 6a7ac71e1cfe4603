"""Calls of a client that has a core: begun with a deadline, settled, read."""
# Made from qsync/client/async_/core_client.py by tests/repo/blocking_surface.py: change that.

import os
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import TypeVar

from qsync.client import calls, observing, retry_policy
from qsync.client.arguments import seconds_of, window_of
from qsync.client.calls import ClientCall
from qsync.client.closed import check_open, watch_forks
from qsync.client.core import Core
from qsync.client.login import Credentials
from qsync.client.numbering import SessionStanding, Token, parse_token
from qsync.client.options import WINDOW
from qsync.client.pending_request import Observe, PendingRequest
from qsync.client.rows import Receipt
from qsync.client.sync.database import Database
from qsync.errors import QsyncError, Unavailable

T = TypeVar("T")


class CoreClient(Database):
    """The calls to a cluster through a core. Subclasses say how one waits.

    `timeout`: seconds for each call unless it says otherwise. `now`: monotonic seconds.
    """

    def __init__(
        self, core: Core, *, timeout: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self.timeout = seconds_of("timeout", timeout)
        self.closed = False
        """Nothing is asked any more: ClientClosed."""
        self._core = core
        self._now = now
        self._process = os.getpid()
        watch_forks(self)

    def __repr__(self) -> str:
        where = ",".join(self._core.wires.route.addresses)
        return f"<{type(self).__name__} of {where}{', closed' if self.closed else ''}>"

    def run(self, call: ClientCall[T], *, timeout: float | None = None) -> T:
        """Ask and wait for the answer. Cancelling takes a write back only if it was not sent."""
        found: list[PendingRequest] = []
        try:
            ask = self._begin(call, timeout, found)
            if call.token_known:
                self._core.numbering.note_token_known(ask)
            self._settle(ask)
            self._told(ask)
            return calls.outcome(ask, call.read)
        except QsyncError:
            raise
        except BaseException:
            self._abandon(found, token_known=call.token_known)
            raise

    def run_many(
        self,
        asked: Iterable[ClientCall[T]],
        *,
        window: int = WINDOW,
        timeout: float | None = None,
    ) -> list[T]:
        """Ask all of them, at most `window` at once; answers in order, or the first error.

        They are begun some at a time, so a slow `asked` makes none of them late. What ends `asked`,
        or cannot be sent, is raised when those before it are settled.
        """
        found: list[PendingRequest] = []
        try:
            return self._run_window(asked, found, window=window, timeout=timeout)
        except QsyncError:
            raise
        except BaseException:
            self._abandon(found, token_known=False)
            raise

    def _run_window(
        self,
        asked: Iterable[ClientCall[T]],
        found: list[PendingRequest],
        *,
        window: int,
        timeout: float | None,
    ) -> list[T]:
        begun: list[tuple[PendingRequest, ClientCall[T]]] = []
        source, waited, window = iter(asked), 0, window_of(window)
        failure: Exception | None = None
        while failure is None:
            some, failure = calls.next_of(source, window - window // 2)
            if not some:
                break
            upto = max(waited, len(begun) + len(some) - window)
            for ask, _ in begun[waited:upto]:
                self._settle(ask)
            waited = upto
            try:
                begun.extend((self._begin(call, timeout, found), call) for call in some)
            except QsyncError as error:
                failure = error
            self._flush()
            if self._core.numbering.standing is SessionStanding.OPENING and begun:
                self._settle(begun[-1][0])  # they are sent when the session is open
        for ask, _ in begun[waited:]:
            self._settle(ask)
        if failure is not None:
            raise failure
        return [calls.outcome(ask, call.read) for ask, call in begun]

    def resolve(
        self,
        token: str,
        *,
        timeout: float | None = None,
        again: bool = True,
    ) -> Receipt:
        """What became of a write whose outcome was unknown: a receipt, or why it was not done.

        A write of this client is done again, at most once in all. Of one from elsewhere, or without
        `again`, only the outcome is asked for; where nobody has done it, it is given up (GivenUp):
        no attempt that is still on its way can do it any more. OutcomeUnknown if nobody can say.
        """
        found: list[PendingRequest] = []
        try:
            ask = self._begin_again(parse_token(token), timeout, found, again=again)
            self._settle(ask)
            self._told(ask)
            return calls.outcome(ask, calls.read_receipt)
        except QsyncError:
            raise
        except BaseException:
            self._abandon(found, token_known=True)
            raise

    def _forked(self) -> None:
        """Leave connections and numbers to the process that has forked this one."""
        self.closed = True

    def _learn_password(self, user: str, password: str) -> None:
        """Connections that log in with the former password end, and the next ones use this."""
        wires = self._core.wires
        if wires.credentials is not None and wires.credentials.user == user:
            wires.credentials = Credentials(user, password)

    @abstractmethod
    def _settle(self, ask: PendingRequest) -> None:
        """Send pending bytes and wait until the request is settled."""

    @abstractmethod
    def _flush(self) -> None:
        """Send pending bytes, as far as that does not wait."""

    def _told(self, ask: PendingRequest) -> None:
        """Let the client forget a request whose caller has the outcome."""
        self._core.numbering.note_told(ask, known=not retry_policy.unresolved(ask.error))

    def _abandon(self, found: list[PendingRequest], *, token_known: bool) -> None:
        """Leave a request whose caller was interrupted, be it while it began."""
        for ask in found:
            ask.withdraw()
            if token_known:
                self._core.numbering.abandon(ask)

    def _begin(
        self,
        call: ClientCall[T],
        timeout: float | None,
        found: list[PendingRequest] | None = None,
    ) -> PendingRequest:
        """Begin a request, noted in `found`; `_settle` sends it.

        Raises ClientClosed, and Unavailable when its time is over. With a token it is sent all the
        same: of an earlier attempt Unavailable would be untrue.
        """
        check_open(closed=self.closed, process=self._process)
        now = self._now()
        deadline = self._deadline(now, timeout)
        if deadline <= now and call.token is None:
            raise Unavailable("the time of this call was over before it began, so it was not sent")
        return self._core.submit(
            call.kind,
            call.make,
            now=now,
            deadline=deadline,
            token=call.token,
            observe=self._observed(),
            begun=calls.noted_in(found, call.begun),
        )

    def _begin_again(
        self, token: Token, timeout: float | None, found: list[PendingRequest], *, again: bool
    ) -> PendingRequest:
        """Ask again for the outcome of a write; `_settle` sends it. Raises ClientClosed."""
        check_open(closed=self.closed, process=self._process)
        now = self._now()
        ask = self._core.resolve(
            token,
            now=now,
            deadline=self._deadline(now, timeout),
            again=again,
            observe=self._observed(),
            begun=found.append,
        )
        self._core.numbering.note_token_known(ask)
        return ask

    def _observed(self) -> Observe | None:
        """Return what observes requests from their beginning on."""
        return observing.observe

    def _deadline(self, now: float, timeout: float | None) -> float:
        return now + seconds_of("timeout", self.timeout if timeout is None else timeout)
