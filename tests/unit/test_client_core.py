"""What the client decides, played out against scripted nodes: no sockets, no clock."""

import random
from collections.abc import Callable

import cbor2
import pytest

from election.messages import Index, Position, Replica, Term
from qsync.client import calls, operations, questions, targets
from qsync.client.calls import ClientCall
from qsync.client.core import INFLIGHT_MAX, Core
from qsync.client.effects import Close, Dial, Send
from qsync.client.numbering import UNRESOLVED_SPAN_MAX, Numbering, Token, parse_token
from qsync.client.pending_request import PendingRequest, RetryKind
from qsync.client.rows import Receipt, level_of
from qsync.error_details import CUT
from qsync.errors import (
    AccessDenied,
    ConfigError,
    Conflict,
    NotLeader,
    Outcome,
    OutcomeUnknown,
    Overloaded,
    QsyncError,
    QuorumTimeout,
    ReadOnly,
    RolledBack,
    SessionExpired,
    SyncQueueFull,
    Unanswered,
    Unavailable,
    WrongTuple,
)
from qsync.wire import replies, requests
from qsync.wire.frames import Frames
from qsync.wire.session import Acceptor, Greeting
from qsync.wire.verbs import GetRequest, PlainRequest, Request, Verb, WriteRequest

CLUSTER = "c-1"


class Stage:
    """A core and the nodes it meets. Time stands still unless `pass_time` is called."""

    def __init__(self, *addresses: str, direct: bool = False) -> None:
        seeds = targets.SeedAddresses(addresses=addresses)
        self.core = Core(seeds, dice=random.Random(7), direct=direct)
        self.births = 0
        self.now = 100.0
        self.dialled: list[str] = []
        self.open: dict[int, str] = {}
        self._acceptors: dict[int, Acceptor] = {}
        self._frames: dict[int, Frames] = {}
        self._heard: dict[int, list[Request]] = {}
        self._asked_status: dict[int, int] = {}

    # -- what the caller does

    def ask(self, call: ClientCall[object], *, timeout: float = 10.0) -> PendingRequest:
        return self.core.submit(
            call.kind, call.make, now=self.now, deadline=self.now + timeout, token=call.token
        )

    def put(self, *, timeout: float = 10.0, token: str | None = None) -> PendingRequest:
        commit = calls.Commit(token=token)
        return self.ask(calls.write([operations.replace("s", [1, "x"])], commit), timeout=timeout)

    def get(self, *, timeout: float = 10.0) -> PendingRequest:
        return self.ask(calls.get("s", 1), timeout=timeout)

    # -- what the nodes do

    def play(self) -> None:
        """Take what the core wants done."""
        for effect in self.core.ready().effects:
            match effect:
                case Dial(link, address):
                    self.dialled.append(address)
                    self.open[link] = address
                case Send(link, data):
                    for payload in self._frames[link].feed(data):
                        self._take(link, payload)
                case Close(link):
                    self.open.pop(link, None)

    def link(self, address: str) -> int:
        self.play()
        (link,) = [link for link, where in self.open.items() if where == address]
        return link

    def greet(self, address: str) -> int:
        """The node takes the connection, greets, and never says anything more."""
        link = self.link(address)
        greeting = Greeting(cluster=CLUSTER, instance="i", replica=Replica(1), name="n")
        self.core.dialled(link, self.now)
        self.core.received(link, Acceptor(greeting).greet(), self.now)
        for effect in self.core.ready().effects:
            assert isinstance(effect, Send)
        return link

    def accept(self, address: str, *, replica: int = 1, cluster: str = CLUSTER) -> int:
        """The node takes the connection and welcomes the client."""
        link = self.link(address)
        greeting = Greeting(cluster=cluster, instance="i", replica=Replica(replica), name="n")
        self._acceptors[link] = Acceptor(greeting)
        self._frames[link] = Frames()
        self._heard[link] = []
        self.core.dialled(link, self.now)
        self.core.received(link, self._acceptors[link].greet(), self.now)
        self.play()
        return link

    def welcomed(self, link: int) -> bool:
        """Whether the node has taken this connection."""
        return link in self._acceptors

    def _take(self, link: int, payload: bytes) -> None:
        acceptor = self._acceptors[link]
        if acceptor.hello is None:
            acceptor.received(payload)
            self.core.received(link, acceptor.accept(), self.now)
            self.play()
        else:
            request = requests.decode(payload)
            if isinstance(request, PlainRequest) and request.verb is Verb.STATUS:
                self._asked_status[link] = request.id
            else:
                self._heard[link].append(request)

    def heard(self, link: int) -> list[Request]:
        """What that node was asked since the last time, status questions left out."""
        self.play()
        found = list(self._heard[link])
        self._heard[link].clear()
        return found

    def status(self, link: int, view: dict[str, object]) -> None:
        """Answer the status question."""
        self.play()
        self.reply(link, replies.reply(self._asked_status.pop(link), view))

    def reply(self, link: int, frame: bytes) -> None:
        self.core.received(link, frame, self.now)
        self.play()

    def refuse(self, link: int, request: Request, error: QsyncError) -> None:
        self.reply(link, replies.failed(request.id, error))

    def commit(self, link: int, request: Request, *, duplicate: bool = False) -> None:
        results: list[bytes | None] = [None]
        match request:
            case WriteRequest(ops=[[30, bytes(seed)]]):
                self.births += 1
                results = [cbor2.dumps([seed + self.births.to_bytes(16, "big")])]
            case _:
                pass
        self.reply(
            link,
            replies.committed(
                request.id, term=2, index=9, lsn=8, acks=2, results=results, duplicate=duplicate
            ),
        )

    def drop(self, link: int) -> None:
        self.core.lost(link, "reset", self.now)
        self.open.pop(link, None)
        self.play()

    def pass_time(self, seconds: float) -> None:
        """In steps, as a shell would: no tick later than the core wants it."""
        end = self.now + seconds
        while True:
            at = self.core.wake_at()
            if at > end:
                break
            self.now = max(self.now, at)
            self.core.tick(self.now)
            self.play()
        self.now = end

    def opened(self, address: str = "a:1") -> int:
        """Connect, with the session open."""
        first = self.put()
        link = self.accept(address)
        (opening,) = self.heard(link)
        self.commit(link, opening)
        (write,) = self.heard(link)
        self.commit(link, write)
        self.status(link, {})
        assert first.error is None
        return link


