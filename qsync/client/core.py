"""The decisions of a client, without sockets or clocks: targets, retries and outcomes.

Policy. Reads are repeated until their deadline. Writes are repeated with the same session and
number, so that they take effect at most once. NOT_LEADER, READONLY, UNAVAILABLE, OVERLOADED and a
lost connection mean: try the leader that was hinted at, else the next node, after a short wait.
ROLLED_BACK and QUORUM_TIMEOUT are definite and go to the caller; that an entry was cut is not the
fate of its request, so it is asked again. Once an attempt is in doubt (its connection broke, or the
number came as a token), whatever is said of a later one, or found when the deadline passes, is
OUTCOME_UNKNOWN; without a doubt it is the last refusal or UNAVAILABLE.
"""

import random
from collections.abc import Callable
from typing import Final

from qsync.client import numbering, operations, request_frames, response_timeout, retry_policy
from qsync.client.effects import ClientReady
from qsync.client.link import ClientLink, ConnectionPhase
from qsync.client.links import ClientLinks, begin_anew, close_idle, drop_all, excuse
from qsync.client.numbering import Numbering, SessionStanding, Token
from qsync.client.pending_request import (
    Observe,
    PendingRequest,
    RequestObserver,
    RetryKind,
    SendQueues,
    doubt,
    keep_observer,
)
from qsync.client.response_timeout import FAR
from qsync.client.targets import SeedAddresses
from qsync.errors import (
    AccessDenied,
    ForeignCluster,
    Overloaded,
    QsyncError,
    SessionExpired,
)
from qsync.wire import replies, requests
from qsync.wire.errors import pause_of
from qsync.wire.verbs import PlainRequest, Request, Verb, WriteFlags, WriteRequest

OWN_DEADLINE_S: Final = 10.0
"""Deadline of our own questions: open the session, status."""
INFLIGHT_MAX: Final = 2048
"""Asks without an answer on one connection; more wait here."""
ASKS_MAX: Final = 100_000
"""Asks of one client altogether."""


