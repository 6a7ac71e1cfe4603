"""What a client decides, without sockets or clocks: whom to ask, what to repeat, what became of it.

Policy. Reads are repeated until their deadline. Writes are repeated with the same session and
number, so that they take effect at most once. NOT_LEADER, READONLY, UNAVAILABLE, OVERLOADED and a
lost connection mean: try the leader that was hinted at, else the next node, after a short wait.
ROLLED_BACK and QUORUM_TIMEOUT are definite and go to the caller. When the deadline passes, a write
is OUTCOME_UNKNOWN if any attempt of it may have arrived, else its last refusal or UNAVAILABLE.
"""

import random
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from qsync.client import verdicts
from qsync.client.asks import Ask, Kind
from qsync.client.link import Link, Phase
from qsync.client.numbering import Numbering, Standing, Token
from qsync.client.route import Pace, Route
from qsync.client.targets import Target
from qsync.errors import (
    AccessDenied,
    ForeignCluster,
    Overloaded,
    QsyncError,
    SessionExpired,
    WrongVersion,
)
from qsync.wire import cbor, replies, requests
from qsync.wire.session import Hello, Party
from qsync.wire.verbs import Plain, Request, Verb, Write, WriteFlags

DIAL_PATIENCE_S: Final = 1.0
"""How long a node may take to accept a connection and finish the handshake."""
ANSWER_PATIENCE_S: Final = 3.0
"""How long an answer may take before another node is asked (the same write, the same number)."""
OWN_DEADLINE_S: Final = 10.0
"""Deadline of our own questions: open the session, status."""
INFLIGHT_MAX: Final = 2048
"""Asks without an answer on one connection; more wait here."""
ASKS_MAX: Final = 100_000
"""Asks of one client altogether."""
SESSION_BYTES: Final = 16
_OPEN_SESSION: Final = 30
_EXPIRE_SESSION: Final = 31
_ONE_PUT: Final = (1, 2)
_FAR: Final = float("inf")


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
    """Close that connection; it will not be spoken of again."""

    link: int


@dataclass(slots=True)
class Ready:
    """What the shell is to do, in order, and whom it is to wake."""

    effects: list[Dial | Send | Close] = field(default_factory=list)
    settled: list[Ask] = field(default_factory=list)