def write_of(found: list[Request]) -> WriteRequest:
    (request,) = found
    assert isinstance(request, WriteRequest)
    return request


def error_of(ask: PendingRequest) -> QsyncError:
    assert ask.settled
    assert ask.error is not None
    return ask.error


def test_a_read_dials_the_seed_and_is_sent_after_the_handshake() -> None:
    stage = Stage("a:1")
    ask = stage.get()
    link = stage.accept("a:1")
    (request,) = stage.heard(link)
    assert isinstance(request, GetRequest)
    stage.reply(
        link, replies.row(request.id, cbor2.dumps([1, "x"]), read_from=Position(Term(1), Index(3)))
    )
    assert calls.outcome(ask, calls.get("s", 1).read) == [1, "x"]


def test_the_first_write_opens_the_session_and_writes_follow_in_order() -> None:
    stage = Stage("a:1")
    asks = [stage.put(), stage.put()]
    link = stage.accept("a:1")
    opening = write_of(stage.heard(link))
    assert opening.ops == [[30, stage.core.numbering.id]]
    assert stage.heard(link) == []
    stage.commit(link, opening)
    first, second = stage.heard(link)
    assert isinstance(first, WriteRequest)
    assert isinstance(second, WriteRequest)
    assert (first.session, first.seq, first.low) == (stage.core.numbering.id, 1, 1)
    assert second.seq == 2
    stage.commit(link, second)
    stage.commit(link, first)
    receipt = calls.outcome(asks[0], calls.read_receipt)
    assert (receipt.term, receipt.index, receipt.lsn, receipt.acks) == (2, 9, 8, 2)


def test_low_follows_the_oldest_number_that_is_not_settled() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    stage.put()
    stage.put()
    second, third = stage.heard(link)
    stage.commit(link, third)
    stage.put()
    assert write_of(stage.heard(link)).low == 2
    stage.commit(link, second)
    stage.put()
    assert write_of(stage.heard(link)).low == 4


def test_not_leader_with_a_hint_leads_there_at_once_with_the_same_number() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put()
    first = write_of(stage.heard(link))
    stage.refuse(link, first, NotLeader("b leads", leader="b:1"))
    assert stage.dialled == ["a:1", "b:1"]
    other = stage.accept("b:1", replica=2)
    again = write_of(stage.heard(other))
    assert (again.session, again.seq) == (first.session, first.seq)
    stage.commit(other, again)
    assert ask.error is None
    assert ask.settled


def test_what_is_in_flight_at_the_old_leader_may_still_be_answered_there() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    asks = [stage.put(), stage.put()]
    first, second = stage.heard(link)
    stage.refuse(link, first, NotLeader("b leads", leader="b:1"))
    assert link in stage.open
    stage.commit(link, second)
    assert link not in stage.open
    assert [ask.settled for ask in asks] == [False, True]


