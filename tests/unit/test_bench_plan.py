"""How much a benchmark keeps under way, and what it tells when it is interrupted."""

import json

import pytest

from admin.cluster import surveys
from admin.workload import bench
from admin.workload.bench import OPEN_LOOP_OUTSTANDING_MAX, BenchPlan, BenchResult, outstanding
from cli.main import run
from qsync.client.core import INFLIGHT_MAX
from qsync.client.load import LoadResult
from qsync.config import NodeConfig


def test_a_closed_loop_has_what_it_was_asked_for_under_way() -> None:
    assert outstanding(BenchPlan(clients=3, pipeline=256)) == 256


def test_an_open_loop_has_no_more_under_way_than_a_client_and_a_session_take() -> None:
    one = outstanding(BenchPlan(clients=1, rate=1e5))
    assert one == INFLIGHT_MAX < NodeConfig.load(None, {}).limits.session_outcomes_max
    assert outstanding(BenchPlan(clients=1000, rate=1e5)) == OPEN_LOOP_OUTSTANDING_MAX // 1000


class InterruptedGenerator:
    """Three answers, then Ctrl-C."""

    def __init__(self, *_: object, **__: object) -> None:
        self.tally = LoadResult()

    def run(self, **_: object) -> None:
        """Load."""
        self.tally.done += 3
        self.tally.latencies.extend([0.001, 0.002, 0.003])
        raise KeyboardInterrupt

    def close(self) -> None:
        """Hang up."""


def test_what_was_measured_until_ctrl_c_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surveys, "survey", lambda _: None)
    monkeypatch.setattr(bench, "_leader", lambda _: "127.0.0.1:1")
    monkeypatch.setattr(bench, "LoadGenerator", InterruptedGenerator)
    load = bench._Load(BenchPlan(), ["127.0.0.1:1"], lambda _: b"", lambda _: None)
    assert load.was_interrupted(20.0)
    assert load.tally.done == 3
    assert 0 < load.tally.seconds < 20
    with pytest.raises(KeyboardInterrupt):
        load.run(0.5)  # the warm-up


def test_an_interrupted_benchmark_prints_what_it_has_and_exits_with_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = BenchResult(
        plan=BenchPlan(),
        seconds=0.0,
        operations=0,
        errors=0,
        unknown=0,
        overloaded=0,
        leader_changes=0,
        latency_us=bench.percentiles([]),
        cpu_us_per_op={},
        first_error=None,
        forms={},
        interrupted=True,
    )
    monkeypatch.setattr(bench, "run", lambda *_, **__: made)
    command = ["bench", "--target", "127.0.0.1:1", "--seconds", "20"]
    assert run(command) == 130
    told = capsys.readouterr()
    assert "put, 64 connections x 1: 0 /s" in told.out
    assert told.err == "interrupted after 0.0 s of 20: this is what was measured\n"
    assert run([*command, "--json"]) == 130
    found = json.loads(capsys.readouterr().out)
    assert (found["interrupted"], found["ops_per_second"]) == (True, 0.0)