class Core:
    """One client. Report events to it, then call `ready()`; call `tick` by `wake_at`.

    `direct`: speak to the first address only, follow nobody, repeat nothing.
    """

    def __init__(self, target: SeedAddresses, *, dice: random.Random, direct: bool = False) -> None:
        self.wires = ClientLinks(target, dice=dice, direct=direct)
        self.numbering = Numbering(dice)
        self._asks: dict[int, PendingRequest] = {}
        self._waiting = SendQueues()
        self._settled: list[PendingRequest] = []
        self._observers: dict[int, RequestObserver] = {}
        self._number = 0

    # -- what callers ask

    def submit(
        self,
        kind: RetryKind,
        make: Callable[[int], Request],
        *,
        now: float,
        deadline: float,
        token: Token | None = None,
        observe: Observe | None = None,
        begun: Callable[[PendingRequest], None] | None = None,
    ) -> PendingRequest:
        """Begin a request. `make` builds it for a given id. Raises what makes it unsendable."""
        if len(self._asks) >= ASKS_MAX:
            raise Overloaded(f"{ASKS_MAX} questions wait in this client already")
        self._number += 1
        request = make(self._number)
        if isinstance(request, WriteRequest) and kind is RetryKind.WRITE:
            self.numbering.forget_orphans(self._asks.values())
            request = self.numbering.assign(request, token)
        try:
            frame = request_frames.frame_of(request)
        except QsyncError:
            if isinstance(request, WriteRequest) and token is None:
                self.numbering.settled(request.seq)
            raise
        if token is not None:
            doubt(self._asks.values(), token)
        ask = PendingRequest(kind, request, frame, now=now, deadline=deadline)
        ask.doubted = token is not None  # a token says that an attempt exists somewhere
        keep_observer(self._observers, ask, observe)
        if begun is not None:
            begun(ask)
        return self._begin(ask)

    def resolve(
        self,
        token: Token,
        *,
        now: float,
        deadline: float,
        again: bool = True,
        observe: Observe | None = None,
        begun: Callable[[PendingRequest], None] | None = None,
    ) -> PendingRequest:
        """Ask for the outcome of a write.

        `again`: do it again if it is here. Else, if nobody has done it, it is given up.
        """
        self._number += 1
        under_way = doubt(self._asks.values(), token)
        write = self.numbering.ask_again(self._number, token, under_way, again=again)
        ask = PendingRequest(
            RetryKind.WRITE, write, request_frames.frame_of(write), now=now, deadline=deadline
        )
        ask.doubted = True
        keep_observer(self._observers, ask, observe)
        if begun is not None:
            begun(ask)
        return self._begin(ask)

    def close(self, now: float) -> None:
        """End the client and all that waits. Only `ready` may be called after this."""
        own, home = self.numbering, self.wires.home
        writing = any(ask.kind is RetryKind.WRITE for ask in self._asks.values() if not ask.settled)
        done = own.standing is SessionStanding.OPEN and not own.unresolved and not writing
        if done and home is not None and home.phase is ConnectionPhase.READY:
            ops = [operations.expire_session(own.id)]
            home.out.append(requests.encode(WriteRequest(0, b"", 0, 0, WriteFlags.SUBMIT, ops)))
        self.wires.effects = self.wires.collect()
        sent = {id for link in self.wires.links() for id in link.inflight}
        for link in self.wires.links():
            self.wires.close(link)
        for ask in list(self._asks.values()):
            self._settle(ask, now, retry_policy.closed(ask, inflight=ask.id in sent))
        self._waiting.prune()

    def restart(self, now: float) -> None:
        """Drop all connections and begin anew with what waits: a call was ended in the middle."""
        drop_all(self.wires)
        self.numbering.reopen()
        self._waiting = SendQueues()
        for ask in list(self._asks.values()):
            direct, own = self.wires.direct, self.numbering.id
            if ask.kind is RetryKind.OPEN:
                del self._asks[ask.id]  # it is asked again when it is needed
            elif ask.sent_at and (verdict := retry_policy.left_alone(ask, direct=direct)):
                self._settle(ask, now, verdict)
            else:
                self._waiting.put(request_frames.named(ask, own), own)

    # -- what happened

    def dialled(self, id: int, now: float) -> None:
        """Note that a connection is up; the node will greet."""
        self.wires.dialled(id, now)

    def received(self, id: int, data: bytes, now: float) -> None:
        """Take the bytes that arrived."""
        link = self.wires.find(id)
        if link is None:
            return
        shaking = link.phase is not ConnectionPhase.READY
        try:
            payloads = link.received(data)
            if shaking and link.ready:
                link.phase = ConnectionPhase.READY
                self.wires.welcomed(link)
                if link is self.wires.home:
                    self._probe(link, now)
            for payload in payloads:
                number, answer = replies.decode(payload)
                ask = link.inflight.get(number)
                if ask is not None:
                    retry_policy.check(ask, answer)
                    del link.inflight[number]
                    if ask.id in self._asks:
                        self._answered(link, ask, answer, now)
            response_timeout.heard(link, now, whole=shaking or bool(payloads))
        except QsyncError as error:
            self._broken(link, error, now)
        if shaking or link is not self.wires.home:
            close_idle(self.wires, asked=bool(self._asks))
        self._pump(now)

    def lost(self, id: int, why: str, now: float) -> None:
        """Note that a connection failed or ended."""
        link = self.wires.find(id)
        if link is not None:
            self._lose(link, why, now)
            self._pump(now)

    def tick(self, now: float) -> None:
        """Look at the deadlines."""
        if now >= self.wires.check_at:
            excuse(self.wires, now)
            self._look(now)
        self._pump(now)

    def wake_at(self) -> float:
        """When `tick` is needed at the latest; infinity when nothing is awaited."""
        return self.wires.check_at

    def ready(self) -> ClientReady:
        """Return what is to be done now, once."""
        settled, self._settled = self._settled, []
        return ClientReady(self.wires.collect(), settled)

    # -- beginning and ending an ask

    def _begin(self, ask: PendingRequest, *, link: ClientLink | None = None) -> PendingRequest:
        now = ask.asked_at
        if not self._asks:
            begin_anew(self.wires, now)
        self._asks[ask.id] = ask
        self.wires.soon(ask.deadline)
        if link is None:
            self._waiting.put(ask, self.numbering.id)
            self._pump(now)
        else:
            self.wires.send(link, ask, now)
        return ask

    def _settle(self, ask: PendingRequest, now: float, outcome: list[object] | QsyncError) -> None:
        if isinstance(outcome, QsyncError):
            ask.error = retry_policy.for_caller(ask, outcome)
            if ask.kind is RetryKind.OPEN:
                self.numbering.standing = SessionStanding.CLOSED
        else:
            ask.answer = outcome
        ask.settled_at = now
        self._asks.pop(ask.id, None)
        self.numbering.ended(ask, known=not retry_policy.unresolved(ask.error))
        if self._observers and (observer := self._observers.pop(ask.id, None)):
            observer.settled(ask)
        self._settled.append(ask)

    # -- answers

    def _answered(
        self, link: ClientLink, ask: PendingRequest, answer: list[object] | QsyncError, now: float
    ) -> None:
        if ask.settled:
            self._settle(ask, now, retry_policy.WITHDRAWN)
            return
        if isinstance(answer, QsyncError):
            self._refused(link, ask, answer, now)
            return
        if ask.kind is RetryKind.STATUS:
            self.wires.informed(link, answer, now)
        elif self.wires.pace.searching:
            self.wires.pace.succeeded()
            close_idle(self.wires, asked=False)
        if ask.kind is RetryKind.OPEN:
            self.numbering.opened(numbering.born(answer))
            for held in self._waiting.held:
                if not held.settled:
                    request_frames.name_session(held, self.numbering.id)
            self._waiting.release()
        self._settle(ask, now, answer)

    def _refused(
        self, link: ClientLink, ask: PendingRequest, error: QsyncError, now: float
    ) -> None:
        again = isinstance(error, SessionExpired)
        if again and request_frames.renumber(ask, self.numbering, self._waiting):
            self._waiting.put(ask, self.numbering.id)
            return
        verdict = retry_policy.judge(ask, error, direct=self.wires.direct)
        if verdict is None:
            ask.refusal = error
            self.numbering.refused(error)
            self.numbering.forget_orphans(self._asks.values())
            if ask.kind is RetryKind.OPEN:
                for held in self._waiting.held:  # they wait for the same, and were never sent
                    held.refusal = retry_policy.unopened(error)
            self._waiting.put(ask, self.numbering.id)
            self.wires.steer(link, error, now)
            return
        self._settle(ask, now, verdict)
        if ask.kind is RetryKind.OPEN:
            for held in self._waiting.drop_held():
                self._settle(held, now, retry_policy.unopened(verdict))

    # -- connections

    def _probe(self, link: ClientLink, now: float) -> None:
        """Ask a node whether it answers and leads, and which members there are."""
        if self.wires.direct:
            return
        self._number += 1
        status = PlainRequest(self._number, Verb.STATUS)
        frame, deadline = requests.encode(status), now + OWN_DEADLINE_S
        self._begin(
            PendingRequest(RetryKind.STATUS, status, frame, now=now, deadline=deadline), link=link
        )

    def _broken(self, link: ClientLink, error: QsyncError, now: float) -> None:
        if isinstance(error, AccessDenied):
            self.wires.route.refused(link.address)
        if retry_policy.shuts_out(error, link, self.wires.route):
            retry_policy.name_refuser(error, link, hinted=self.wires.route.hinted)
            links, gone = self.wires.links(), isinstance(error, ForeignCluster)
            for ask in list(self._asks.values()):
                elsewhere = any(ask.id in each.inflight for each in links if each is not link)
                if not elsewhere and (gone or not ask.doubted):
                    self._settle(ask, now, error)
        elif isinstance(error, ForeignCluster):
            self.wires.route.forget(link.address)
        self._lose(link, str(error), now)
        self.wires.route.pause(link.address, now + pause_of(error))

    def _lose(self, link: ClientLink, why: str, now: float) -> None:
        direct = self.wires.direct
        self.wires.failed(link, why, now)
        asks = [ask for ask in link.inflight.values() if not ask.settled]
        link.inflight.clear()
        self.wires.close(link)
        for ask in reversed(asks):
            verdict = retry_policy.left_alone(ask, direct=direct)
            if verdict is None:
                self._waiting.put(ask, self.numbering.id, first=True)
            else:
                self._settle(ask, now, verdict)
        if direct:
            for ask in list(self._asks.values()):
                self._settle(ask, now, retry_policy.unavailable(self.wires.attempts()))

    # -- sending

    def _pump(self, now: float) -> None:
        wires, waiting = self.wires, self._waiting
        if not waiting or now < wires.pace.resume_at:
            return
        wires.dial(now)
        home = wires.home
        if home is None:
            return
        if waiting.held:
            self._open(now)
        for ask in waiting.next_batch(INFLIGHT_MAX - len(home.inflight)):
            if ask.settled:
                if ask.id in self._asks:
                    self._settle(ask, now, retry_policy.WITHDRAWN)
                continue
            if ask.doubted or ask.refusal is not None:
                request_frames.prepare_again(ask, self.numbering)
            wires.send(home, ask, now)
            if self._observers and ask.id in self._observers:
                self._observers[ask.id].sent(ask, home.address)

    def _open(self, now: float) -> None:
        if self.numbering.standing is SessionStanding.OPEN:
            self._waiting.release()
        elif self.numbering.standing is SessionStanding.CLOSED:
            self.numbering.standing = SessionStanding.OPENING
            self._number += 1
            ops = [operations.open_session(self.numbering.id)]
            # Its requests come behind it in the log, so there is nothing to wait for.
            write = WriteRequest(self._number, b"", 0, 0, WriteFlags.SUBMIT, ops)
            frame, deadline = requests.encode(write), now + OWN_DEADLINE_S
            self._begin(PendingRequest(RetryKind.OPEN, write, frame, now=now, deadline=deadline))

    # -- time

    def _look(self, now: float) -> None:
        """End everything whose time is over; then find when to look again."""
        wires = self.wires
        for link, why in list(wires.overdue(now)):
            if link is not wires.home and wires.home is not None and not link.inflight:
                wires.close(link)  # it came second, and no caller waits for it
                continue
            wires.route.silent(link.address)
            self._lose(link, why, now)
        for link in wires.doubted(now):
            self._probe(link, now)
        late = [ask for ask in self._asks.values() if now >= ask.deadline or ask.settled]
        for ask in late:
            flown = [link.inflight.pop(ask.id, None) for link in wires.links()]
            inflight = any(each is not None for each in flown)
            reached = any(link.phase is ConnectionPhase.READY for link in wires.links())
            error = retry_policy.overdue(ask, wires.attempts(), inflight=inflight, reached=reached)
            self._settle(ask, now, error)
        if late:
            self._waiting.prune()
        # A node that was asked alone let an answer be late: is it because it says nothing?
        for link in wires.links() if late and wires.direct else ():
            if now >= link.word_by:
                self._lose(link, response_timeout.SILENT, now)
        close_idle(wires, asked=bool(self._asks))
        deadlines = min((ask.deadline for ask in self._asks.values()), default=FAR)
        wires.check_at = min(wires.times(now), default=FAR)
        wires.soon(deadlines)