class Core:
    """One client. Call what happened, then `ready()`; call `tick` at `wake_at` at the latest.

    `direct`: speak to the first address only, follow nobody, repeat nothing.
    """

    def __init__(self, target: Target, *, dice: random.Random, direct: bool = False) -> None:
        addresses = target.addresses[:1] if direct else target.addresses
        self.route = Route(addresses)
        self.numbering = Numbering(dice.randbytes(SESSION_BYTES))
        self.home: Link | None = None
        self.direct = direct
        self._hello = Hello(party=Party.CLIENT, user=target.user)
        self._dice = dice
        self._pace = Pace(dice)
        self._links: dict[int, Link] = {}
        self._asks: dict[int, Ask] = {}
        self._queue = _Queue()
        self._ready = Ready()
        self._last = _Last()

    # -- what callers ask

    def submit(
        self,
        kind: Kind,
        make: Callable[[int], Request],
        *,
        now: float,
        deadline: float,
        token: Token | None = None,
    ) -> Ask:
        """Ask. `make` builds the request for a given id. Raises what makes it unsendable."""
        if len(self._asks) >= ASKS_MAX:
            raise Overloaded(f"{ASKS_MAX} questions wait in this client already")
        request = make(self._last.number())
        if isinstance(request, Write) and kind is Kind.WRITE:
            request = self._numbered(request, token)
        ask = Ask(kind, request, now=now, deadline=deadline)
        try:
            ask.frame = _encode(request)
        except QsyncError:
            if isinstance(request, Write) and request.session == self.numbering.id:
                self.numbering.settled(request.seq)
            raise
        self._begin(ask, now)
        return ask

    def resolve(self, token: Token, *, now: float, deadline: float) -> Ask | None:
        """Ask once more for a write of this client; None if it is not kept here."""
        if token.session != self.numbering.id:
            return None
        write = self.numbering.again(token.seq)
        if write is None:
            return None
        again = write._replace(id=self._last.number(), low=min(write.seq, self.numbering.low))
        ask = Ask(Kind.WRITE, again, now=now, deadline=deadline)
        ask.doubts.add(0)
        ask.frame = _encode(again)
        self._begin(ask, now)
        return ask

    def reach(self, now: float) -> None:
        """Connect although nothing is asked yet."""
        if self.home is None and now >= self._pace.resume_at:
            self._dial(now)

    def close(self) -> None:
        """Say goodbye. Nothing may be called after this but `ready`."""
        home, numbering = self.home, self.numbering
        done = not numbering.unresolved and not self._asks
        if home and home.phase is Phase.READY and numbering.standing is Standing.OPEN and done:
            ops: list[list[object]] = [[_EXPIRE_SESSION, numbering.id]]
            goodbye = Write(self._last.number(), b"", 0, 0, WriteFlags.SUBMIT, ops)
            home.out.append(requests.encode(goodbye))
        self._collect()
        for link in list(self._links.values()):
            self._close(link)

    # -- what happened

    def dialled(self, id: int, now: float) -> None:
        """The connection stands; the node will greet."""
        link = self._links.get(id)
        if link is not None:
            link.phase = Phase.SHAKING
            link.until = now + DIAL_PATIENCE_S
            self._soon(link.until)

    def received(self, id: int, data: bytes, now: float) -> None:
        """Bytes arrived."""
        link = self._links.get(id)
        if link is None:
            return
        shaking = link.phase is not Phase.READY
        try:
            payloads = link.received(data)
            if shaking and link.phase is Phase.READY:
                self._welcomed(link, now)
            for payload in payloads:
                number, answer = replies.decode(payload)
                ask = link.inflight.pop(number, None)
                if ask is not None and not ask.settled:
                    self._answered(link, ask, answer, now)
        except QsyncError as error:
            self._broken(link, error, now)
        if link is not self.home and not link.inflight and link.phase is Phase.READY:
            self._close(link)
        self._pump(now)

    def lost(self, id: int, why: str, now: float) -> None:
        """The connection failed or ended."""
        link = self._links.get(id)
        if link is not None:
            self._lose(link, why, now)
            self._pump(now)

    def tick(self, now: float) -> None:
        """Time has passed."""
        if now >= self._last.check_at:
            self._look(now)
        self._pump(now)

    def wake_at(self) -> float:
        """When `tick` is needed at the latest; infinity when nothing is awaited."""
        if self._asks and self._pace.resume_at > self._last.ticked_at:
            return min(self._last.check_at, self._pace.resume_at)
        return self._last.check_at

    def ready(self) -> Ready:
        """What is to be done now; drained by the call."""
        self._collect()
        ready, self._ready = self._ready, Ready()
        return ready

    # -- beginning and ending an ask

    def _numbered(self, write: Write, token: Token | None) -> Write:
        if token is not None:
            return write._replace(session=token.session, seq=token.seq, low=0)
        seq = self.numbering.take()
        return write._replace(session=self.numbering.id, seq=seq, low=self.numbering.low)

    def _begin(self, ask: Ask, now: float) -> None:
        self._asks[ask.id] = ask
        self._queue.put(ask, self.numbering.id)
        self._soon(ask.deadline)
        self._pump(now)

    def _settle(self, ask: Ask, now: float, outcome: list[object] | QsyncError) -> None:
        ask.settled_at = now
        self._asks.pop(ask.id, None)
        if isinstance(outcome, QsyncError):
            ask.error = outcome
        else:
            ask.answer = outcome
        request = ask.request
        own = ask.kind is Kind.WRITE and isinstance(request, Write)
        if own and isinstance(request, Write) and request.session == self.numbering.id:
            if isinstance(outcome, QsyncError) and verdicts.unresolved(outcome):
                self.numbering.keep(request)
            else:
                self.numbering.settled(request.seq)
        self._ready.settled.append(ask)

    # -- answers

    def _answered(
        self, link: Link, ask: Ask, answer: list[object] | QsyncError, now: float
    ) -> None:
        if isinstance(answer, QsyncError):
            self._refused(link, ask, answer, now)
            return
        self._pace.succeeded()
        if ask.kind is Kind.STATUS:
            self._informed(link, answer, now)
        elif ask.kind is Kind.OPEN:
            self.numbering.standing = Standing.OPEN
            self._queue.release()
        self._settle(ask, now, answer)

    def _refused(self, link: Link, ask: Ask, error: QsyncError, now: float) -> None:
        if isinstance(error, SessionExpired) and self._reopen(ask):
            self._queue.put(ask, self.numbering.id)
            return
        verdict = verdicts.judge(ask, error, replica=link.replica, direct=self.direct)
        if isinstance(verdict, QsyncError):
            if ask.kind is Kind.OPEN:
                self._not_opened(verdict, now)
            self._settle(ask, now, verdict)
            return
        ask.refusal = error
        self._queue.put(ask, self.numbering.id)
        if link is self.home:
            self._steer(link, error, now)

    def _steer(self, link: Link, error: QsyncError, now: float) -> None:
        hint = error.leader
        if isinstance(error, Overloaded):
            after = error.details.get("retry_after")
            self._pace.failed(now)
            self._pace.pause(now, float(after) if isinstance(after, (int, float)) else 0.0)
        elif hint == link.address or verdicts.stays(error):
            self._pace.failed(now)
        else:
            if hint:
                self.route.prefer(hint)
            self._leave(link)
            self._pace.failed(now, free=bool(hint))
        self._soon(self._pace.resume_at)

    def _informed(self, link: Link, answer: list[object], now: float) -> None:
        nodes, leader, address = verdicts.read_nodes(answer)
        for node in nodes:
            self.route.learn(node)
        if link is self.home and leader and leader != link.replica and address:
            self.route.prefer(address)
            self._leave(link)
            self._pace.failed(now, free=True)

    def _reopen(self, ask: Ask) -> bool:
        """The session is gone. True if the write surely never began and has a new number now."""
        write = ask.request
        if ask.kind is not Kind.WRITE or ask.doubts or not isinstance(write, Write):
            return False
        if self._last.token_of_others(write, self.numbering.id):
            return False
        if write.session == self.numbering.id:
            self._last.sessions.add(write.session)
            self.numbering.renew(self._dice.randbytes(SESSION_BYTES))
        ask.request = self._numbered(write, None)
        ask.frame = _encode(ask.request)
        return True

    def _not_opened(self, error: QsyncError, now: float) -> None:
        self.numbering.standing = Standing.CLOSED
        for held in self._queue.drop_held():
            if not held.settled:
                self._settle(held, now, error)

    # -- connections

    def _dial(self, now: float) -> None:
        address = self.route.take()
        for link in self._links.values():
            if link.address == address:
                self.home = link
                return
        link = Link(self._last.number(), address, self._hello, until=now + 2 * DIAL_PATIENCE_S)
        self._links[link.id] = link
        self.home = link
        self._ready.effects.append(Dial(link.id, address))
        self._soon(link.until)

    def _welcomed(self, link: Link, now: float) -> None:
        self._hello = Hello(party=Party.CLIENT, user=self._hello.user, cluster=link.cluster)
        self.route.met.pop(link.address, None)
        if not self.direct:
            status = Plain(self._last.number(), Verb.STATUS)
            ask = Ask(Kind.STATUS, status, now=now, deadline=now + OWN_DEADLINE_S)
            ask.frame = requests.encode(status)
            self._asks[ask.id] = ask
            self._send(link, ask, now)

    def _broken(self, link: Link, error: QsyncError, now: float) -> None:
        if isinstance(error, AccessDenied | WrongVersion):
            # No other node will say anything else.
            for ask in list(self._asks.values()):
                if not ask.doubts:
                    self._settle(ask, now, error)
        elif isinstance(error, ForeignCluster):
            self.route.forget(link.address)
        self._lose(link, str(error), now)

    def _lose(self, link: Link, why: str, now: float) -> None:
        self.route.met[link.address] = why
        asks = [ask for ask in link.inflight.values() if not ask.settled]
        link.inflight.clear()
        self._close(link)
        for ask in reversed(asks):
            verdict = verdicts.left_alone(ask, replica=link.replica, direct=self.direct)
            if verdict is None:
                self._queue.put(ask, self.numbering.id, first=True)
            else:
                self._settle(ask, now, verdict)
        self._pace.failed(now)
        self._soon(self._pace.resume_at)
        if self.direct:
            self._queue.clear()
            for ask in list(self._asks.values()):
                self._settle(ask, now, verdicts.unavailable(self.route.met))

    def _leave(self, link: Link) -> None:
        """Send nothing more there; close it when everything in flight is answered."""
        if self.home is link:
            self.home = None
        if not link.inflight:
            self._close(link)

    def _close(self, link: Link) -> None:
        if link.phase is not Phase.CLOSED:
            link.phase = Phase.CLOSED
            self._links.pop(link.id, None)
            self._ready.effects.append(Close(link.id))
        if self.home is link:
            self.home = None

    # -- sending

    def _pump(self, now: float) -> None:
        self._last.ticked_at = now
        if now < self._pace.resume_at or not self._queue:
            return
        if self.home is None:
            self._dial(now)
        home = self.home
        if home is None or home.phase is not Phase.READY:
            return
        if self._queue.held:
            self._open(now)
        room = INFLIGHT_MAX - len(home.inflight)
        for ask in self._queue.take(room):
            self._send(home, ask, now)

    def _send(self, link: Link, ask: Ask, now: float) -> None:
        ask.sent_at = now
        link.inflight[ask.id] = ask
        link.out.append(ask.frame)
        if len(link.inflight) == 1:
            self._soon(now + ANSWER_PATIENCE_S)

    def _open(self, now: float) -> None:
        if self.numbering.standing is Standing.OPEN:
            self._queue.release()
        elif self.numbering.standing is Standing.CLOSED:
            self.numbering.standing = Standing.OPENING
            ops: list[list[object]] = [[_OPEN_SESSION, self.numbering.id]]
            write = Write(self._last.number(), b"", 0, 0, WriteFlags.NONE, ops)
            ask = Ask(Kind.OPEN, write, now=now, deadline=now + OWN_DEADLINE_S)
            ask.frame = requests.encode(write)
            self._asks[ask.id] = ask
            self._queue.put(ask, self.numbering.id)

    def _collect(self) -> None:
        for link in self._links.values():
            if link.out:
                data = link.out[0] if len(link.out) == 1 else b"".join(link.out)
                link.out.clear()
                self._ready.effects.append(Send(link.id, data))

    # -- time

    def _soon(self, at: float) -> None:
        self._last.check_at = min(self._last.check_at, at)

    def _look(self, now: float) -> None:
        """Everything whose time is over; then find out when to look again."""
        for link in list(self._links.values()):
            if link.phase in (Phase.DIALLING, Phase.SHAKING) and now >= link.until:
                self._lose(link, f"no {link.phase.value} within {DIAL_PATIENCE_S:g} s", now)
            elif self._stuck(link, now):
                self._lose(link, f"no answer within {ANSWER_PATIENCE_S:g} s", now)
        inflight = {id for link in self._links.values() for id in link.inflight}
        for ask in list(self._asks.values()):
            if now >= ask.deadline:
                self._overdue(ask, now, inflight=ask.id in inflight)
        self._last.check_at = min(self._times(now), default=_FAR)

    def _stuck(self, link: Link, now: float) -> bool:
        if self.direct or not self.route.alternatives or not link.inflight:
            return False
        return now >= next(iter(link.inflight.values())).sent_at + ANSWER_PATIENCE_S

    def _overdue(self, ask: Ask, now: float, *, inflight: bool) -> None:
        for link in self._links.values():
            link.inflight.pop(ask.id, None)
        if ask.kind is Kind.OPEN:
            self.numbering.standing = Standing.CLOSED
        self._settle(ask, now, verdicts.overdue(ask, self.route.met, inflight=inflight))

    def _times(self, now: float) -> Iterable[float]:
        for link in self._links.values():
            if link.phase in (Phase.DIALLING, Phase.SHAKING):
                yield link.until
            elif link.inflight and self.route.alternatives and not self.direct:
                yield next(iter(link.inflight.values())).sent_at + ANSWER_PATIENCE_S
        for ask in self._asks.values():
            yield ask.deadline
        if self._pace.resume_at > now:
            yield self._pace.resume_at


