"""Calls that an exception ends, such as Ctrl-C, a timeout of a signal, or a cancelled scope."""

import itertools
import math
import random
import sys
from collections.abc import Iterator
from typing import Final

import cbor2
import pytest
from typing_extensions import override

from election.messages import Index, Position, Term
from qsync.client import calls, operations
from qsync.client.blocking import Client
from qsync.client.numbering import Numbering, Token, parse_token
from qsync.client.options import WINDOW
from qsync.client.pending_request import PendingRequest, RetryKind
from qsync.client.sync.core_client import CoreClient
from qsync.data.operation_kinds import Op
from qsync.errors import OutcomeUnknown, Overloaded, SessionExpired, Unavailable
from qsync.wire import replies
from qsync.wire.verbs import WriteFlags, WriteRequest
from tests.unit.interruptions import at_line, interrupt
from tests.unit.test_client_core import Stage, write_of

INSERT: Final = [[Op.INSERT, "s", cbor2.dumps([2, "x"])]]


class Interrupted(CoreClient):
    """A client whose calls are interrupted before anything was sent."""

    @override
    def _settle(self, ask: PendingRequest) -> None:
        sys.settrace(None)  # one interruption is enough
        raise KeyboardInterrupt

    @override
    def _flush(self) -> None:
        """There is nothing to be sent to."""

    @override
    def _reader(self) -> Client:
        raise AssertionError


def test_an_interrupted_call_that_was_not_sent_is_not_sent_by_the_next_one() -> None:
    stage = Stage("a:1")
    db = Interrupted(stage.core, timeout=10.0)
    tx = db.transaction()
    tx.space("s").replace([1, "x"])
    with pytest.raises(KeyboardInterrupt):
        tx.commit()
    with pytest.raises(KeyboardInterrupt):
        db.space("s").get(1)
    assert tx.token is None
    link = stage.accept("a:1")
    kept = stage.put()
    stage.commit(link, stage.heard(link)[0])  # of the session
    (write,) = stage.heard(link)
    stage.commit(link, write)
    assert kept.error is None
    assert kept.answer is not None


def test_a_write_that_was_withdrawn_before_it_was_sent_is_never_sent() -> None:
    """Its caller was interrupted, and may believe that nothing was done."""
    stage = Stage("a:1")
    stage.put().withdraw()
    link = stage.accept("a:1")
    kept = stage.put()
    stage.commit(link, stage.heard(link)[0])  # of the session
    stage.commit(link, write_of(stage.heard(link)))
    assert kept.error is None
    stage.pass_time(60.0)
    assert stage.heard(link) == []
    assert stage.core.numbering.low == 3, "its number waits for nothing"


def test_the_number_of_a_withdrawn_write_is_free_long_before_its_deadline() -> None:
    """A node keeps the outcomes behind it until then, and takes no writes when it has too many."""
    stage = Stage("a:1")
    stage.put(timeout=math.inf).withdraw()
    link = stage.accept("a:1")
    kept = stage.put()
    stage.commit(link, stage.heard(link)[0])  # of the session
    stage.commit(link, write_of(stage.heard(link)))
    assert kept.error is None
    stage.put()
    assert write_of(stage.heard(link)).low == 3


@pytest.mark.parametrize("reached", [False, True])
def test_nothing_is_kept_of_a_request_that_was_withdrawn(reached: bool) -> None:
    stage = Stage("a:1")
    asks = [stage.put(timeout=math.inf), stage.get(timeout=math.inf)]
    for ask in asks:
        ask.withdraw()
    if reached:
        stage.accept("a:1")
    stage.pass_time(2.0)
    ended = [ask for ask in asks if ask.error is not None]
    assert ended == asks


def test_an_interruption_that_begins_anew_forgets_no_withdrawn_request() -> None:
    stage = Stage("a:1")
    ask = stage.put(timeout=math.inf)
    ask.withdraw()
    stage.core.restart(stage.now)
    stage.now += 1.0
    kept = stage.put()
    link = stage.accept("a:1")
    stage.commit(link, stage.heard(link)[0])  # of the session
    stage.commit(link, write_of(stage.heard(link)))
    assert kept.error is None
    assert ask.error is not None


def test_a_client_that_ends_is_not_kept_from_ending_its_session_by_a_withdrawn_request() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    stage.core.wires.pace.failed(stage.now)  # nothing is sent for a moment
    stage.put().withdraw()
    stage.core.close(stage.now)
    assert write_of(stage.heard(link)).ops[0][0] == Op.EXPIRE_SESSION


