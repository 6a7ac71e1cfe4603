"""A silent connection is dropped, even if requests still wait on it."""

import re

import cbor2
import pytest

from election.messages import Index, Position, Term
from qsync.client import calls, link, links, response_timeout
from qsync.client.pending_request import ANSWER_PATIENCE_S
from qsync.wire import replies
from tests.unit.test_client_core import Stage, error_of, write_of


def test_a_dead_connection_is_left_though_every_call_on_it_ends_sooner() -> None:
    """Its packets vanish, and nobody says so; there is no other node to ask."""
    for alone in (True, False):
        stage = Stage("a:1") if alone else Stage("a:1", "b:1")
        link = stage.opened()
        for _ in range(20):
            ask = stage.get(timeout=0.25)
            stage.pass_time(0.3)
            assert error_of(ask).code in {"UNANSWERED", "UNAVAILABLE"}
            if link not in stage.open:
                break
        assert link not in stage.open
        again = stage.get(timeout=60.0)
        stage.pass_time(1.0)
        home = stage.accept(stage.dialled[-1])
        assert stage.heard(home)
        assert not again.settled


def test_a_dead_connection_is_left_though_there_is_always_a_fresh_call_on_it() -> None:
    stage = Stage("a:1", "b:1")
    link = stage.opened()
    for _ in range(16):
        stage.get(timeout=0.5)
        stage.pass_time(0.25)
    assert link not in stage.open


def test_the_only_node_is_not_left_while_it_says_that_it_is_there() -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put(timeout=60.0)
    write = write_of(stage.heard(link))
    for _ in range(10):
        stage.pass_time(response_timeout.SILENCE_S - 0.2)
        stage.status(link, {"leader": 0})
    assert link in stage.open
    stage.commit(link, write)
    assert ask.error is None


@pytest.mark.parametrize("greeted", [False, True])
def test_a_direct_client_leaves_a_connection_on_which_it_is_never_welcomed(
    *, greeted: bool
) -> None:
    stage = Stage("a:1", direct=True)
    ask = stage.get(timeout=0.4)
    link = stage.greet("a:1") if greeted else stage.link("a:1")
    for _ in range(7):
        stage.pass_time(0.5)
        ask = stage.get(timeout=0.4)
    assert link not in stage.open
    again = stage.accept("a:1")
    assert again != link
    assert len(stage.heard(again)) == 1
    assert not ask.settled


def test_a_direct_client_leaves_a_dead_connection_when_an_answer_is_late() -> None:
    stage = Stage("a:1", direct=True)
    ask = stage.get(timeout=8.0)
    link = stage.accept("a:1")
    stage.heard(link)
    stage.pass_time(7.0)
    assert link in stage.open
    stage.pass_time(2.0)
    assert ask.settled
    assert link not in stage.open


LONG = replies.row(99, cbor2.dumps(["x" * 100_000]), read_from=Position(Term(1), Index(3)))


def test_the_only_node_is_left_though_it_goes_on_behind_half_a_frame() -> None:
    """What it says is taken for the rest of the frame, and never makes it whole."""
    stage = Stage("a:1")
    home = stage.opened()
    ask = stage.get(timeout=60.0)
    stage.play()
    for _ in range(10):
        stage.core.received(home, LONG[:30], stage.now)
        stage.pass_time(0.5)
    assert home not in stage.open
    again = stage.accept("a:1")
    assert stage.heard(again)
    assert not ask.settled


@pytest.mark.parametrize("nodes", [["a:1"], ["a:1", "b:1"]])
def test_an_answer_that_is_long_on_its_way_is_waited_for(nodes: list[str]) -> None:
    """The next node would send it as slowly, from its beginning."""
    stage = Stage(*nodes)
    home = stage.opened()
    ask = stage.get(timeout=60.0)
    (request,) = stage.heard(home)
    answer = replies.row(
        request.id, cbor2.dumps(["x" * 100_000]), read_from=Position(Term(1), Index(3))
    )
    step = link.PROGRESS_BYTES
    for at in range(0, len(answer), step):
        stage.pass_time(0.9)
        stage.core.received(home, answer[at : at + step], stage.now)
    assert stage.dialled == ["a:1"]
    assert calls.outcome(ask, calls.get("s", 1).read) == ["x" * 100_000]