def test_a_lost_connection_means_the_same_number_at_the_next_node() -> None:
    stage = Stage("a:1", "b:1")
    link = stage.opened()
    ask = stage.put()
    first = write_of(stage.heard(link))
    stage.drop(link)
    assert not ask.settled
    stage.pass_time(0.2)
    other = stage.accept("b:1", replica=2)
    again = write_of(stage.heard(other))
    assert (again.session, again.seq, again.ops) == (first.session, first.seq, first.ops)
    stage.commit(other, again, duplicate=True)
    assert calls.outcome(ask, calls.read_receipt).duplicate


def test_reads_and_writes_that_were_lost_are_sent_again_in_their_order() -> None:
    stage = Stage("a:1", "b:1")
    link = stage.opened()
    for _ in range(3):
        stage.put()
    stage.get()
    before = [request.id for request in stage.heard(link)]
    stage.drop(link)
    stage.pass_time(0.2)
    other = stage.accept("b:1", replica=2)
    after = [request.id for request in stage.heard(other)]
    assert sorted(after) == sorted(before)
    assert [id for id in after if id != before[-1]] == before[:-1]


def test_the_deadline_after_a_lost_attempt_is_unknown_with_a_token() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put(timeout=1.0)
    write = write_of(stage.heard(link))
    stage.drop(link)
    stage.pass_time(1.1)
    error = error_of(ask)
    assert isinstance(error, OutcomeUnknown)
    assert error.outcome is Outcome.UNKNOWN
    assert error.token == f"{write.session.hex()}:{write.seq}"
    assert parse_token(error.token) == Token(write.session, write.seq)


def test_the_deadline_without_an_answer_is_unknown() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put(timeout=1.0)
    stage.heard(link)
    stage.pass_time(1.1)
    assert isinstance(error_of(ask), OutcomeUnknown)


def test_the_deadline_of_what_was_never_sent_is_unavailable_and_says_what_each_node_did() -> None:
    stage = Stage("a:1", "b:1")
    ask = stage.put(timeout=1.0)
    for _ in range(4):
        stage.play()
        for link in list(stage.open):
            stage.drop(link)
        stage.pass_time(0.2)
    stage.pass_time(1.0)
    error = error_of(ask)
    assert isinstance(error, Unavailable)
    assert error.outcome is Outcome.ROLLED_BACK
    assert error.details["nodes"] == {"a:1": "reset", "b:1": "reset"}


def test_the_deadline_after_nothing_but_refusals_is_that_refusal_and_definite() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put(timeout=1.0)
    refused = 0
    for _ in range(30):
        for request in stage.heard(link):
            stage.refuse(link, request, ReadOnly("no quorum", leader="a:1"))
            refused += 1
        stage.pass_time(0.05)
    error = error_of(ask)
    assert isinstance(error, ReadOnly)
    assert error.outcome is Outcome.ROLLED_BACK
    assert refused > 4


def test_a_write_whose_session_could_not_be_opened_has_the_refusal_of_that() -> None:
    stage = Stage("a:1")
    ask = stage.put(timeout=1.0)
    link = stage.accept("a:1")
    for _ in range(30):
        for request in stage.heard(link):
            stage.refuse(link, request, NotLeader("no leader"))
        stage.pass_time(0.05)
    error = error_of(ask)
    assert isinstance(error, NotLeader)
    assert error.outcome is Outcome.ROLLED_BACK


def test_waits_between_attempts_grow_and_stay_below_a_fifth_of_a_second() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    stage.get(timeout=60.0)
    waits = []
    for _ in range(12):
        (request,) = stage.heard(link)
        stage.refuse(link, request, ReadOnly("no quorum", leader="a:1"))
        waits.append(stage.core.wake_at() - stage.now)
        stage.pass_time(waits[-1])
    assert 0.0025 <= waits[0] <= 0.005
    assert all(wait <= 0.2 for wait in waits)
    assert waits[-1] >= 0.1


@pytest.mark.parametrize("error", [QuorumTimeout("too late"), Conflict("somebody else")])
def test_a_definite_answer_goes_to_the_caller_and_the_next_write_has_a_new_number(
    error: QsyncError,
) -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put()
    first = write_of(stage.heard(link))
    stage.refuse(link, first, error)
    assert type(error_of(ask)) is type(error)
    stage.put()
    assert write_of(stage.heard(link)).seq == first.seq + 1