def test_many_writes_that_are_interrupted_are_not_sent_by_the_next_call() -> None:
    stage = Stage("a:1")
    db = Interrupted(stage.core, timeout=10.0)
    with pytest.raises(KeyboardInterrupt):
        db.space("s").replace_many([[1, "x"], [2, "x"]], window=1)
    with pytest.raises(KeyboardInterrupt):
        db.space("s").replace_many(sources_of_ctrl_c())
    link = stage.accept("a:1")
    kept = stage.put()
    stage.commit(link, stage.heard(link)[0])  # of the session
    stage.commit(link, write_of(stage.heard(link)))
    assert kept.error is None
    assert stage.heard(link) == []


def sources_of_ctrl_c() -> Iterator[list[object]]:
    """Rows, and Ctrl-C after some of them are begun."""
    yield from ([number, "x"] for number in range(WINDOW))
    raise KeyboardInterrupt


@pytest.mark.parametrize("how", ["lost", "refused", "begun anew"])
def test_a_read_whose_caller_has_gone_is_not_asked_once_more(how: str) -> None:
    """A cluster that just came back, or has too much to do, would work for nobody."""
    stage = Stage("a:1")
    gone = stage.get(timeout=math.inf)
    link = stage.accept("a:1")
    (request,) = stage.heard(link)
    if how == "refused":
        stage.refuse(link, request, Overloaded("too much to do"))
        assert not gone.settled
    gone.withdraw()
    if how == "lost":
        stage.drop(link)
    elif how == "begun anew":
        stage.core.restart(stage.now)
    kept = stage.get()
    stage.pass_time(1.0)
    if how != "refused":
        link = stage.accept("a:1")
    (request,) = stage.heard(link)
    assert request.id == kept.id
    assert isinstance(gone.error, Unavailable), "nothing is kept of it"


def test_the_late_answer_to_a_read_whose_caller_has_gone_is_nobodys() -> None:
    stage = Stage("a:1")
    gone = stage.get(timeout=math.inf)
    link = stage.accept("a:1")
    (late,) = stage.heard(link)
    gone.withdraw()
    kept = stage.get()
    (request,) = stage.heard(link)
    place = Position(Term(1), Index(3))
    stage.reply(link, replies.row(late.id, cbor2.dumps([1, "old"]), read_from=place))
    assert gone.answer is None
    assert isinstance(gone.error, Unavailable), "nothing is kept of it"
    assert not kept.settled
    stage.reply(link, replies.row(request.id, cbor2.dumps([1, "new"]), read_from=place))
    assert calls.outcome(kept, calls.get("s", 1).read) == [1, "new"]


def test_a_write_that_was_sent_is_not_withdrawn() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put()
    stage.drop(link)
    ask.withdraw()
    assert not ask.settled
    stage.pass_time(0.3)
    link = stage.accept("a:1")
    stage.commit(link, write_of(stage.heard(link)), duplicate=True)
    assert ask.error is None


def test_the_caller_has_a_request_before_it_can_be_sent() -> None:
    """Else a transaction that was interrupted could be done without a token."""
    stage = Stage("a:1")
    link = stage.opened()
    call = calls.write([operations.replace("s", [1, "x"])])
    seen: list[int] = []

    def begun(_: PendingRequest) -> None:
        seen.append(len(stage.heard(link)))

    stage.core.submit(call.kind, call.make, now=stage.now, deadline=stage.now + 1, begun=begun)
    assert seen == [0]
    assert len(stage.heard(link)) == 1


@pytest.mark.parametrize("answered", [False, True], ids=["before", "after"])
def test_a_write_whose_caller_was_interrupted_is_resolved_later(answered: bool) -> None:
    """Its token is known, so its outcome is kept, though the answer has come."""
    stage = Stage("a:1")
    link = stage.opened()
    ask, write = begun(stage, link)
    if answered:
        stage.commit(link, write)
    stage.core.numbering.abandon(ask)
    if not answered:
        stage.commit(link, write)
    for _ in range(2):
        stage.put()
        later = write_of(stage.heard(link))
        assert later.low == write.seq
        stage.commit(link, later)
    again = stage.core.resolve(token_of(write), now=stage.now, deadline=stage.now + 1)
    assert write_of(stage.heard(link)).ops == write.ops
    stage.core.numbering.abandon(again)
    stage.core.close(stage.now)
    assert stage.heard(link) == [], "its session goes on"


