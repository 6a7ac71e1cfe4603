"""What a client asks, and concludes, of a write of which another attempt may be done."""

from types import SimpleNamespace
from typing import Any

import pytest

from qsync.client import calls, operations
from qsync.client.numbering import Token, parse_token
from qsync.error_details import RECORDED
from qsync.errors import (
    ConfigError,
    Conflict,
    DuplicateKey,
    ForeignCluster,
    GivenUp,
    LostWrite,
    NotLeader,
    Outcome,
    OutcomeUnknown,
    Overloaded,
    SessionExpired,
    Unavailable,
)
from qsync.sim.kernel import mutants
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


@pytest.mark.parametrize(
    "text",
    ["", "0a1b", "0a1b:", ":7", "0a1b:0", "xyz:7", f"0a1b:{1 << 64}", f"{'0a' * 65}:7"],
)
def test_what_no_node_could_read_is_no_token(text: str) -> None:
    """Such a number was sent, and its refusal shown as one more unknown outcome."""
    with pytest.raises(ConfigError, match="is no token"):
        parse_token(text)
    assert parse_token(f"0a1b:{(1 << 64) - 1}").seq == (1 << 64) - 1


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


@pytest.mark.parametrize("again", [True, False])
def test_a_write_under_way_keeps_its_number_when_its_token_is_resolved_elsewhere(
    again: bool,
) -> None:
    """Its caller went away, and found out by the token. It must not be done under a new number."""
    stage = Stage("a:1", "b:1")
    slow = stage.opened()
    write, _ = stage.put(), stage.get()
    first, read = stage.heard(slow)
    assert isinstance(first, WriteRequest)
    stage.refuse(slow, read, NotLeader("not any more", leader="b:1"))
    link = stage.accept("b:1", replica=2)
    stage.heard(link)
    token = Token(first.session, first.seq)
    resolved = stage.core.resolve(token, now=stage.now, deadline=stage.now + 10, again=again)
    sent = write_of(stage.heard(link))
    assert (sent.session, sent.seq) == token
    if again:
        assert sent.ops == first.ops
        stage.commit(link, sent)
    else:
        stage.refuse(link, sent, GivenUp("not done", details={RECORDED: True}))
    assert resolved.settled
    stage.put()
    later = write_of(stage.heard(link))
    assert later.low > first.seq, "what was resolved need not be remembered"
    stage.commit(link, later)
    stage.refuse(slow, first, NotLeader("not any more"))
    stage.pass_time(0.3)
    late = write_of(stage.heard(link))
    assert (late.session, late.seq) == token
    assert late.low == late.seq
    stage.refuse(link, late, SessionExpired("the number is forgotten"))
    assert error_of(write).outcome is Outcome.UNKNOWN


def test_a_write_under_way_keeps_its_number_when_it_is_asked_again_with_its_token() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    write = stage.put()
    first = write_of(stage.heard(link))
    stage.put(token=str(Token(first.session, first.seq)))
    stage.refuse(link, first, SessionExpired("ttl"))
    assert error_of(write).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("wait", ["submit", "none"])
def test_resolving_a_write_that_was_only_submitted_waits_for_its_outcome(wait: str) -> None:
    stage = Stage("a:1")
    link = stage.opened()
    commit = calls.Commit(is_sync=True, wait=wait)
    lost = stage.ask(calls.write([operations.replace("s", [1, "x"])], commit), timeout=1.0)
    first = write_of(stage.heard(link))
    assert first.flags != WriteFlags.SYNC
    stage.pass_time(1.1)
    token = parse_token(str(error_of(lost).details["token"]))
    stage.core.resolve(token, now=stage.now, deadline=stage.now + 10)
    stage.pass_time(0.2)
    sent = write_of(stage.heard(link))
    assert sent.ops == first.ops
    assert sent.flags == WriteFlags.SYNC | WriteFlags.DOUBTED


@pytest.mark.parametrize("under_way", [False, True])
def test_a_write_that_was_given_up_in_vain_is_done_when_it_is_resolved(under_way: bool) -> None:
    """Nobody heard of the giving up, so who wants the write done after all gets it, or GivenUp."""
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put(timeout=3.0 if under_way else 1.0)
    first = write_of(stage.heard(link))
    token = Token(first.session, first.seq)
    stage.drop(link)
    stage.pass_time(2.0)
    assert ask.settled is not under_way
    deadline = stage.now + 0.5
    asked = stage.core.resolve(token, now=stage.now, deadline=deadline, again=False)
    stage.pass_time(2.0)
    assert isinstance(error_of(asked), OutcomeUnknown)
    assert isinstance(error_of(ask), OutcomeUnknown)
    again = stage.core.resolve(token, now=stage.now, deadline=stage.now + 10)
    stage.commit(stage.accept("a:1"), again.request)
    assert again.error is None
    assert isinstance(again.request, WriteRequest)
    assert again.request.ops == first.ops


def test_a_read_that_was_to_show_a_lost_write_is_not_repeated() -> None:
    stage = Stage("a:1")
    ask = stage.get()
    link = stage.accept("a:1")
    (asked,) = stage.heard(link)
    stage.refuse(link, asked, LostWrite("the receipt names an entry that is not in the log"))
    assert isinstance(error_of(ask), LostWrite)
    stage.pass_time(2.0)
    assert stage.heard(link) == []