def test_the_node_saying_unknown_is_asked_again_with_the_same_number() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put()
    first = write_of(stage.heard(link))
    stage.refuse(link, first, OutcomeUnknown("deposed"))
    stage.pass_time(0.3)
    again = write_of(stage.heard(link))
    assert again.seq == first.seq
    stage.refuse(link, again, QuorumTimeout("rolled back after all"))
    assert isinstance(error_of(ask), QuorumTimeout)


def test_a_refusal_where_an_attempt_was_lost_proves_nothing_about_that_attempt() -> None:
    """The lost attempt may still lie unread in the same node's socket."""
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put()
    stage.heard(link)
    stage.drop(link)
    stage.pass_time(0.2)
    link = stage.accept("a:1")
    stage.refuse(link, write_of(stage.heard(link)), Conflict("no"))
    assert isinstance(error_of(ask), OutcomeUnknown)


def test_a_refusal_by_another_node_proves_no_more_about_an_attempt_that_was_lost() -> None:
    """The node that may still have it can lead again, and do it then."""
    stage = Stage("a:1", "b:1")
    link = stage.opened()
    ask = stage.put()
    write = write_of(stage.heard(link))
    stage.drop(link)
    stage.pass_time(0.2)
    other = stage.accept("b:1", replica=2)
    stage.refuse(other, write_of(stage.heard(other)), Conflict("no"))
    error = error_of(ask)
    assert isinstance(error, OutcomeUnknown)
    assert error.token == f"{write.session.hex()}:{write.seq}"
    assert "CONFLICT" in error.message


def test_a_cut_is_the_fate_of_an_attempt_and_the_request_is_asked_for_again() -> None:
    stage = Stage("a:1", "b:1")
    link = stage.opened()
    ask = stage.put()
    first = write_of(stage.heard(link))
    stage.refuse(link, first, OutcomeUnknown("cut off", details={CUT: True}))
    assert not ask.settled
    stage.pass_time(0.2)
    again = write_of(stage.heard(link))
    assert again.seq == first.seq
    stage.refuse(link, again, Conflict("no"))
    assert isinstance(error_of(ask), Conflict)  # the only other attempt is gone for good


def test_a_cut_of_the_only_attempt_is_definite_when_there_is_no_time_for_another() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put(timeout=0.001)
    write = write_of(stage.heard(link))
    stage.refuse(link, write, OutcomeUnknown("cut off", details={CUT: True}))
    stage.pass_time(0.1)
    assert isinstance(error_of(ask), RolledBack)


def test_a_cut_is_not_the_end_while_another_attempt_is_in_doubt() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put(timeout=1.0)
    stage.heard(link)
    stage.drop(link)
    stage.pass_time(0.2)
    link = stage.accept("a:1")
    again = write_of(stage.heard(link))
    stage.refuse(link, again, OutcomeUnknown("cut off", details={CUT: True}))
    stage.pass_time(2.0)
    assert isinstance(error_of(ask), OutcomeUnknown)


TOKEN = "ab" * 16 + ":5"


@pytest.mark.parametrize(
    "error", [Conflict("no"), SyncQueueFull("full"), AccessDenied("you?"), NotLeader("not me")]
)
@pytest.mark.parametrize("direct", [False, True])
def test_no_refusal_is_definite_about_a_token_from_elsewhere(
    error: QsyncError, *, direct: bool
) -> None:
    stage = Stage("a:1", direct=direct)
    ask = stage.put(token=TOKEN, timeout=1.0)
    link = stage.accept("a:1")
    for _ in range(40):
        for request in stage.heard(link):
            stage.refuse(link, request, error)
        stage.pass_time(0.05)
    assert isinstance(error_of(ask), OutcomeUnknown)
    assert error_of(ask).details["token"] == TOKEN


@pytest.mark.parametrize("direct", [False, True])
def test_a_token_is_unknown_when_nobody_answers(*, direct: bool) -> None:
    stage = Stage("a:1", direct=direct)
    ask = stage.put(token=TOKEN, timeout=1.0)
    stage.drop(stage.link("a:1"))
    stage.pass_time(3.0)
    assert isinstance(error_of(ask), OutcomeUnknown)


@pytest.mark.parametrize("error", [RolledBack("on a quorum"), QuorumTimeout("too late")])
def test_a_rollback_that_is_on_a_quorum_is_definite_about_a_token(error: QsyncError) -> None:
    stage = Stage("a:1")
    ask = stage.put(token=TOKEN)
    link = stage.accept("a:1")
    stage.refuse(link, write_of(stage.heard(link)), error)
    assert error_of(ask) is not None
    assert type(error_of(ask)) is type(error)


