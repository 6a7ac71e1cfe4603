"""From what a drill recorded to its numbers, verdict and reports; undo logs; comparisons."""

import json
import os
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from admin.checker.verdict import Result, Verdict
from admin.drills import comparison, expectations, report
from admin.drills.failures import DrillRuns
from admin.drills.junit import render
from admin.drills.measure import measures
from admin.drills.model import Drill, Expectations, Step
from admin.drills.record import RunEnd, RunRecord, StepRecord, TimelineEvent
from admin.drills.sampling import NodeObservation, ThinnedSamples
from admin.drills.undo_log import UndoLog, UndoStep
from admin.lab import processes
from admin.workload.history import HistoryLine, OutcomeType
from admin.workload.proof import Proof
from qsync.errors import ConfigError
from qsync.status.members import ElectionStatus
from qsync.status.record import NodeStatus

NS = 1_000_000_000
DRILL = Drill(
    name="kill",
    title="Kill <it>",
    hypothesis="It holds.",
    method=(Step(verb="kill", on=("leader",)),),
    expect=Expectations(limits={"rto": 2.0, "back": 1.5, "rpo_lost_acked": 0.0}),
)
GOOD = Proof(
    lost=(),
    rolled_back_visible=(),
    balances={"a": 800},
    balances_expected={"a": 800},
    linearity=Verdict(invariant="L", result=Result.PASS, facts=9),
    replicas_identical=True,
    digests={"n1": {"space": "x"}},
)


def history(*acked: float) -> tuple[HistoryLine, ...]:
    """Writes that took 10 ms each, by the second of their acknowledgement."""
    lines: list[HistoryLine] = []
    for number, at in enumerate(acked):
        for kind, time in ((OutcomeType.INVOKE, at - 0.01), (OutcomeType.OK, at)):
            lines.append(
                HistoryLine(
                    index=len(lines),
                    time=int(time * NS),
                    process=number,
                    type=kind,
                    f="write",
                    key="register 1",
                    value=number,
                )
            )
    return tuple(lines)


def recorded() -> RunRecord:
    """Killed at 102, stood for election at 102.5, won at 102.6, writable at 102.7, acked at 103."""
    return RunRecord(
        drill=DRILL,
        cluster="c",
        version="0",
        nodes=("n1", "n2", "n3"),
        targets={"victim": ("n1",)},
        begun=100.0,
        ended=105.0,
        began_at="2026-01-01T00:00:00+00:00",
        steps=(
            StepRecord(text="wait", verb="wait", begun=100.0, ended=102.0),
            StepRecord(text="kill leader", verb="kill", begun=102.0, ended=102.1, nodes=("n1",)),
            StepRecord(text="until", verb="until", begun=102.1, ended=103.2, label="back"),
            StepRecord(text="heal", verb="heal", begun=104.0, ended=104.5),
        ),
        lines=history(101.5, 101.95, 102.02, 103.0, 103.05, 104.4, 104.8),
        observations=(
            NodeObservation(time=102.0, node="n1", up=True, role="leader", term=1, ro=False),
            NodeObservation(time=102.2, node="n1", up=False),
            NodeObservation(time=102.65, node="n2", up=True, role="leader", term=2, ro=True),
            NodeObservation(time=102.7, node="n2", up=True, role="leader", term=2, ro=False),
        ),
        events=(
            TimelineEvent(time=102.5, node="n2", name="campaign"),
            TimelineEvent(time=102.6, node="n2", name="elected"),
        ),
        terms={1: ("n1",), 2: ("n2",)},
        proof=GOOD,
    )


def test_the_time_without_writes_is_measured_from_the_fault_and_split() -> None:
    found = measures(replace(recorded(), steps=recorded().steps[:3]))
    parts = {name: pytest.approx(found[name]) for name in ("detection", "election", "take_over")}
    assert found["rto"] == pytest.approx(103.0 - 102.02)
    assert found["gap"] == pytest.approx(103.0 - 102.02)
    assert parts == {"detection": 0.48, "election": 0.1, "take_over": 0.1}
    assert found["client"] == pytest.approx(0.3)
    assert found["back"] == pytest.approx(1.2)
    assert found["terms"] == 2