def test_a_client_whose_cluster_was_made_anew_at_all_addresses_is_told_so_at_once() -> None:
    stage = Stage("a:1", "b:1")
    link = stage.opened()
    write = stage.put()
    assert stage.heard(link)
    stage.drop(link)
    read, second = stage.get(), stage.get()
    stage.pass_time(0.2)
    stage.accept("b:1", cluster="c-2")
    stage.pass_time(0.2)
    assert not read.settled, "a node of the former cluster may come back at the other one"
    stage.accept("a:1", cluster="c-2")
    for each in (read, second):
        error = error_of(each)
        assert isinstance(error, ForeignCluster)
        assert (error.details, error.retryable) == ({"cluster": "c-2"}, False)
        assert error.hint.startswith("after `qsync recover` or a restore connect anew")
    unknown = error_of(write)
    assert isinstance(unknown, OutcomeUnknown)
    assert "met FOREIGN_CLUSTER: n is of cluster c-2" in unknown.message


def test_a_client_whose_cluster_is_away_is_told_that_another_answers_elsewhere() -> None:
    stage = Stage("a:1", "b:1")
    link = stage.opened()
    write = stage.put(timeout=0.5)
    assert stage.heard(link)
    stage.drop(link)
    read = stage.get(timeout=0.5)
    stage.pass_time(0.2)
    stage.accept("b:1", cluster="c-2")
    stage.pass_time(0.5)
    unknown, away = error_of(write), error_of(read)
    assert isinstance(unknown, OutcomeUnknown)
    assert "another cluster answers at b:1, which knows none of our tokens" in unknown.message
    assert isinstance(away, Unavailable)
    assert away.hint.startswith("another cluster answers at b:1; after `qsync recover`")


def test_who_is_sent_to_a_leader_that_takes_no_clients_is_told_what_was_met_there() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    doubted = stage.put(timeout=1.0)
    assert stage.heard(link)
    stage.drop(link)
    read = stage.get(timeout=1.0)
    stage.pass_time(0.2)
    other = stage.accept("a:1")
    for request in stage.heard(other):
        stage.refuse(other, request, NotLeader("b leads", leader="b:1"))
    stage.pass_time(0.3)
    stage.drop(stage.link("b:1"))
    stage.pass_time(1.0)
    met = "; at b:1, where the leader is: reset"
    assert error_of(read).message == f"b leads{met}"
    assert error_of(doubted).message.endswith(f"; the last attempt met NOT_LEADER{met}")


def staged(mutant: str) -> Stage:
    """A client with that broken rule, or with none."""
    stage = Stage("a:1")
    program: Any = SimpleNamespace(core=stage.core)
    if mutant:
        mutants.CLIENTS[mutant](program)
    return stage


@pytest.mark.pure
@pytest.mark.parametrize("mutant", ["", "under_way_undoubted"])
def test_a_refusal_decides_nothing_while_its_write_is_asked_for(mutant: str) -> None:
    stage = staged(mutant)
    link = stage.opened()
    write = stage.put()
    first = write_of(stage.heard(link))
    token = Token(first.session, first.seq)
    asked = stage.core.resolve(token, now=stage.now, deadline=stage.now + 10)
    second = write_of(stage.heard(link))
    stage.refuse(link, first, Conflict("no"))
    stage.commit(link, second)
    assert asked.error is None
    said = write.error is not None and write.error.outcome is Outcome.ROLLED_BACK
    assert said is bool(mutant)


@pytest.mark.pure
@pytest.mark.parametrize("mutant", ["", "unknown_forgotten"])
def test_what_a_caller_may_ask_for_is_kept_when_it_was_asked_for_in_vain(mutant: str) -> None:
    stage = staged(mutant)
    link = stage.opened()
    write = stage.put()
    stage.core.numbering.note_token_known(write)
    first = write_of(stage.heard(link))
    token = Token(first.session, first.seq)
    asked = stage.core.resolve(token, now=stage.now, deadline=stage.now + 0.2)
    stage.heard(link)
    stage.pass_time(0.3)
    assert isinstance(error_of(asked), OutcomeUnknown)
    stage.commit(link, first)
    assert write.error is None
    stage.put()
    later = write_of(stage.heard(link))
    forgotten = later.low > first.seq
    assert forgotten is bool(mutant)


@pytest.mark.pure
@pytest.mark.parametrize("mutant", ["", "answered_forgotten"])
def test_a_write_is_remembered_until_its_caller_has_the_answer(mutant: str) -> None:
    stage = staged(mutant)
    link = stage.opened()
    write = stage.put()
    stage.core.numbering.note_token_known(write)
    first = write_of(stage.heard(link))
    stage.commit(link, first)
    stage.put()
    later = write_of(stage.heard(link))
    forgotten = later.low > first.seq
    assert forgotten is bool(mutant)


@pytest.mark.pure
@pytest.mark.parametrize("mutant", ["", "left_renumbered"])
def test_a_write_whose_caller_has_gone_with_the_token_gets_no_other_number(mutant: str) -> None:
    stage = staged(mutant)
    link = stage.opened()
    write = stage.put()
    first = write_of(stage.heard(link))
    stage.core.numbering.abandon(write)
    stage.refuse(link, first, SessionExpired("ttl"))
    renumbered = not write.settled
    assert renumbered is bool(mutant)
    assert renumbered or error_of(write).outcome is Outcome.UNKNOWN