def test_calls_that_are_interrupted_keep_the_write_of_a_token() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    db = Interrupted(stage.core, timeout=10.0)
    tx = db.transaction()
    tx.space("s").insert([2, "x"])
    with pytest.raises(KeyboardInterrupt):
        tx.commit()
    write = write_of(stage.heard(link))
    stage.commit(link, write)
    assert tx.token == str(token_of(write))
    with pytest.raises(KeyboardInterrupt):
        db.resolve(tx.token)
    stage.commit(link, write_of(stage.heard(link)), duplicate=True)
    assert stage.core.numbering.low == write.seq


class AnsweredBeside(Interrupted):
    """A client whose caller is cancelled, and runs again when others have written."""

    def __init__(self, stage: Stage, link: int) -> None:
        super().__init__(stage.core, timeout=10.0)
        self.stage, self.link = stage, link

    @override
    def _settle(self, ask: PendingRequest) -> None:
        self.stage.commit(self.link, write_of(self.stage.heard(self.link)))
        self.stage.put()
        raise KeyboardInterrupt


def test_a_write_is_kept_for_a_caller_that_is_cancelled_while_the_answer_comes() -> None:
    """Until the caller has the outcome, no later write lets the node forget it."""
    stage = Stage("a:1")
    link = stage.opened()
    tx = AnsweredBeside(stage, link).transaction()
    tx.space("s").insert([2, "x"])
    with pytest.raises(KeyboardInterrupt):
        tx.commit()
    later = write_of(stage.heard(link))
    assert tx.token == str(Token(later.session, later.seq - 1))
    assert later.low == later.seq - 1
    again = stage.core.resolve(parse_token(tx.token), now=stage.now, deadline=stage.now + 1)
    assert isinstance(again.request, WriteRequest)
    assert again.request.ops[0][0] == Op.INSERT


def test_a_withdrawn_write_gets_no_token_when_its_session_is_opened() -> None:
    """No token means that nothing was sent, whenever one looks."""
    stage = Stage("a:1")
    tx = Interrupted(stage.core, timeout=10.0).transaction()
    tx.space("s").insert([2, "x"])
    with pytest.raises(KeyboardInterrupt):
        tx.commit()
    link = stage.accept("a:1")
    stage.put()
    stage.commit(link, stage.heard(link)[0])  # of the session
    stage.commit(link, write_of(stage.heard(link)))
    assert tx.token is None
    assert stage.core.numbering.low == 3


def test_a_client_that_begins_anew_asks_again_what_was_sent() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put()
    write = write_of(stage.heard(link))
    stage.core.restart(stage.now)
    stage.pass_time(1.0)
    link = stage.accept("a:1")
    again = write_of(stage.heard(link))
    assert (again.session, again.seq) == (write.session, write.seq)
    assert again.flags & WriteFlags.DOUBTED
    stage.commit(link, again, duplicate=True)
    assert ask.error is None


def test_a_client_that_begins_anew_opens_its_session_again() -> None:
    stage = Stage("a:1")
    ask = stage.put()
    assert len(stage.heard(stage.accept("a:1"))) == 1, "the opening"
    stage.core.restart(stage.now)
    stage.pass_time(1.0)
    link = stage.accept("a:1")
    stage.commit(link, write_of(stage.heard(link)))
    write = write_of(stage.heard(link))
    assert write.session == stage.core.numbering.id
    stage.commit(link, write)
    assert ask.error is None


def test_what_is_resolved_is_not_kept_any_more() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask, write = begun(stage, link)
    stage.commit(link, write)
    stage.core.numbering.abandon(ask)
    again = stage.core.resolve(token_of(write), now=stage.now, deadline=stage.now + 1)
    stage.commit(link, write_of(stage.heard(link)), duplicate=True)
    assert stage.core.numbering.low == write.seq
    stage.core.numbering.note_told(again, known=True)
    assert stage.core.numbering.low == write.seq + 1


def test_a_write_whose_token_nobody_knows_is_not_kept() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    db = Interrupted(stage.core, timeout=10.0)
    with pytest.raises(KeyboardInterrupt):
        db.space("s").replace([1, "x"])
    write = write_of(stage.heard(link))
    stage.commit(link, write)
    assert stage.core.numbering.low == write.seq + 1