def test_a_token_of_the_own_session_is_never_given_another_number() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    lost = stage.put(timeout=1.0)
    stage.heard(link)
    stage.pass_time(1.1)
    ask = stage.put(token=str(error_of(lost).details["token"]))
    stage.refuse(link, write_of(stage.heard(link)), SessionExpired("ttl"))
    assert error_of(ask).outcome is Outcome.UNKNOWN


def test_who_is_shut_out_at_one_door_still_waits_for_the_answer_behind_another() -> None:
    stage = Stage("a:1", "b:1")
    link = stage.opened()
    asks = [stage.put(), stage.put()]
    first, second = stage.heard(link)
    stage.refuse(link, first, NotLeader("b leads", leader="b:1"))
    other = stage.link("b:1")
    stage.core.dialled(other, stage.now)
    greeting = Greeting(cluster=CLUSTER, instance="i", replica=Replica(2), name="n")
    stage.core.received(other, Acceptor(greeting).refuse(AccessDenied("who?")), stage.now)
    assert isinstance(error_of(asks[0]), AccessDenied)
    assert not asks[1].settled
    stage.commit(link, second)
    assert asks[1].error is None


def test_a_full_queue_is_definite_unless_an_attempt_was_lost_before() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put()
    stage.refuse(link, write_of(stage.heard(link)), SyncQueueFull("full"))
    assert isinstance(error_of(ask), SyncQueueFull)
    ask = stage.put()
    stage.heard(link)
    stage.drop(link)
    stage.pass_time(1.0)
    link = stage.accept("a:1")
    stage.refuse(link, write_of(stage.heard(link)), SyncQueueFull("full"))
    assert error_of(ask).outcome is Outcome.UNKNOWN


def test_resolve_sends_the_very_same_write_again() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put(timeout=1.0)
    first = write_of(stage.heard(link))
    stage.pass_time(1.1)
    token = parse_token(str(error_of(ask).details["token"]))
    again = stage.core.resolve(token, now=stage.now, deadline=stage.now + 10)
    sent = write_of(stage.heard(link))
    assert (sent.session, sent.seq, sent.ops) == (first.session, first.seq, first.ops)
    stage.commit(link, sent, duplicate=True)
    assert calls.outcome(again, calls.read_receipt).duplicate


def test_low_waits_for_an_unresolved_write_but_not_for_ever() -> None:
    numbering = Numbering(random.Random(1))
    write = numbering.assign(WriteRequest(1, b"", 0, 0, 0, [[6, "s"]]))
    numbering.keep(write)
    numbering.settled(numbering.next_number())
    assert numbering.low == 1
    for _ in range(UNRESOLVED_SPAN_MAX):
        numbering.settled(numbering.next_number())
    assert numbering.low > UNRESOLVED_SPAN_MAX
    assert numbering.again(write.seq) is None


def test_the_text_of_an_unknown_outcome_has_the_token() -> None:
    assert TOKEN in str(OutcomeUnknown("no answer", details={"token": TOKEN}))


def test_a_token_from_elsewhere_is_sent_without_opening_a_session() -> None:
    stage = Stage("a:1")
    ask = stage.put(token="ab" * 16 + ":5")
    link = stage.accept("a:1")
    write = write_of(stage.heard(link))
    assert (write.session, write.seq, write.low) == (b"\xab" * 16, 5, 0)
    stage.refuse(link, write, SessionExpired("long ago"))
    assert isinstance(error_of(ask), SessionExpired)
    assert error_of(ask).outcome is Outcome.UNKNOWN


def test_an_expired_session_is_replaced_when_the_write_surely_never_began() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put()
    first = write_of(stage.heard(link))
    stage.refuse(link, first, SessionExpired("ttl"))
    opening = write_of(stage.heard(link))
    assert opening.ops == [[30, stage.core.numbering.id]]
    stage.commit(link, opening)
    again = write_of(stage.heard(link))
    assert again.session != first.session
    assert again.seq == 1
    stage.commit(link, again)
    assert ask.error is None


def test_an_expired_session_after_a_lost_attempt_is_unknown() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put()
    stage.heard(link)
    stage.drop(link)
    stage.pass_time(0.2)
    link = stage.accept("a:1")
    stage.refuse(link, write_of(stage.heard(link)), SessionExpired("ttl"))
    assert error_of(ask).outcome is Outcome.UNKNOWN


def test_status_teaches_the_other_addresses_and_where_the_leader_is() -> None:
    stage = Stage("a:1")
    ask = stage.get()
    link = stage.accept("a:1", replica=1)
    stage.status(
        link,
        {
            "nodes": [[1, "n1", "a:1"], [2, "n2", "b:1"], [3, "n3", "c:1"]],
            "leader": 2,
            "leader_address": "b:1",
        },
    )
    assert stage.core.wires.route.addresses == ("a:1", "b:1", "c:1")
    assert stage.dialled == ["a:1"]
    stage.get()
    stage.play()
    assert stage.dialled == ["a:1", "b:1"]
    assert not ask.settled


