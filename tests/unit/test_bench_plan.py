"""How much a benchmark keeps under way, and what it tells when it is interrupted."""

import itertools
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from typing_extensions import override

from admin.cluster import surveys
from admin.workload import bench
from admin.workload.bench import OPEN_LOOP_OUTSTANDING_MAX, BenchPlan, BenchResult, outstanding
from cli.main import run
from qsync.client.core import INFLIGHT_MAX
from qsync.client.load import LoadResult
from qsync.config import NodeConfig
from qsync.errors import NotLeader, Unavailable


def test_a_closed_loop_has_what_it_was_asked_for_under_way() -> None:
    assert outstanding(BenchPlan(clients=3, pipeline=256)) == 256


def test_an_open_loop_has_no_more_under_way_than_a_client_and_a_session_take() -> None:
    one = outstanding(BenchPlan(clients=1, rate=1e5))
    assert one == INFLIGHT_MAX < NodeConfig.load(None, {}).limits.session_outcomes_max
    assert outstanding(BenchPlan(clients=1000, rate=1e5)) == OPEN_LOOP_OUTSTANDING_MAX // 1000


MEASURED = BenchResult(
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
)


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


class KilledGenerator(InterruptedGenerator):
    """Three answers, then its node is gone."""

    moved = True

    @override
    def run(self, **_: object) -> None:
        self.tally.done += 3


def test_what_was_measured_until_no_leader_was_left_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    addresses = ["127.0.0.1:1"]

    def leader(_: object) -> str:
        if addresses:
            return addresses.pop()
        raise NotLeader("no node accepts writes")

    seconds = itertools.count()
    clock = SimpleNamespace(perf_counter=lambda: float(next(seconds)), sleep=lambda _: None)
    monkeypatch.setattr(bench, "time", clock)
    monkeypatch.setattr(surveys, "survey", lambda _: None)
    monkeypatch.setattr(bench, "_leader", leader)
    monkeypatch.setattr(bench, "LoadGenerator", KilledGenerator)
    load = bench._Load(BenchPlan(), ["127.0.0.1:1"], lambda _: b"", lambda _: None)
    assert not load.was_interrupted(20.0)
    assert load.tally.done == 3
    assert load.tally.seconds >= 20
    assert isinstance(load.ended_by, NotLeader)
    load.tally = LoadResult()
    with pytest.raises(NotLeader):
        load.was_interrupted(20.0)  # nothing was measured


def test_a_benchmark_without_a_leader_at_its_end_prints_what_it_has_and_then_the_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for error, code in ((NotLeader("no node accepts writes"), 4), (Unavailable("nobody"), 3)):
        made = replace(MEASURED, operations=30, seconds=2.0, ended_by=error)
        monkeypatch.setattr(bench, "run", lambda *_, made=made, **__: made)
        command = ["bench", "--target", "127.0.0.1:1"]
        assert run(command) == code
        told = capsys.readouterr()
        assert "put, 64 connections x 1: 15 /s" in told.out
        assert "this is what was measured" in told.err
        assert f"qsync: {error}" in told.err
        assert run([*command, "--json"]) == code
        found = json.loads(capsys.readouterr().out)
        assert (found["ops_per_second"], found["ended_by"]) == (15.0, str(error))


def test_an_interrupted_benchmark_prints_what_it_has_and_exits_with_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = replace(MEASURED, interrupted=True)
    monkeypatch.setattr(bench, "run", lambda *_, **__: made)
    command = ["bench", "--target", "127.0.0.1:1", "--seconds", "20"]
    assert run(command) == 130
    told = capsys.readouterr()
    assert "put, 64 connections x 1: 0 /s" in told.out
    assert told.err == "interrupted after 0.0 s of 20: this is what was measured\n"
    assert run([*command, "--json"]) == 130
    found = json.loads(capsys.readouterr().out)
    assert (found["interrupted"], found["ops_per_second"]) == (True, 0.0)
