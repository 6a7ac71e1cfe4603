"""A restore goes back on purpose: what it leaves out is counted, and nothing else is forgiven."""

from dataclasses import replace

import pytest

from admin.checker.verdict import Result
from admin.drills import expectations
from admin.drills.measure import measures
from admin.drills.model import Step
from admin.drills.record import RunEnd, StepRecord
from admin.workload import proof
from admin.workload.history import AnsweredBy, History, HistoryLine, OutcomeType
from admin.workload.proof import Proof
from admin.workload.restored import RestoredPoint, stretches, without_places
from admin.workload.tally import ReceiptPlace, WriteTally
from tests.unit.test_drill_reports import GOOD, recorded

OLD, NEW = 3, 1 << 40
POINT = RestoredPoint(index=11, term=NEW, at=1000)
"""What was confirmed up to index 11 is there; the new cluster is asked from 1000 on."""


class Clients:
    """A history by the hundred: each operation lasts from its moment to the next one."""

    def __init__(self) -> None:
        self.now = 0
        self.history = History(clock=lambda: self.now)
        self.tally = WriteTally()

    def write(self, at: int, number: int, term: int, index: int, *, key: str = "r") -> None:
        """Acknowledged, with its place in the log."""
        process = self._begin(at, "write", number, key)
        told = AnsweredBy(term=term, log_index=index)
        self.history.complete(process, OutcomeType.OK, value=number, told=told)
        self.tally.ack(number, ReceiptPlace(client=1, term=term, index=index), 0.01)

    def read(self, at: int, value: object, *, key: str = "r") -> None:
        process = self._begin(at, "read", None, key)
        self.history.complete(process, OutcomeType.OK, value=value)

    def open_write(self, at: int, number: int) -> int:
        """Nobody answers it for now."""
        return self._begin(at, "write", number, "r")

    def end(self, at: int, process: int, kind: OutcomeType) -> None:
        self.now = at
        self.history.complete(process, kind)

    def _begin(self, at: int, f: str, value: object, key: str) -> int:
        process = self.history.new_process()
        self.now = at
        self.history.invoke(process, f, key=key, value=value)
        self.now = at + 50
        return process

    def prove(self, journal: set[int], *points: RestoredPoint) -> Proof:
        same = {"n1": {"s": "d"}}
        return proof.prove(
            self.tally,
            self.history.lines,
            journal=journal,
            balances={},
            digests=same,
            restored=points,
        )


@pytest.fixture
def clients() -> Clients:
    """Writes 1 and 2 are in the backup, 3 is behind it and was read; then all was destroyed."""
    found = Clients()
    found.write(100, 1, OLD, 10)
    found.write(200, 2, OLD, 11)
    found.write(300, 3, OLD, 12)
    found.read(400, 3)
    return found


def test_what_is_behind_the_point_is_counted_and_what_is_before_it_must_be_there(
    clients: Clients,
) -> None:
    clients.write(1200, 4, NEW, 14)
    whole = clients.prove({1, 2, 4}, POINT)
    assert (whole.lost, whole.left_behind, whole.not_left_behind) == ((), (3,), ())
    assert whole.holds
    assert clients.prove({2, 4}, POINT).lost == (1,)
    assert clients.prove({1, 2}, POINT).lost == (4,), "the new cluster's own writes stay promised"
    assert not clients.prove({1, 2, 3, 4}, POINT).holds, "more is there than was restored"
    assert clients.prove({1, 2, 4}).lost == (3,), "without a restore nothing is forgiven"


@pytest.mark.parametrize(
    ("shown", "result"), [(2, Result.PASS), (3, Result.FAIL), (1, Result.FAIL)]
)
def test_the_restored_cluster_goes_on_with_what_was_written_last_before_the_point(
    clients: Clients, shown: int, result: Result
) -> None:
    clients.read(1100, shown)
    assert clients.prove({1, 2}, POINT).linearity.result is result


def test_the_former_cluster_is_judged_by_itself(clients: Clients) -> None:
    clients.read(500, 1)
    clients.read(1100, 2)
    assert clients.prove({1, 2}, POINT).linearity.result is Result.FAIL