def test_of_what_nodes_say_little_is_kept_and_every_change_of_role() -> None:
    thinned = ThinnedSamples()
    follows, leading = ElectionStatus(state="follower"), ElectionStatus(state="leader")
    one = NodeStatus(id=1, name="n1", uuid="u", listen="a:1", election=follows)
    two = msgspec.structs.replace(one, id=2)
    leads = msgspec.structs.replace(one, election=leading)
    again = msgspec.structs.replace(leads, pid=8)
    seen = [(one, 0.0), (two, 0.01), (one, 0.05), (one, 0.1), (leads, 0.15), (again, 0.16)]
    kept = [thinned.thin(sample, at) for sample, at in [*seen, (again, 0.2), (again, 0.4)]]
    assert [sample is not None for sample in kept] == [
        True,
        True,
        False,
        False,
        True,
        True,
        False,
        True,
    ]


def test_a_gap_up_to_the_end_counts_though_no_write_ends_it() -> None:
    silent = replace(recorded(), lines=history(101.5, 101.9, 102.0))
    found = measures(silent)
    assert found["gap"] == pytest.approx(2.5)
    assert found["p99_after"] is None


def test_a_run_passes_only_when_every_expectation_is_met() -> None:
    slow = expectations.judge(recorded())
    assert slow.end is RunEnd.PASSED
    assert "writes were back after 1.3" in slow.sentence
    strict = replace(DRILL, expect=Expectations(limits={"rto": 0.5}))
    missed = expectations.judge(replace(recorded(), drill=strict))
    assert missed.end is RunEnd.FAILED
    assert [each.name for each in missed.findings if not each.met] == ["rto"]
    assert "rto is 1.3" in missed.sentence


def test_writes_that_went_on_are_not_said_to_be_back_after_nothing() -> None:
    steady = replace(recorded(), lines=history(*[100 + at / 20 for at in range(100)]))
    judged = expectations.judge(steady)
    assert judged.measures["rto"] == 0.0
    assert (
        "passed: writes never stopped for more than 0.1 s, all guarantees held" in judged.sentence
    )


@pytest.mark.parametrize(
    ("broken", "name"),
    [
        (replace(GOOD, replicas_identical=False), "replicas_identical"),
        (replace(GOOD, balances={"a": 799}), "total_conserved"),
        (replace(GOOD, rolled_back_visible=(7,)), "rolled_back_invisible"),
        (replace(GOOD, lost=(3, 4)), "rpo_lost_acked"),
        (
            replace(GOOD, linearity=Verdict(invariant="L", result=Result.UNKNOWN, facts=0)),
            "linearizable",
        ),
    ],
)
def test_each_broken_promise_is_found(broken: Proof, name: str) -> None:
    judged = expectations.judge(replace(recorded(), proof=broken))
    assert judged.end is RunEnd.FAILED
    assert name in [each.name for each in judged.findings if not each.met]


def test_two_leaders_in_one_term_are_found() -> None:
    judged = expectations.judge(replace(recorded(), terms={2: ("n1", "n2")}))
    (found,) = (each for each in judged.findings if not each.met)
    assert found.name == "one_leader_per_term"
    assert found.why == ("term 2: n1, n2",)


def test_a_run_that_was_never_checked_does_not_pass() -> None:
    judged = expectations.judge(replace(recorded(), proof=None))
    assert judged.end is RunEnd.FAILED


def test_the_three_reports_say_the_same(tmp_path: Path) -> None:
    judged = expectations.judge(replace(recorded(), proof=replace(GOOD, lost=(41, 42))))
    report.write(judged, tmp_path)
    found = report.load(tmp_path)
    assert found["lost"] == [41, 42]
    assert found["verdict"] == "failed"
    page = (tmp_path / "report.html").read_text()
    text = (tmp_path / "report.md").read_text()
    assert judged.sentence in text
    assert "Kill &lt;it&gt;" in page
    assert "41, 42" in page
    assert "41, 42" in text
    assert "http" not in page.replace("http-equiv", "")
    assert "n2 leads term 2" in page
    (tmp_path / "report.json").write_text("{}")
    with pytest.raises(ConfigError, match="is not a drill report"):
        report.load(tmp_path)


def test_junit_has_a_case_for_each_expectation_and_fails_those_that_were_missed() -> None:
    judged = expectations.judge(replace(recorded(), proof=replace(GOOD, lost=(1,))))
    (suite,) = ET.fromstring(render([judged]))
    assert int(suite.get("tests", "")) == len(judged.findings) + 1
    assert [case.get("name") for case in suite if len(case)] == ["rpo_lost_acked"]