@pytest.mark.parametrize(
    "view", [{}, {"nodes": 5, "leader": "x", "leader_address": 3}, {"nodes": [[], [1, 2], None]}]
)
def test_a_strange_status_does_no_harm(view: dict[str, object]) -> None:
    stage = Stage("a:1")
    ask = stage.get()
    link = stage.accept("a:1")
    stage.status(link, view)
    assert not ask.settled
    assert stage.core.wires.route.addresses == ("a:1",)


def test_overloaded_waits_as_long_as_the_node_says_and_stays_there() -> None:
    stage = Stage("a:1", "b:1")
    link = stage.opened()
    stage.get()
    (request,) = stage.heard(link)
    stage.refuse(link, request, Overloaded("busy", details={"retry_after": 0.5}))
    stage.pass_time(0.45)
    assert stage.heard(link) == []
    stage.pass_time(0.1)
    assert len(stage.heard(link)) == 1


def test_a_node_that_is_silent_is_given_up_for_another_with_the_same_number() -> None:
    stage = Stage("a:1", "b:1")
    link = stage.opened()
    stage.put(timeout=60.0)
    first = write_of(stage.heard(link))
    stage.pass_time(1.3)
    assert link not in stage.open
    other = stage.accept("b:1", replica=2)
    assert write_of(stage.heard(other)).seq == first.seq


def test_a_leader_that_is_silent_is_asked_again_only_briefly_when_others_still_name_it() -> None:
    stage = Stage("a:1", "b:1")
    link = stage.opened()
    stage.put(timeout=60.0)
    first = write_of(stage.heard(link))
    stage.pass_time(1.1)
    other = stage.accept("b:1", replica=2)
    stage.status(other, {})
    for _ in range(2):  # it has not noticed yet
        write = write_of(stage.heard(other))
        assert write.seq == first.seq
        stage.refuse(other, write, NotLeader("follow", leader="a:1"))
        stage.pass_time(0.01)
        assert "a:1" in stage.open.values()
        stage.pass_time(0.2)
    assert write_of(stage.heard(other)).seq == first.seq
    assert stage.dialled.count("b:1") == 1
    # Far away everything takes longer: in the end it gets all the time that it had at first.
    patience = [stage.core.wires.route.patience("a:1")]
    for _ in range(5):
        stage.core.wires.route.silent("a:1")
        patience.append(stage.core.wires.route.patience("a:1"))
    assert patience[-1] == 1.0
    assert patience == sorted(patience)


def test_a_slow_leader_is_not_left_as_long_as_it_says_that_it_leads() -> None:
    stage = Stage("a:1", "b:1")
    link = stage.opened()
    ask = stage.put(timeout=60.0)
    write = write_of(stage.heard(link))
    for _ in range(10):
        stage.pass_time(0.6)
        stage.status(link, {"leader": 1})
    assert link in stage.open
    stage.commit(link, write)
    assert ask.settled
    assert ask.error is None


def test_a_slow_node_that_leads_no_longer_is_left_with_what_it_was_asked() -> None:
    stage = Stage("a:1", "b:1")
    link = stage.opened()
    stage.put(timeout=60.0)
    first = write_of(stage.heard(link))
    stage.pass_time(0.6)
    stage.status(link, {"leader": 0})
    assert link in stage.open
    stage.pass_time(0.5)
    assert link not in stage.open
    other = stage.accept("b:1", replica=2)
    assert write_of(stage.heard(other)).seq == first.seq


def test_a_node_that_was_asked_to_wait_for_news_is_not_silent_meanwhile() -> None:
    stage = Stage("a:1", "b:1")
    link = stage.opened()
    ask = stage.ask(questions.changes(None, None, [], 5.0), timeout=60.0)
    stage.heard(link)
    stage.pass_time(5.4)
    assert link in stage.open
    stage.pass_time(0.7)
    assert link not in stage.open
    assert not ask.settled


def test_a_node_that_does_not_finish_the_handshake_is_given_up() -> None:
    stage = Stage("a:1")
    stage.get()
    first = stage.link("a:1")
    stage.pass_time(1.3)
    assert first not in stage.open
    assert stage.dialled[:2] == ["a:1", "a:1"]


