"""What a client does where a node keeps as many outcomes of its session as it may."""

import random

from qsync.client.numbering import UNRESOLVED_SPAN_MAX, Numbering
from qsync.client.route import DELAY_MIN_S
from qsync.error_details import OUTCOMES_MAX
from qsync.errors import Overloaded
from qsync.wire.verbs import WriteRequest
from tests.unit.test_client_core import Stage, write_of


def test_low_runs_less_far_ahead_where_a_node_keeps_few_outcomes() -> None:
    numbering = Numbering(random.Random(1))
    write = numbering.assign(WriteRequest(1, b"", 0, 0, 0, [[6, "s"]]))
    numbering.keep(write)
    numbering.refused(Overloaded("it is full", details={OUTCOMES_MAX: 8}))
    for _ in range(3):
        numbering.settled(numbering.next_number())
    assert numbering.low == 1
    numbering.settled(numbering.next_number())
    assert numbering.low == 6


def test_a_write_that_a_full_session_refused_lets_it_forget_what_was_answered_meanwhile() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    asks = [stage.put() for _ in range(3)]
    first, second, third = writes = stage.heard(link)
    oldest = write_of([first]).seq
    assert [write_of([each]).low for each in writes] == [oldest] * 3
    stage.commit(link, first)
    stage.commit(link, second)
    stage.refuse(link, third, Overloaded("it is full", details={OUTCOMES_MAX: 2}))
    stage.pass_time(0.3)
    again = write_of(stage.heard(link))
    assert again.seq == again.low == write_of([third]).seq
    stage.commit(link, again)
    assert [ask.error for ask in asks] == [None] * 3


def test_a_refused_write_says_what_was_answered_until_it_is_sent_again() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    for _ in range(3):
        stage.put()
    first, second, third = stage.heard(link)
    stage.refuse(link, third, Overloaded("it is full", details={OUTCOMES_MAX: 2}))
    stage.commit(link, first)
    stage.commit(link, second)
    stage.pass_time(0.3)
    again = write_of(stage.heard(link))
    assert again.low == again.seq == write_of([third]).seq


def test_refusals_of_writes_that_were_under_way_together_are_one_failure() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    for _ in range(20):
        stage.put()
    for write in stage.heard(link):
        stage.refuse(link, write, Overloaded("it is full"))
    assert stage.heard(link) == []
    stage.pass_time(DELAY_MIN_S)
    assert len(stage.heard(link)) == 20


def test_a_number_that_lost_its_request_keeps_no_room_for_ever() -> None:
    """An exception of a signal may end a call when it has a number and no request yet."""
    stage = Stage("a:1")
    link = stage.opened()
    orphan = stage.core.numbering.next_number()
    for _ in range(2):
        stage.put()
    waiting, refused = stage.heard(link)
    stage.refuse(link, refused, Overloaded("it is full", details={OUTCOMES_MAX: 2}))
    stage.pass_time(0.3)
    again = write_of(stage.heard(link))
    assert again.seq == write_of([refused]).seq
    assert again.low == write_of([waiting]).seq == orphan + 1, "that one is still asked for"


def test_low_passes_a_lost_number_without_a_refusal_too() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    numbering = stage.core.numbering
    orphan = numbering.next_number()
    for _ in range(UNRESOLVED_SPAN_MAX + 2):
        numbering.settled(numbering.next_number())
    assert numbering.low == orphan
    stage.put()
    write = write_of(stage.heard(link))
    assert write.low == write.seq