@pytest.mark.parametrize("opened", [False, True], ids=["first", "later"])
def test_wherever_a_commit_is_interrupted_what_is_sent_later_has_a_token(opened: bool) -> None:
    """Also while it begins: its caller believes that nothing was sent when there is no token."""
    sent = unsent = 0
    for place in itertools.count(1):
        stage = Stage("a:1")
        link = stage.opened() if opened else None
        tx = Interrupted(stage.core, timeout=10.0).transaction()
        tx.space("s").insert([2, "x"])
        if not at_line(place, tx.commit, interrupt):
            break
        token = tx.token
        stage.put()
        stage.play()
        for unknown in list(stage.open)[:-1]:
            del stage.open[unknown]  # dialled when the interruption came, and again
        link = stage.accept("a:1") if link is None else link
        heard = stage.heard(link)
        if not opened:
            stage.commit(link, heard[0])  # of the session
            heard = stage.heard(link)
        found = [each for each in heard if isinstance(each, WriteRequest) and each.ops == INSERT]
        assert [str(token_of(each)) for each in found] in ([], [token])
        sent += len(found)
        unsent += not found
    assert bool(sent) == opened
    assert unsent


def begun(stage: Stage, link: int) -> tuple[PendingRequest, WriteRequest]:
    """A commit of a transaction, which knows its token."""
    call = calls.write([operations.insert("s", [2, "x"])])
    ask = stage.core.submit(call.kind, call.make, now=stage.now, deadline=stage.now + 1)
    return ask, write_of(stage.heard(link))


def token_of(write: WriteRequest) -> Token:
    """The token of a request."""
    return Token(write.session, write.seq)


def test_a_write_of_a_session_that_ended_is_kept_for_its_caller_under_its_new_number() -> None:
    numbering = Numbering(random.Random(7))
    numbering.opened(numbering.id + bytes(16))
    write = numbering.assign(WriteRequest(1, b"", 0, 0, 0, [operations.replace("s", [1])]))
    ask = PendingRequest(RetryKind.WRITE, write, b"", now=0.0, deadline=9.0)
    numbering.note_token_known(ask)
    again = numbering.reassign(write)
    assert again is not None
    ask.request = again
    numbering.opened(numbering.id + bytes(16))
    numbering.next_number()
    numbering.ended(ask, known=True)
    assert not numbering.is_forgotten(again.seq)
    numbering.note_told(ask, known=True)
    assert numbering.low > again.seq


def test_a_write_of_an_ended_session_is_not_sent_once_more_for_a_caller_without_a_token() -> None:
    """It gets a number of the next session, which has no name yet. Seed 96."""
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put()
    stage.refuse(link, write_of(stage.heard(link)), SessionExpired("ttl"))
    ask.withdraw()
    stage.core.numbering.abandon(ask)
    stage.pass_time(0.3)
    kept = stage.put()
    stage.commit(link, write_of(stage.heard(link)))  # of the session
    stage.commit(link, write_of(stage.heard(link)))
    assert kept.answer is not None
    assert isinstance(ask.error, Unavailable)


def test_a_write_is_kept_for_a_caller_that_is_cancelled_when_it_asks_for_the_outcome() -> None:
    """The first attempt ends with an unknown outcome meanwhile. Seed 7700000227."""
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put(timeout=1.0)
    write, numbering = write_of(stage.heard(link)), stage.core.numbering
    numbering.note_token_known(ask)
    numbering.abandon(ask)
    token = Token(write.session, write.seq)
    question = stage.core.resolve(token, now=stage.now, deadline=stage.now + 9)
    numbering.note_token_known(question)
    (asked,) = stage.heard(link)
    numbering.abandon(question)
    stage.pass_time(1.1)
    assert isinstance(ask.error, OutcomeUnknown)
    stage.commit(link, asked)
    assert question.answer is not None
    stage.put()
    assert write_of(stage.heard(link)).low == write.seq


@pytest.mark.parametrize("renewed", [False, True])
def test_the_token_that_a_cancelled_caller_has_stays_the_token_of_its_write(renewed: bool) -> None:
    """Else it asks for a number that ended, and has no token while the next session has no name.

    `renewed`: when it goes, another write has begun the next session already. Seed 7700000426.
    """
    stage = Stage("a:1")
    link = stage.opened()
    ask, other = stage.put(), stage.put()
    first, second = stage.heard(link)
    assert isinstance(first, WriteRequest)
    if renewed:
        stage.refuse(link, second, SessionExpired("ttl"))
        stage.commit(link, stage.heard(link)[0])  # of the session
        stage.commit(link, write_of(stage.heard(link)))
        assert other.answer is not None
    ask.withdraw()
    stage.core.numbering.abandon(ask)
    stage.refuse(link, first, SessionExpired("ttl"))
    assert isinstance(ask.request, WriteRequest)
    assert (ask.request.session, ask.request.seq) == (first.session, first.seq)
    assert ask.settled
    assert stage.heard(link) == []