def test_silent_nodes_keep_nobody_from_the_one_that_answers() -> None:
    stage = Stage("a:1", "b:1", "c:1")
    stage.get()
    stage.play()
    assert stage.dialled == ["a:1"]
    stage.pass_time(0.35)
    assert stage.dialled == ["a:1", "b:1", "c:1"]
    link = stage.accept("c:1", replica=3)
    assert len(stage.heard(link)) == 1


def test_an_address_that_refuses_is_followed_by_the_next_at_once() -> None:
    stage = Stage("a:1", "b:1", "c:1")
    stage.get()
    stage.drop(stage.link("a:1"))
    assert stage.dialled == ["a:1", "b:1"]


def test_a_dead_node_is_not_dialled_for_ever_beside_those_that_were_silent_once() -> None:
    stage = Stage("dead:1", "b:1", "c:1")
    ask = stage.get(timeout=60.0)
    for _ in range(60):
        stage.pass_time(0.05)
        for link, address in list(stage.open.items()):
            if address == "dead:1":
                stage.drop(link)
    assert stage.dialled.count("c:1") > 1  # both others have been silent for three seconds
    stage.dialled.clear()
    stage.pass_time(1.5)
    assert {"b:1", "c:1"} <= set(stage.dialled)
    while "c:1" not in stage.open.values():
        stage.pass_time(0.01)
    link = stage.accept("c:1", replica=3)
    assert len(stage.heard(link)) == 1
    assert not ask.settled


def test_who_welcomes_second_is_let_go() -> None:
    stage = Stage("a:1", "b:1")
    stage.get()
    stage.pass_time(0.2)
    first = stage.accept("b:1", replica=2)
    second = stage.accept("a:1")
    assert len(stage.heard(first)) == 1
    assert second not in stage.open


def test_a_leader_far_away_is_home_when_it_welcomes_although_others_were_faster() -> None:
    stage = Stage("a:1", "b:1")
    link = stage.opened()
    stage.put()
    stage.refuse(link, write_of(stage.heard(link)), NotLeader("b leads", leader="b:1"))
    stage.pass_time(0.2)
    assert len(stage.heard(link)) == 1  # nobody else is there yet
    far = stage.accept("b:1", replica=2)
    stage.put()
    assert len(stage.heard(far)) == 1
    assert stage.heard(link) == []


def test_a_client_whose_others_came_second_does_not_call_them_silent() -> None:
    stage = Stage("a:1", "b:1")
    stage.get()
    stage.pass_time(0.2)
    link = stage.accept("b:1", replica=2)
    (request,) = stage.heard(link)
    stage.reply(link, replies.row(request.id, None, read_from=Position(Term(1), Index(1))))
    stage.pass_time(5.0)
    assert "a:1" not in stage.open.values()
    assert stage.core.wires.route.patience("a:1") == 1.0


def test_the_error_says_what_was_met_at_every_address() -> None:
    stage = Stage("a:1", "b:1", "c:1")
    ask = stage.get(timeout=0.4)
    stage.drop(stage.link("a:1"))
    stage.core.dialled(stage.link("b:1"), stage.now)
    stage.pass_time(0.5)
    error = error_of(ask)
    assert type(error) is Unavailable
    assert error.message.startswith("no node answered within 0.4 s (a:1: reset; b:1: silent")
    assert "c:1: silent: it has not accepted the connection" in error.message


def test_nodes_that_answered_are_not_said_to_be_away() -> None:
    stage = Stage("a:1")
    ask = stage.get(timeout=0.4)
    stage.accept("a:1")
    stage.pass_time(0.5)
    error = error_of(ask)
    assert type(error) is Unanswered
    assert "a:1: it is there" in error.message


def test_a_direct_client_is_as_patient_as_it_was_told() -> None:
    stage = Stage("a:1", direct=True)
    ask = stage.get(timeout=8.0)
    stage.pass_time(7.0)
    assert stage.dialled == ["a:1"]
    link = stage.accept("a:1")
    assert len(stage.heard(link)) == 1
    stage.pass_time(2.0)
    assert ask.settled


def test_a_node_of_another_cluster_is_forgotten() -> None:
    stage = Stage("a:1", "b:1")
    link = stage.opened()
    stage.drop(link)
    stage.get()
    stage.pass_time(0.2)
    stage.accept("b:1", replica=2, cluster="c-2")
    assert stage.core.wires.route.addresses == ("a:1",)


def test_garbage_from_a_node_is_a_lost_connection() -> None:
    stage = Stage("a:1", "b:1")
    link = stage.opened()
    ask = stage.get()
    stage.heard(link)
    stage.core.received(link, b"\0\0\0\x05hello", stage.now)
    stage.play()
    assert link not in stage.open
    assert not ask.settled


