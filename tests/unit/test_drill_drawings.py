"""What a run of a drill looks like: bands of faults, latency over time, two runs on one axis."""

import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from admin.drills import comparison, comparison_page, drawing, expectations, report
from admin.drills.comparison import RunSeries
from admin.drills.fault_bands import FaultBand, fault_bands, lanes
from admin.drills.measure import AckedWrite, latencies_by_time
from admin.drills.record import RunRecord, StepRecord
from tests.unit.test_drill_reports import history, recorded

SVG = "{http://www.w3.org/2000/svg}"


def told(run: RunRecord | None = None) -> dict[str, object]:
    """The report of a run, as it is read from its file."""
    found = report.as_json(expectations.judge(run or recorded()))
    loaded: dict[str, object] = json.loads(json.dumps(found, default=str))
    return loaded


def steps(*said: tuple[str, float, float, str]) -> dict[str, object]:
    rows = [
        {"verb": verb, "from": begun, "to": ended, "nodes": nodes.split(), "text": verb}
        for verb, begun, ended, nodes in said
    ]
    return {"seconds": 20.0, "steps": rows}


def test_a_fault_lasts_until_what_undoes_it_at_its_node_or_until_healing() -> None:
    bands = fault_bands(
        steps(
            ("wait", 0, 1, ""),
            ("kill", 1, 1.1, "n1"),
            ("pause", 2, 2.1, "n1 n2"),
            ("cut", 3, 3.1, "n3"),
            ("start", 4, 4.5, "n1"),
            ("reset", 5, 5.1, "n2"),
            ("mend", 6, 6.1, ""),
            ("heal", 7, 8, ""),
            ("kill", 9, 9.1, "n2"),
        )
    )
    assert [(each.label, each.begun, each.ended) for each in bands] == [
        ("kill n1", 1, 4.5),
        ("pause n1, n2", 2, 8),
        ("cut n3", 3, 6.1),
        ("reset n2", 5, 5.1),
        ("kill n2", 9, 20),
    ]
    assert lanes(bands, 1.0) == [0, 1, 2, 0, 0]


def test_bands_that_are_narrower_than_their_label_do_not_share_its_row() -> None:
    bands = [FaultBand(verb="reset", nodes=(), begun=at, ended=at) for at in (1.0, 1.5, 4.0)]
    assert lanes(bands, 1.0) == [0, 1, 0]


def test_latency_is_counted_by_the_moment_of_the_acknowledgement() -> None:
    writes = [
        AckedWrite(begun=at - took, ended=at) for at, took in ((1.0, 0.5), (1.05, 0.1), (2.25, 0.2))
    ]
    found = latencies_by_time(writes, 1.0, 2.3, 0.1)
    assert [each.writes for each in found] == [2, *[0] * 11, 1]
    assert found[0].max == pytest.approx(0.5)
    assert found[5].p50 is None
    long = told(replace(recorded(), ended=100.0 + 3600.0))["latency_by_time"]
    assert isinstance(long, dict)
    assert len(long["p50"]) <= report.PIECES_MAX


def test_the_drawing_has_units_a_legend_names_of_faults_and_no_script() -> None:
    found = told()
    root = ET.fromstring(drawing.standalone(found))
    said = [each.text for each in root.iter(f"{SVG}text")]
    assert {"faults", "n1", "n2", "n3", "writes", "kill n1", "2.0 s", "10 ms"} <= {*said}
    assert {"leads term 1", "leads term 2", "fault of the drill", "99th percentile"} <= {*said}
    assert "latency of acknowledged writes, logarithmic" in said
    assert not list(root.iter(f"{SVG}script"))
    classes = {each.get("class") for each in root.iter()}
    assert {"t1", "t2", "fault", "shade", "acked", "silent", "line p50", "line p99"} <= classes


def test_the_line_of_latency_is_broken_where_nothing_was_acknowledged() -> None:
    root = ET.fromstring(drawing.drawing(told()))
    paths = [each.get("d") or "" for each in root.iter("path")]
    median = next(each for each in paths if each.startswith("M") and "h0.1" in each)
    assert median.count("M") == 5
    assert drawing.drawing(told(replace(recorded(), lines=()))).count("line p50") == 0


def test_a_report_of_a_former_version_is_drawn_without_latency() -> None:
    old = told()
    del old["latency_by_time"]
    assert "logarithmic" not in drawing.drawing(old)
    assert "kill n1" in drawing.drawing(old)


def test_two_runs_are_drawn_on_the_same_axes_with_what_differs() -> None:
    changed = replace(
        recorded(),
        lines=history(101.5, 101.95, 102.02, 114.0),
        ended=115.0,
        steps=(
            StepRecord(text="kill leader", verb="kill", begun=102.0, ended=102.1, nodes=("n1",)),
            StepRecord(text="heal", verb="heal", begun=114.0, ended=114.5),
        ),
    )
    one, two = RunSeries((told(),)), RunSeries((told(changed),))
    rows = comparison.compare(one, two, 0.25)
    page = comparison_page.render(one, two, rows, 0.25)
    assert page.count("<svg") == 2
    assert page.count(">14 s</text>") == page.count(">6 s</text>") == 4, "two axes a drawing"
    assert "worse than before: rto" in page
    assert '<td class="number">+' in page
    assert "<script" not in page
    same = comparison_page.render(one, one, comparison.compare(one, one, 0.25), 0.25)
    assert "nothing is worse than before" in same


def test_of_a_series_the_run_with_the_median_rto_is_drawn() -> None:
    rtos = (0.5, 0.1, 0.3)
    runs = [{**told(), "measures": {"rto": each}} for each in rtos]
    assert RunSeries(tuple(runs)).middle["measures"] == {"rto": 0.3}
    assert RunSeries(tuple(runs)).medians == {"rto": 0.3}
