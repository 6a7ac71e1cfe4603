"""What a client asks, and concludes, of a write of which another attempt may be done."""

from qsync.errors import RECORDED, Conflict, DuplicateKey, Outcome
from qsync.wire.verbs import WriteFlags
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
