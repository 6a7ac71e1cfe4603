"""Nodes that say anything at all to a real client's core, and a record of what was said.

No sockets and no clock: `Company` draws what happens next and does it. Of every write it keeps
which attempts went out and what nodes said of each: with that the outcome has to agree.
"""

import contextlib
import random
from collections.abc import Callable, Iterator
from typing import Final

import cbor2
from hypothesis import strategies as st

from election.messages import Replica
from qsync.client import calls, operations, questions, targets
from qsync.client.calls import ClientCall
from qsync.client.core import Core
from qsync.client.effects import Close, Dial, Send
from qsync.client.numbering import Token, parse_token
from qsync.client.pending_request import PendingRequest, RetryKind
from qsync.data.operation_kinds import Op
from qsync.error_details import COMPACTED, CUT, OUTCOMES_MAX, RECORDED, RETRY_AFTER
from qsync.errors import (
    Outcome,
    OutcomeUnknown,
    QsyncError,
    QuorumTimeout,
    RolledBack,
    SessionExpired,
    all_errors,
)
from qsync.wire import replies, requests
from qsync.wire.frames import LENGTH_SIZE, Frames, frame
from qsync.wire.session import Acceptor, ConnectionState, Greeting
from qsync.wire.verbs import PlainRequest, Request, Verb, WriteRequest
from tests.fuzz import hostile

SEEDS: Final = ("a:1", "b:1")
TIMEOUTS = st.sampled_from([0.05, 1.0, 3.0])
LINKS_MAX: Final = 64
TICKS_MAX: Final = 2000
"""In one second, of a client that has nothing but a few calls: more would be a loop."""
ADDRESSES = st.one_of(
    st.sampled_from([*SEEDS, "c:1", "c", "unix:/x", "h:" + "1" * 5000, "a\0b:1", "", None]),
    st.integers(1, 200).map(lambda number: f"n{number}:1"),
    hostile.TEXTS,
)
DETAILS = st.dictionaries(
    st.sampled_from([RETRY_AFTER, OUTCOMES_MAX, RECORDED, CUT, COMPACTED, "token", "space", "x"]),
    st.one_of(hostile.NUMBERS, st.booleans(), hostile.TEXTS),
    max_size=2,
)
REFUSALS = st.tuples(
    st.sampled_from([cls.number for cls in all_errors()] + [999, 2**63]),
    st.just("why"),
    st.sampled_from([each.value for each in Outcome]),
    st.booleans(),
    st.just("hint"),
    ADDRESSES,
    DETAILS,
)
VIEWS = st.fixed_dictionaries(
    {},
    optional={
        "nodes": st.one_of(
            hostile.VALUES,
            st.lists(st.tuples(st.integers(0, 9), st.just("n"), ADDRESSES), max_size=3),
        ),
        "leader": st.one_of(st.integers(0, 3), hostile.LEAVES),
        "leader_address": ADDRESSES,
    },
)
CALLS: Final[dict[str, Callable[[], ClientCall[object]]]] = {
    "put": lambda: calls.write([operations.replace("s", [1, "x"])]),
    "delete": lambda: calls.write([operations.delete("s", 1)], calls.Commit(wait="submit")),
    "get": lambda: calls.get("s", 1),
    "select": lambda: calls.select("s", calls.range_of(None)),
    "count": lambda: calls.count("s", calls.range_of(None)),
    "changes": lambda: questions.changes(1, "s", [], 0.5),
    "watch": lambda: questions.watch("box.status", None, 0.5),
    "status": calls.status,
    "schema": calls.schema,
    "info": lambda: calls.info(None),
    "digest": lambda: calls.digest(None),
    "log": lambda: calls.log(1, 1, 1),
    "options": lambda: questions.options({"a": 1}),
    "snapshot": questions.snapshot,
    "rights": lambda: questions.rights(None),
    "promote": lambda: calls.promote(1.0),
}


