"""Whatever a node says, nobody is told of a write what is not so, and the client goes on."""

import math

import cbor2
import pytest

from qsync.client import calls, feed, local_sockets, questions, rows, targets
from qsync.client.numbering import Token
from qsync.client.pending_request import PendingRequest
from qsync.client.route import HINTS_MAX
from qsync.errors import (
    ConfigError,
    DuplicateKey,
    NotLeader,
    Outcome,
    OutcomeUnknown,
    Overloaded,
    ProtocolError,
    QsyncError,
    SessionExpired,
)
from qsync.wire import limits, replies
from qsync.wire.frames import frame
from qsync.wire.verbs import WriteRequest
from tests.unit.test_client_core import Stage, error_of, write_of
from tests.unit.test_client_search import welcome

NO_ADDRESSES = ["h:" + "1" * 5000, "h" * 300, "a\0b:1", "@"]


@pytest.mark.parametrize("address", [*NO_ADDRESSES, "unix:/tmp/x", "unix:" + "a" * 5000, ""])
def test_only_an_address_of_the_network_is_taken_from_a_node(address: str) -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put()
    stage.refuse(link, write_of(stage.heard(link)), NotLeader("no", leader=address))
    stage.pass_time(0.2)
    stage.drop(link)
    stage.pass_time(0.2)
    link = stage.accept("a:1")
    view = {"nodes": [[2, "n2", address]], "leader": 2, "leader_address": address}
    stage.status(link, view)
    stage.pass_time(0.2)
    assert not ask.settled
    assert stage.core.wires.route.addresses == ("a:1",)
    assert set(stage.dialled) == {"a:1"}


@pytest.mark.parametrize("text", NO_ADDRESSES)
def test_what_can_be_no_address_is_no_target(text: str) -> None:
    with pytest.raises(ConfigError):
        targets.parse(text)


@pytest.mark.parametrize("path", ["a" * 5000, "a\0b"])
def test_what_can_be_no_path_is_no_socket(path: str) -> None:
    found = targets.parse(f"unix:{path}").addresses[0]
    with pytest.raises(ConfigError, match="cannot be looked at"):
        local_sockets.check(found.removeprefix(local_sockets.SCHEME))


@pytest.mark.parametrize("pause", [1e308, 2**1024 - 1, math.inf, math.nan, -5, -(2**1024), "soon"])
def test_no_node_makes_a_client_pause_for_ever(pause: object) -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put(timeout=1)
    details = {"retry_after": pause}
    stage.refuse(link, write_of(stage.heard(link)), Overloaded("busy", details=details))
    stage.pass_time(limits.PAUSE_S_MAX)
    assert error_of(ask).outcome is not Outcome.COMMITTED
    stage.put()
    stage.pass_time(0.2)
    assert stage.heard(link if link in stage.open else stage.accept("a:1"))


def committed(id: int, row: bytes) -> bytes:
    return replies.committed(id, term=1, index=1, lsn=1, acks=1, results=[row], duplicate=False)


def unknown_of(ask: PendingRequest) -> OutcomeUnknown:
    error = error_of(ask)
    assert isinstance(error, OutcomeUnknown)
    return error


@pytest.mark.parametrize("values", [[], ["odd"], [1, 1, 1, 1, [None], 1], [1, 1, 1, 1, [7], False]])
def test_an_answer_to_a_write_that_cannot_be_read_leaves_it_in_doubt(values: list[object]) -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put()
    write = write_of(stage.heard(link))
    stage.reply(link, replies.reply(write.id, *values))
    stage.pass_time(0.2)
    again = stage.accept("a:1")
    (asked,) = stage.heard(again)
    assert isinstance(asked, WriteRequest)
    assert (asked.session, asked.seq) == (write.session, write.seq)
    stage.refuse(again, asked, DuplicateKey("taken"))
    assert unknown_of(ask).token == f"{write.session.hex()}:{write.seq}"
    assert write.seq in stage.core.numbering.unresolved


@pytest.mark.parametrize("id", [b"", b"short", b"x" * 65, 7])
def test_a_session_that_numbers_nothing_is_asked_for_again_at_once(id: object) -> None:
    stage = Stage("a:1")
    ask = stage.put()
    link = stage.accept("a:1")
    opening = write_of(stage.heard(link))
    stage.reply(link, committed(opening.id, cbor2.dumps([id])))
    stage.pass_time(0.2)
    again = stage.accept("a:1")
    asked = write_of(stage.heard(again))
    assert asked.ops == opening.ops
    stage.commit(again, asked)
    stage.commit(again, write_of(stage.heard(again)))
    assert ask.error is None


@pytest.mark.parametrize("direct", [False, True])
def test_an_error_of_a_later_release_with_an_unknown_outcome_has_a_token(*, direct: bool) -> None:
    stage = Stage("a:1", direct=direct)
    link = stage.opened() if not direct else opened_directly(stage)
    ask = stage.put(timeout=1)
    write = write_of(stage.heard(link))
    fields = [write.id, 999, "a new error", "unknown", False, "", None, {}]
    stage.reply(link, frame(cbor2.dumps(fields)))
    stage.pass_time(1)
    assert unknown_of(ask).token == f"{write.session.hex()}:{write.seq}"


def opened_directly(stage: Stage) -> int:
    stage.put()
    link = stage.accept("a:1")
    stage.commit(link, write_of(stage.heard(link)))
    stage.commit(link, write_of(stage.heard(link)))
    return link


def test_a_node_that_leaves_the_token_away_does_not_keep_it_from_the_caller() -> None:
    stage = Stage("a:1", direct=True)
    link = opened_directly(stage)
    ask = stage.put()
    write = write_of(stage.heard(link))
    stage.refuse(link, write, OutcomeUnknown("perhaps"))
    assert unknown_of(ask).token == f"{write.session.hex()}:{write.seq}"