class _Queue:
    """Asks that are to be sent. Writes are held until the session is open."""

    def __init__(self) -> None:
        self.held: deque[Ask] = deque()
        self._asks: deque[Ask] = deque()

    def __bool__(self) -> bool:
        return bool(self._asks or self.held)

    def put(self, ask: Ask, session: bytes, *, first: bool = False) -> None:
        request = ask.request
        own = ask.kind is Kind.WRITE and isinstance(request, Write) and request.session == session
        queue = self.held if own else self._asks
        if first:
            queue.appendleft(ask)
        else:
            queue.append(ask)

    def release(self) -> None:
        self._asks.extend(self.held)
        self.held.clear()

    def drop_held(self) -> list[Ask]:
        held = list(self.held)
        self.held.clear()
        return held

    def clear(self) -> None:
        self.held.clear()
        self._asks.clear()

    def take(self, room: int) -> Iterable[Ask]:
        while self._asks and room > 0:
            ask = self._asks.popleft()
            if not ask.settled:
                room -= 1
                yield ask


class _Last:
    """Counters and times of a core."""

    def __init__(self) -> None:
        self.check_at = _FAR
        self.ticked_at = 0.0
        self.sessions: set[bytes] = set()
        self._number = 0

    def number(self) -> int:
        self._number += 1
        return self._number

    def token_of_others(self, write: Write, session: bytes) -> bool:
        return write.session != session and write.session not in self.sessions


def _encode(request: Request) -> bytes:
    if (
        isinstance(request, Write)
        and len(request.ops) == 1
        and request.ops[0][0] in _ONE_PUT
        and request.timeout is None
        and not request.reads
        and len(request.session) == SESSION_BYTES
    ):
        code, space, row = request.ops[0]
        if isinstance(space, str) and isinstance(row, bytes) and isinstance(code, int):
            return requests.encode_put(
                request.id,
                session=request.session,
                seq=request.seq,
                low=request.low,
                flags=request.flags,
                code=code,
                space=cbor.text(space),
                row=row,
            )
    return requests.encode(request)
