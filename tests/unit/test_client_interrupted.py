"""Calls that an exception ends, such as Ctrl-C, a timeout of a signal, or a cancelled scope."""

import pytest
from typing_extensions import override

from qsync.client import calls, operations
from qsync.client.blocking import Client
from qsync.client.numbering import Token
from qsync.client.pending_request import PendingRequest
from qsync.client.sync.core_client import CoreClient
from qsync.wire.verbs import WriteRequest
from tests.unit.test_client_core import Stage, write_of


class Interrupted(CoreClient):
    """A client whose calls are interrupted before anything was sent."""

    @override
    def _settle(self, ask: PendingRequest) -> None:
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


def test_what_is_resolved_is_not_kept_any_more() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask, write = begun(stage, link)
    stage.commit(link, write)
    stage.core.numbering.abandon(ask)
    stage.core.resolve(token_of(write), now=stage.now, deadline=stage.now + 1)
    stage.commit(link, write_of(stage.heard(link)), duplicate=True)
    assert stage.core.numbering.low == write.seq + 1


def test_a_write_whose_token_nobody_knows_is_not_kept() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put()
    write = write_of(stage.heard(link))
    stage.core.numbering.abandon(ask)
    stage.commit(link, write)
    assert stage.core.numbering.low == write.seq + 1


def begun(stage: Stage, link: int) -> tuple[PendingRequest, WriteRequest]:
    """A commit of a transaction, which knows its token."""
    call = calls.write([operations.insert("s", [2, "x"])])
    ask = stage.core.submit(
        call.kind, call.make, now=stage.now, deadline=stage.now + 1, begun=lambda _: None
    )
    return ask, write_of(stage.heard(link))


def token_of(write: WriteRequest) -> Token:
    """The token of a request."""
    return Token(write.session, write.seq)