def test_a_tuple_that_cannot_be_read_does_not_undo_its_write() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put()
    stage.reply(link, committed(write_of(stage.heard(link)).id, b"\xff"))
    receipt = calls.outcome(ask, calls.read_receipt)
    for read in (lambda: receipt.row, lambda: receipt.rows, lambda: rows.sequence_value(receipt)):
        with pytest.raises(ProtocolError) as raised:
            read()
        assert raised.value.outcome is Outcome.COMMITTED


@pytest.mark.parametrize(
    "row", [[], ["a", "subscriber", "x", "", 0], ["a", "a new kind", 1, "", 0]]
)
def test_a_consumer_of_a_later_release_is_an_error_of_this_library(row: list[object]) -> None:
    with pytest.raises(QsyncError):
        rows.consumer_in(row)


def told_of_changes(*changes: list[object]) -> PendingRequest:
    """An answer to a feed of the space `s`: these changes, and the log read up to 1."""
    stage = Stage("a:1")
    ask = stage.ask(questions.changes(0, "s", [], 1.0))
    link = stage.accept("a:1")
    (asked,) = stage.heard(link)
    stage.reply(link, replies.reply(asked.id, changes, 1, 1, 512))
    return ask


@pytest.mark.parametrize("time", [2**1024 - 1, -(2**1024), math.nan, math.inf])
def test_a_change_of_no_possible_time_is_an_error_of_this_library(time: float) -> None:
    ask = told_of_changes([1, 1, 1, 1, time, []])
    with pytest.raises(ProtocolError, match="no number"):
        calls.outcome(ask, questions.changes(0, "s", [], 1.0).read)


def test_a_change_without_effects_does_not_end_a_feed_of_a_space() -> None:
    ask = told_of_changes([1, 1, 1, 1, 0.5, []])
    place = feed.cursor("s", None, 0)
    place.took(calls.outcome(ask, place.call(timeout=2.0).read), 0)
    change = place.next()
    assert change is not None
    assert (change.effects, place.ended) == ((), False)


@pytest.mark.parametrize("outcome", ["unknown", "committed"])
def test_a_write_whose_session_met_an_odd_error_was_not_sent(outcome: str) -> None:
    stage = Stage("a:1", direct=True)
    ask = stage.put()
    link = stage.accept("a:1")
    opening = write_of(stage.heard(link))
    fields = [opening.id, 5, "perhaps", outcome, False, "", None, {}]
    stage.reply(link, frame(cbor2.dumps(fields)))
    assert error_of(ask).outcome is Outcome.ROLLED_BACK
    assert "it was not sent: perhaps" in error_of(ask).message


def test_a_write_that_waited_for_its_session_in_vain_was_not_sent() -> None:
    stage = Stage("a:1")
    ask = stage.put(timeout=1)
    link = stage.accept("a:1")
    stage.refuse(link, write_of(stage.heard(link)), OutcomeUnknown("perhaps"))
    stage.pass_time(2)
    assert error_of(ask).outcome is Outcome.ROLLED_BACK
    assert "it was not sent: perhaps" in error_of(ask).message


@pytest.mark.parametrize("number", [NotLeader.number, 999])
def test_an_error_that_says_that_the_write_is_done_is_not_asked_again(number: int) -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put()
    fields = [write_of(stage.heard(link)).id, number, "late", "committed", True, "", None, {}]
    stage.reply(link, frame(cbor2.dumps(fields)))
    assert error_of(ask).outcome is Outcome.COMMITTED


@pytest.mark.parametrize("endless", [False, True])
def test_nodes_that_send_a_client_around_do_not_keep_it_busy(*, endless: bool) -> None:
    stage = Stage("a:1", "b:1")
    ask = stage.put(timeout=1)
    asked = 0
    while not ask.settled:
        stage.pass_time(0.001)
        for link, address in list(stage.open.items()):
            welcome(stage, link)
            other = f"n{asked}:1" if endless else {"a:1": "b:1", "b:1": "a:1"}[address]
            for request in stage.heard(link):
                stage.refuse(link, write_of([request]), NotLeader("no", leader=other))
                asked += 1
    assert isinstance(error_of(ask), NotLeader)
    # Hints first, then doubling pauses of 5 ms and more, and of 50 ms at least in the end.
    assert HINTS_MAX < asked <= HINTS_MAX + 25
    assert len(stage.dialled) <= HINTS_MAX + 25 if endless else stage.dialled == ["a:1", "b:1"]


def test_an_unknown_outcome_is_not_made_definite_by_a_record() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put(timeout=1)
    write = write_of(stage.heard(link))
    details = {"recorded": True}
    stage.reply(link, frame(cbor2.dumps([write.id, 21, "?", "unknown", False, "", None, details])))
    stage.pass_time(2)
    assert unknown_of(ask).token == f"{write.session.hex()}:{write.seq}"


@pytest.mark.parametrize("number", [OutcomeUnknown.number, SessionExpired.number])
@pytest.mark.parametrize("outcome", ["rolled_back", "committed"])
def test_what_is_unknown_by_its_name_is_unknown(number: int, outcome: str) -> None:
    stage = Stage("a:1", direct=True)
    link = opened_directly(stage)
    token = Token(b"elsewhere", 1)
    ask = stage.core.resolve(token, now=stage.now, deadline=stage.now + 1)
    (write,) = stage.heard(link)
    stage.reply(link, frame(cbor2.dumps([write.id, number, "?", outcome, False, "", None, {}])))
    assert error_of(ask).outcome is Outcome.UNKNOWN