@pytest.mark.parametrize("kind", [OutcomeType.OK, OutcomeType.FAIL])
def test_what_was_unknown_when_all_was_destroyed_is_there_or_not_as_is_found_out_later(
    clients: Clients, kind: OutcomeType
) -> None:
    process = clients.open_write(900, 5)
    clients.read(1100, 5 if kind is OutcomeType.OK else 2)
    clients.end(2000, process, kind)
    journal = {1, 2, 5} if kind is OutcomeType.OK else {1, 2}
    assert clients.prove(journal, POINT).linearity.result is Result.PASS


def test_an_unknown_write_may_have_been_seen_before_it_was_lost_for_good(clients: Clients) -> None:
    process = clients.open_write(450, 5)
    clients.read(600, 5)
    clients.read(1100, 2)
    clients.end(2000, process, OutcomeType.FAIL)
    assert clients.prove({1, 2}, POINT).linearity.result is Result.PASS


def test_a_second_restore_leaves_out_more(clients: Clients) -> None:
    clients.write(1200, 4, NEW, 14)
    clients.write(1300, 6, NEW, 15)
    again = RestoredPoint(index=14, term=NEW << 1, at=2000)
    clients.read(2100, 4)
    found = clients.prove({1, 2, 4}, POINT, again)
    assert found.left_behind == (3, 6)
    assert found.holds


def test_evidence_names_no_places_of_a_log_that_is_gone(clients: Clients) -> None:
    clients.write(1200, 4, NEW, 14)
    told = without_places(stretches(clients.history.lines, [POINT])[-1], POINT)
    ends = [each for each in told if each.type is OutcomeType.OK]
    assert [(each.value, each.log_index) for each in ends] == [(1, None), (2, None), (4, 14)]


def lines() -> tuple[HistoryLine, ...]:
    """Acknowledged at 101.5, at 101.9 behind the point, at 104 by the restored cluster."""
    clients = Clients()
    for at, number, term, index in ((101.5, 1, OLD, 11), (101.9, 2, OLD, 12), (104.0, 3, NEW, 13)):
        clients.write(int(at * 1e9) - 50, number, term, index)
    return tuple(clients.history.lines)


def test_the_loss_is_a_measure_and_the_pause_of_the_clients_is_no_shorter_gap() -> None:
    verbs = [("destroy", 102.0, 102.2), ("pause_load", 102.2, 102.3), ("restore", 102.3, 103.0)]
    steps = [
        StepRecord(text=verb, verb=verb, begun=begun, ended=ended)
        for verb, begun, ended in [*verbs, ("resume_load", 103.1, 103.1), ("wait", 103.1, 105.0)]
    ]
    point = RestoredPoint(index=11, term=NEW, at=int(102.3e9))
    told = replace(GOOD, left_behind=(2,))
    run = replace(recorded(), steps=tuple(steps), lines=lines(), restored=(point,), proof=told)
    found = measures(run)
    assert found["left_behind"] == 1
    assert found["rpo"] == pytest.approx(102.0 - 101.9)
    assert found["paused"] == pytest.approx(0.8)
    assert found["gap"] == pytest.approx(104.0 - 101.9)
    drill = replace(run.drill, method=(Step(verb="destroy"), Step(verb="restore")))
    judged = expectations.judge(
        replace(run, drill=replace(drill, expect=replace(drill.expect, limits={})))
    )
    assert judged.end is RunEnd.PASSED
    assert (
        "1 acknowledged writes after the backup are lost, the first 0.100 s old" in judged.sentence
    )
    more = replace(run, drill=drill, proof=replace(told, not_left_behind=(2,)))
    (exact,) = [e for e in expectations.judge(more).findings if e.name == "restored_exactly"]
    assert not exact.met
    assert exact.why == ("missing: none; behind the point and there: 2",)


def test_where_nothing_is_restored_nobody_is_asked_whether_it_was_exact() -> None:
    assert "restored_exactly" not in expectations.checks(recorded().drill)
    assert measures(recorded())["rpo"] is None