class Door:
    """One connection of the client, as the node at its other end has it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.acceptor: Acceptor | None = None
        self.frames = Frames()
        self.asked: list[Request] = []


class Fate:
    """What went out of one write, and what was said of it."""

    def __init__(self) -> None:
        self.open: set[tuple[int, int]] = set()
        """Link and id of each attempt of which no node said that it was not done."""
        self.decided = False
        """A node said that the number was not done and never will be, whatever its attempts."""


class Company:
    """A client's core, its connections, and all that may happen to them."""

    def __init__(self, data: st.DataObject, *, direct: bool) -> None:
        self.draw = data.draw
        self.now = 100.0
        seeds = targets.SeedAddresses(addresses=SEEDS)
        self.core = Core(seeds, dice=random.Random(7), direct=direct)
        self.doors: dict[int, Door] = {}
        self.asks: list[tuple[PendingRequest, ClientCall[object]]] = []
        self.fates: dict[Token, Fate] = {}
        self.numbers: dict[int, set[Token]] = {}
        """The numbers that went out with each id."""
        self.done: set[int] = set()
        """Ids of which a node that was asked said that they are done."""
        self._judged = 0

    # -- what the program does

    def ask(self) -> None:
        call = CALLS[self.draw(st.sampled_from(sorted(CALLS)))]()
        deadline = self.now + self.draw(TIMEOUTS)
        ask = self.core.submit(call.kind, call.make, now=self.now, deadline=deadline)
        self.asks.append((ask, call))

    def write(self) -> None:
        call = CALLS["put"]()
        deadline = self.now + self.draw(TIMEOUTS)
        ask = self.core.submit(call.kind, call.make, now=self.now, deadline=deadline)
        self.asks.append((ask, call))

    def resolve(self) -> None:
        """Ask for the outcome of a write that went out, or of another client's."""
        token = self.draw(st.sampled_from([*self.fates, Token(b"another client", 1)]))
        fate = self.fates.setdefault(token, Fate())
        if token.session == b"another client":
            fate.open.add((0, 0))
        deadline, again = self.now + self.draw(TIMEOUTS), self.draw(st.booleans())
        ask = self.core.resolve(token, now=self.now, deadline=deadline, again=again)
        self.asks.append((ask, CALLS["put"]()))

    # -- what the network does

    def play(self) -> None:
        """Do what the core wants done; look at what has ended."""
        while True:
            ready = self.core.ready()
            for effect in ready.effects:
                match effect:
                    case Dial(link, address):
                        self.doors[link] = Door(address)
                    case Send(link, sent):
                        self._hear(link, sent)
                    case Close(link):
                        self.doors.pop(link, None)
            assert len(self.doors) <= LINKS_MAX
            if not ready.effects:
                return

    def _hear(self, link: int, sent: bytes) -> None:
        door = self.doors[link]
        for payload in door.frames.feed(sent):
            if door.acceptor is None:
                continue  # who is taken for a node by what was said at random
            if door.acceptor.state is ConnectionState.HELLO:
                with contextlib.suppress(QsyncError):  # of another cluster
                    door.acceptor.received(payload)
                continue
            request = requests.decode(payload)
            door.asked.append(request)
            if isinstance(request, WriteRequest) and request.session:
                token = Token(request.session, request.seq)
                self.numbers.setdefault(request.id, set()).add(token)
                self.fates.setdefault(token, Fate()).open.add((link, request.id))

    def pass_time(self, seconds: float) -> None:
        end, ticks = self.now + seconds, 0
        while (at := self.core.wake_at()) <= end:
            ticks += 1
            assert ticks <= TICKS_MAX * max(1.0, seconds)
            self.now = max(self.now, at)
            self.core.tick(self.now)
            self.play()
        self.now = end

    def hang_up(self, link: int) -> None:
        self.doors.pop(link)
        self.core.lost(link, "it hung up", self.now)

    # -- what nodes do

    def shake_hands(self, link: int) -> None:
        """A handshake as it should be, most often to its end."""
        door = self.doors[link]
        if door.acceptor is not None:
            return
        cluster = self.draw(st.sampled_from(["c"] * 7 + ["other"]))
        replica = Replica(self.draw(st.integers(1, 3)))
        greeting = Greeting(cluster=cluster, instance="i", replica=replica, name="n")
        door.acceptor = Acceptor(greeting)
        self.core.dialled(link, self.now)
        self.core.received(link, door.acceptor.greet(), self.now)
        self.play()
        if door.acceptor.hello is not None and self.draw(st.integers(0, 7)):
            self.core.received(link, door.acceptor.accept(), self.now)

    def say(self, link: int, said: bytes) -> None:
        """Whatever it is, in two pieces; its meaning, if it has one, is noted."""
        door = self.doors[link]
        if door.acceptor is None:
            self.core.dialled(link, self.now)
        at = self.draw(st.integers(0, len(said)))
        for piece in (said[:at], said[at:]):
            self.core.received(link, piece, self.now)
        self.play()

    def reply(self, link: int) -> None:
        """To something that this node was asked, be it long ago, or that nobody asked."""
        door = self.doors[link]
        if not door.asked:
            self.shake_hands(link)
            return
        kinds = ["good"] * 6 + ["refused"] * 3 + ["odd", "nobody"]
        kind = self.draw(st.sampled_from(kinds))
        request = door.asked[0] if kind == "good" else self.draw(st.sampled_from(door.asked))
        if self.draw(st.integers(0, 5)):  # else it is answered twice
            door.asked.remove(request)
        if kind == "good":
            said = good(request, self.draw)
        elif kind == "refused":
            said = frame(cbor2.dumps([request.id, *self.draw(REFUSALS)], default=None))
        elif kind == "odd":
            said = frame(hostile.dumps([request.id, 0, *self.draw(st.lists(hostile.VALUES))]))
        else:
            said = good(PlainRequest(self.draw(st.integers(0, 99)), Verb.STATUS), self.draw)
        self.note(link, said)
        self.say(link, said)

    def note(self, link: int, said: bytes) -> None:
        """Note what was said of the writes."""
        try:
            number, answer = replies.decode(said[LENGTH_SIZE:])
            if not isinstance(answer, QsyncError):
                replies.read_committed(answer)
        except QsyncError:
            return
        for token in self.numbers.get(number, ()):
            fate = self.fates[token]
            if (link, number) not in fate.open:
                continue
            if not isinstance(answer, QsyncError) or answer.outcome is Outcome.COMMITTED:
                self.done.add(number)
                continue
            fate.decided |= answer.outcome is Outcome.ROLLED_BACK and (
                bool(answer.details.get(RECORDED)) or isinstance(answer, RolledBack | QuorumTimeout)
            )
            gone = answer.outcome is Outcome.ROLLED_BACK or isinstance(answer, SessionExpired)
            if gone or (isinstance(answer, OutcomeUnknown) and answer.details.get(CUT)):
                fate.open.discard((link, number))

    # -- what has to be so

    def judge(self) -> Iterator[str]:
        """What is wrong with the outcomes of the calls that have ended."""
        for ask, call in self.asks:
            if not ask.settled:
                continue
            if ask.error is None:
                try:
                    call.read(ask)
                except QsyncError:
                    pass
            if ask.kind is RetryKind.WRITE and (wrong := self._wrong(ask)):
                yield wrong
        self.asks = [each for each in self.asks if not each[0].settled]

    def _wrong(self, ask: PendingRequest) -> str:
        error, write = ask.error, ask.request
        assert isinstance(write, WriteRequest)
        if error is None or error.outcome is Outcome.COMMITTED:
            return "" if ask.id in self.done else "committed, and nobody said so"
        if error.outcome is Outcome.ROLLED_BACK:
            tokens = {*self.numbers.get(ask.id, ()), Token(write.session, write.seq)}
            fates = [self.fates[each] for each in tokens if each in self.fates]
            under_way = any(each.open and not each.decided for each in fates)
            return f"{error}: an attempt is under way" if under_way else ""
        if isinstance(error, SessionExpired):
            return ""
        if not isinstance(error, OutcomeUnknown):
            return f"{error}: unknown, and no token"
        same = parse_token(error.token) == (write.session, write.seq)
        return "" if same or error.details.get(COMPACTED) else f"{error}: the token of another"


def good(request: Request, draw: Callable[[st.SearchStrategy[object]], object]) -> bytes:
    """An answer of the kind that the request wants."""
    id = request.id
    match request:
        case WriteRequest():
            row = None
            if request.ops[0][0] == Op.OPEN_SESSION:
                seed = request.ops[0][1]
                assert isinstance(seed, bytes)
                row = cbor2.dumps([seed + bytes(15) + bytes([id % 256])])
            return replies.committed(
                id, term=1, index=1, lsn=1, acks=1, results=[row], duplicate=False
            )
        case PlainRequest(_, Verb.STATUS):
            view = draw(VIEWS)
            return frame(hostile.dumps([id, 0, view]))
        case _:
            return frame(hostile.dumps([id, 0, draw(hostile.VALUES)]))