def test_a_regression_is_what_grew_beyond_the_threshold(tmp_path: Path) -> None:
    for name, times in (("before", (1.0, 1.1, 1.2)), ("after", (1.6, 1.7, 1.1))):
        for number, rto in enumerate(times):
            place = tmp_path / name / str(number)
            place.mkdir(parents=True)
            found = report.as_json(expectations.judge(recorded()))
            found["measures"] = {"rto": rto, "unknown": 2, "client": None}
            (place / "report.json").write_text(json.dumps(found))
    before, after = (comparison.read_series(tmp_path / each) for each in ("before", "after"))
    rows = comparison.compare(before, after, 0.25)
    assert {each.name: each.worse for each in rows} == {"rto": True, "unknown": False}
    assert rows[0].before == pytest.approx(1.1)
    assert not any(each.worse for each in comparison.compare(before, after, 0.5))
    with pytest.raises(ConfigError, match="no drill report"):
        comparison.read_series(tmp_path)


def test_a_run_that_did_not_pass_is_worse_than_one_that_did(tmp_path: Path) -> None:
    for name, lost in (("before", ()), ("after", (41,))):
        run = replace(recorded(), proof=replace(GOOD, lost=lost), terms={1: ("n1",)})
        place = tmp_path / name
        place.mkdir()
        found = report.as_json(expectations.judge(run)) | {"measures": {"rto": 1.0}}
        (place / "report.json").write_text(json.dumps(found))
    before, after = (comparison.read_series(tmp_path / each) for each in ("before", "after"))
    worse = [each.describe() for each in comparison.compare(before, after, 0.25) if each.worse]
    assert worse == ["not_passed           0 -> 1  WORSE"]
    both = (before, before), (after, after), (after, before)
    assert not any(each.worse for pair in both for each in comparison.compare(*pair, 0.25))


# ----------------------------------------------------------------------------------- the undo log


def test_what_is_owed_is_on_disk_before_it_is_done_and_until_it_is_undone(tmp_path: Path) -> None:
    undo_log = UndoLog.create(tmp_path, "kill")
    undo_log.owe(UndoStep(undo="start", node="n1"))
    undo_log.owe(UndoStep(undo="mend"))
    undo_log.settle(UndoStep(undo="start", node="n1"))
    found = UndoLog.read(tmp_path)
    assert found is not None
    assert found.pending == [UndoStep(undo="mend")]
    assert found.drill == "kill"
    with pytest.raises(DrillRuns, match="left 1 thing broken"):
        UndoLog.create(tmp_path, "again")
    undo_log.settle(UndoStep(undo="mend"))
    undo_log.close()
    assert UndoLog.read(tmp_path) is None


def test_a_torn_last_line_of_an_undo_log_is_what_was_not_done_yet(tmp_path: Path) -> None:
    undo_log = UndoLog.create(tmp_path, "kill")
    undo_log.owe(UndoStep(undo="resume", node="n1"))
    with undo_log.path.open("a") as file:
        file.write('{"owe": "sta')
    found = UndoLog.read(tmp_path)
    assert found is not None
    assert found.pending == [UndoStep(undo="resume", node="n1")]


@pytest.mark.parametrize("line", ["nonsense", '{"paid": 1}'])
def test_what_is_no_undo_log_is_refused(tmp_path: Path, line: str) -> None:
    UndoLog(tmp_path).path.write_text(line + "\n")
    with pytest.raises(ConfigError, match="is not an undo log"):
        UndoLog.read(tmp_path)


def test_a_runner_that_lives_keeps_others_from_healing(tmp_path: Path) -> None:
    UndoLog.create(tmp_path, "kill")
    found = UndoLog.read(tmp_path)
    assert found is not None
    assert not found.runs  # it is this very process
    parent = processes.identify(os.getppid())
    line = {"drill": "kill", "pid": parent.pid, "started": parent.started}
    found.path.write_text(json.dumps(line) + "\n")
    other = UndoLog.read(tmp_path)
    assert other is not None
    assert other.runs
    with pytest.raises(DrillRuns, match="the drill kill runs on the same nodes"):
        UndoLog.create(tmp_path, "another")
