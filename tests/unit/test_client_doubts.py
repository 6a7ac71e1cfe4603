"""What a client asks, and concludes, of a write of which another attempt may be done."""

import pytest

from qsync.client.numbering import parse_token
from qsync.error_details import RECORDED
from qsync.errors import (
    Conflict,
    DuplicateKey,
    GivenUp,
    Outcome,
    OutcomeUnknown,
    Overloaded,
    SessionExpired,
)
from qsync.wire.verbs import WriteFlags, WriteRequest
from tests.unit.test_client_core import TOKEN, Stage, error_of, write_of


def test_an_attempt_in_doubt_asks_for_a_record_and_a_recorded_refusal_is_definite() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put()
    first = write_of(stage.heard(link))
    stage.drop(link)
    stage.pass_time(0.2)
    link = stage.accept("a:1")
    again = write_of(stage.heard(link))
    assert again == first._replace(flags=first.flags | WriteFlags.DOUBTED)
    stage.refuse(link, again, Conflict("no", details={RECORDED: True}))
    assert isinstance(error_of(ask), Conflict)
    assert error_of(ask).outcome is Outcome.ROLLED_BACK
    assert not stage.core.numbering.unresolved


def test_a_request_with_a_token_is_in_doubt_from_its_first_attempt_on() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put(token=TOKEN)
    write = write_of(stage.heard(link))
    assert write.flags & WriteFlags.DOUBTED
    stage.refuse(link, write, DuplicateKey("taken", details={RECORDED: True}))
    assert isinstance(error_of(ask), DuplicateKey)


@pytest.mark.parametrize("own", [True, False])
def test_without_the_operation_a_token_is_given_up_in_doubt(own: bool) -> None:
    stage = Stage("a:1")
    link = stage.opened()
    lost = stage.put(timeout=1.0)
    first = write_of(stage.heard(link))
    stage.pass_time(1.1)
    token = parse_token(str(error_of(lost).details["token"]) if own else TOKEN)
    ask = stage.core.resolve(token, now=stage.now, deadline=stage.now + 10, again=False)
    stage.pass_time(0.2)
    sent = write_of(stage.heard(link))
    assert sent == WriteRequest(sent.id, *token, 0, WriteFlags.DOUBTED, [[32]], None, 0, [])
    assert own == (token == (first.session, first.seq))
    stage.refuse(link, sent, GivenUp("not done", details={RECORDED: True}))
    assert isinstance(error_of(ask), GivenUp)


def test_that_a_session_is_not_known_leaves_what_is_resolved_unknown() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.core.resolve(parse_token(TOKEN), now=stage.now, deadline=stage.now + 10)
    stage.refuse(link, write_of(stage.heard(link)), SessionExpired("never heard of"))
    assert error_of(ask).outcome is Outcome.UNKNOWN


def test_writes_that_wait_when_their_session_expires_get_numbers_of_the_new_one() -> None:
    """Else two writes have one number: the second is answered with the receipt of the first."""
    stage = Stage("a:1")
    link = stage.opened()
    asks = [stage.put(), stage.put()]
    waits, ends = stage.heard(link)
    assert isinstance(waits, WriteRequest)
    stage.refuse(link, waits, Overloaded("later"))
    stage.refuse(link, ends, SessionExpired("ttl"))
    numbers: list[tuple[bytes, int]] = []
    stage.pass_time(1.0)
    while not all(ask.settled for ask in asks):
        for request in stage.heard(link):
            assert isinstance(request, WriteRequest)
            if request.session == waits.session:
                stage.refuse(link, request, SessionExpired("ttl"))
            else:
                stage.commit(link, request)
                numbers += [(request.session, request.seq)] if request.seq else []
    asks += [stage.put() for _ in range(3)]
    later = [each for each in stage.heard(link) if isinstance(each, WriteRequest)]
    numbers += [(each.session, each.seq) for each in later]
    assert [seq for _, seq in sorted(numbers)] == [1, 2, 3, 4, 5]
    assert {session for session, _ in numbers} == {stage.core.numbering.id}


def test_a_doubted_write_that_waits_when_its_session_expires_keeps_its_number() -> None:
    """Its first attempt may have taken effect: under another number it would do so again."""
    stage = Stage("a:1")
    link = stage.opened()
    ask, _ = stage.put(), stage.put()
    doubted, ends = stage.heard(link)
    assert isinstance(doubted, WriteRequest)
    stage.refuse(link, doubted, OutcomeUnknown("who knows"))
    stage.refuse(link, ends, SessionExpired("ttl"))
    stage.pass_time(1.0)
    for request in stage.heard(link):
        assert isinstance(request, WriteRequest)
        if request.seq:
            assert (request.session, request.seq) == (doubted.session, doubted.seq)
            stage.refuse(link, request, SessionExpired("ttl"))
        else:
            stage.commit(link, request)
    assert error_of(ask).outcome is Outcome.UNKNOWN
