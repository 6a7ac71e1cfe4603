"""What those who wait for an answer are told when their client is closed."""

import pytest

from qsync.client import calls
from qsync.client.closed import ClientClosed
from qsync.client.numbering import Token
from qsync.errors import NotLeader, Outcome, OutcomeUnknown
from tests.unit.test_client_core import TOKEN, Stage, error_of, write_of


@pytest.mark.parametrize("heard", [True, False], ids=["heard", "still to be sent"])
def test_a_write_that_was_sent_is_unknown_and_has_a_token(heard: bool) -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put()
    write = write_of(stage.heard(link)) if heard else None
    stage.core.close(stage.now)
    write = write or write_of(stage.heard(link))
    error = error_of(ask)
    assert isinstance(error, OutcomeUnknown)
    assert error.token == str(Token(write.session, write.seq))


def test_a_write_in_doubt_is_unknown_though_it_waits_to_be_sent_again() -> None:
    stage = Stage("a:1")
    stage.drop(stage.opened())
    asked = [stage.put(token=TOKEN), stage.put()]
    stage.core.close(stage.now)
    assert isinstance(error_of(asked[0]), OutcomeUnknown)
    assert isinstance(error_of(asked[1]), ClientClosed)
    assert error_of(asked[1]).outcome is Outcome.ROLLED_BACK


def test_what_was_refused_or_never_sent_was_not_done() -> None:
    stage = Stage("a:1")
    first = stage.put()
    stage.core.close(stage.now)
    assert isinstance(error_of(first), ClientClosed)

    stage = Stage("a:1", "b:1")
    link = stage.opened()
    again = stage.put()
    stage.refuse(link, write_of(stage.heard(link)), NotLeader("another one", leader="b:1"))
    stage.core.close(stage.now)
    assert isinstance(error_of(again), ClientClosed)


def test_reads_end_and_commands_are_unknown() -> None:
    stage = Stage("a:1")
    stage.opened()
    read, command = stage.get(), stage.ask(calls.promote(5.0))
    stage.core.close(stage.now)
    assert isinstance(error_of(read), ClientClosed)
    assert isinstance(error_of(command), OutcomeUnknown)


def test_nothing_is_dialled_or_awaited_any_more() -> None:
    stage = Stage("a:1", "b:1")
    link = stage.opened()
    stage.drop(link)
    stage.put()
    stage.core.close(stage.now)
    stage.play()
    dialled = list(stage.dialled)
    stage.pass_time(60.0)
    assert stage.dialled == dialled
    assert not stage.open
    assert stage.core.wake_at() == float("inf")