def test_a_direct_client_follows_nobody_and_repeats_nothing() -> None:
    stage = Stage("a:1", "b:1", direct=True)
    ask, write = stage.get(), stage.put()
    link = stage.accept("a:1")
    request, opening = stage.heard(link)
    stage.refuse(link, request, NotLeader("b", leader="b:1"))
    assert isinstance(error_of(ask), NotLeader)
    stage.refuse(link, opening, NotLeader("b", leader="b:1"))
    assert isinstance(error_of(write), NotLeader)
    assert stage.dialled == ["a:1"]


def test_a_direct_client_whose_node_is_away_hears_so_at_once() -> None:
    stage = Stage("a:1", direct=True)
    asks = [stage.get(), stage.put()]
    stage.drop(stage.link("a:1"))
    assert [type(error_of(ask)) for ask in asks] == [Unavailable, Unavailable]


def test_a_command_that_was_sent_is_never_repeated() -> None:
    stage = Stage("a:1", "b:1")
    link = stage.opened()
    ask = stage.ask(calls.promote(5.0))
    stage.heard(link)
    stage.drop(link)
    assert isinstance(error_of(ask), OutcomeUnknown)


def test_a_tuple_that_cannot_be_sent_is_refused_before_it_gets_a_number() -> None:
    stage = Stage("a:1")
    stage.opened()
    bad = ClientCall(RetryKind.WRITE, lambda id: WriteRequest(id, b"", 0, 0, 0, [[object()]]), str)
    with pytest.raises(WrongTuple):
        stage.ask(bad)
    assert stage.core.numbering.low == 3


def test_only_so_many_are_in_flight_and_the_rest_follows() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    asks = [stage.get() for _ in range(3000)]
    found = stage.heard(link)
    assert len(found) == INFLIGHT_MAX
    for request in found[:100]:
        stage.reply(link, replies.row(request.id, None, read_from=Position(Term(1), Index(1))))
    assert len(stage.heard(link)) == 100
    assert sum(ask.settled for ask in asks) == 100


def test_goodbye_expires_the_session_unless_something_is_unresolved() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    stage.core.close(stage.now)
    assert write_of(stage.heard(link)).ops == [[31, stage.core.numbering.id]]
    assert not stage.open

    stage = Stage("a:1")
    link = stage.opened()
    stage.put(timeout=1.0)
    stage.heard(link)
    stage.pass_time(1.1)
    stage.core.close(stage.now)
    assert stage.heard(link) == []


def test_targets_are_read_in_every_form() -> None:
    assert targets.parse("h").addresses == ("h:3301",)
    assert targets.parse("h:1, i:2,h:1").addresses == ("h:1", "i:2")
    assert targets.parse("qsync://ann@h,i:2/?x=1") == targets.SeedAddresses(
        addresses=("h:3301", "i:2"), user="ann"
    )
    assert targets.parse(["[::1]:5", "::2"]).addresses == ("[::1]:5", "[::2]:3301")
    assert targets.split("[::1]:5") == ("::1", 5)


@pytest.mark.parametrize("wrong", ["", ",", "h:x", "h:0", "h:99999", ":5", "http://h:3301"])
def test_targets_that_are_none_are_refused(wrong: str) -> None:
    with pytest.raises(ConfigError):
        targets.parse(wrong)


@pytest.mark.parametrize(
    "wrong", ["ann:horse@h", "ann:horse@h:1,i", "qsync:/ann:horse@h", "horse@h"]
)
def test_a_password_outside_of_a_url_is_neither_looked_up_nor_shown(wrong: str) -> None:
    with pytest.raises(ConfigError, match="no user and no password in it") as told:
        targets.parse(wrong)
    assert "horse" not in f"{told.value!r} {told.value.hint} {told.value.details}"


@pytest.mark.parametrize("wrong", ["", "xyz:1", "ab", "ab:", ":3", "ab:-1"])
def test_tokens_that_are_none_are_refused(wrong: str) -> None:
    with pytest.raises(ConfigError):
        parse_token(wrong)


def test_an_unknown_consistency_or_wait_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="lease"):
        level_of("eventual", None)
    with pytest.raises(ConfigError, match="submit"):
        calls.write([], calls.Commit(wait="sometimes"))


def test_a_receipt_decodes_its_rows_when_asked() -> None:
    make: Callable[..., Receipt] = Receipt
    receipt = make(term=1, index=2, lsn=2, acks=2, seconds=0.1, raw=(None, cbor2.dumps([1, "x"])))
    assert receipt.row is None
    assert receipt.rows == [None, [1, "x"]]