@pytest.mark.parametrize("nodes", [["a:1"], ["a:1", "b:1"]])
def test_a_request_that_is_long_on_its_way_is_waited_for(nodes: list[str]) -> None:
    stage = Stage(*nodes)
    home = stage.opened()
    ask = stage.put(timeout=60.0)
    write = write_of(stage.heard(home))
    for _ in range(30):
        stage.pass_time(0.9)
        links.went_on(stage.core.wires, home, stage.now)
    assert stage.dialled == ["a:1"]
    stage.commit(home, write)
    assert ask.error is None
    stage.put(timeout=60.0)
    stage.play()
    links.went_on(stage.core.wires, home, stage.now)
    stage.pass_time(response_timeout.SILENCE_S + 0.1)
    assert home not in stage.open


def test_an_answer_that_stays_unfinished_is_asked_of_another_node() -> None:
    stage = Stage("a:1", "b:1")
    home = stage.opened()
    stage.get(timeout=60.0)
    stage.play()
    stage.core.received(home, LONG[:50_000], stage.now)
    stage.pass_time(0.9)
    assert home in stage.open
    stage.pass_time(0.2)
    assert home not in stage.open


class BusyStage(Stage):
    """Its process has so much to do that it looks at the time too late."""

    def stand_still(self, seconds: float) -> None:
        self.now += seconds
        self.core.tick(self.now)
        self.play()


def test_what_a_late_process_has_not_read_yet_is_not_silence() -> None:
    """Each one would dial anew, and many in one process would never be done with it."""
    stage = BusyStage("a:1", "b:1")
    ask = stage.get(timeout=60.0)
    stage.play()
    for _ in range(5):
        stage.stand_still(1.5)
    assert (stage.dialled.count("a:1"), stage.dialled.count("b:1")) == (1, 1)
    home = stage.accept("a:1")
    assert stage.heard(home)
    for _ in range(5):
        stage.stand_still(4.0)
    assert home in stage.open
    assert not ask.settled
    assert stage.heard(home) == [], "the answer may be here already"


def test_a_node_that_is_silent_is_left_by_a_process_that_is_always_late() -> None:
    stage = BusyStage("a:1", "b:1")
    stage.get(timeout=600.0)
    home = stage.accept("a:1")
    stage.play()
    for _ in range(round(2 * link.EXCUSED_MAX_S) + 5):  # half of each second it is late
        stage.stand_still(1.0)
    assert home not in stage.open


def test_a_node_that_is_silent_is_left_soon_after_a_late_look() -> None:
    stage = BusyStage("a:1", "b:1")
    stage.get(timeout=60.0)
    home = stage.accept("a:1")
    stage.play()
    stage.stand_still(3600.0)
    assert home in stage.open
    stage.pass_time(links.LATE_MAX_S)
    assert home not in stage.open


def test_a_node_that_is_silent_in_the_handshake_is_told_of_in_words() -> None:
    stage = Stage("a:1")
    ask = stage.get(timeout=5.0)
    for _ in range(20):
        stage.pass_time(0.3)
    message = error_of(ask).message
    assert re.search(r"a:1: silent: it has not accepted the connection within [\d.]+ s", message)


def test_the_time_between_two_calls_makes_no_node_late() -> None:
    """A blocking client looks at nothing then: no look is late, and nobody is waited for longer."""
    stage = Stage("a:1", "b:1")
    home = stage.opened()
    stage.now += 3600.0
    stage.get(timeout=60.0)
    stage.play()
    stage.core.tick(stage.now)
    stage.pass_time(ANSWER_PATIENCE_S)
    assert home not in stage.open
