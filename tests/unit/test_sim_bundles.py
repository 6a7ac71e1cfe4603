"""`qsync sim --bundle` leaves evidence that `qsync check --quick` judges."""

import json
import re
from pathlib import Path

import pytest

from admin.checker.bundles import check_bundle
from admin.checker.verdict import Result
from admin.evidence import simulated
from admin.evidence.bundle import Bundle
from admin.evidence.simulated import keep, record, stage
from cli.main import run
from election.roles import Role
from qsync.core.inputs import PromoteAsked
from qsync.faults import Fault
from qsync.sim.kernel.machine import MemberMachine
from qsync.sim.plan import Plan
from qsync.sim.run import play
from qsync.sim.swarm import FLAWS
from qsync.sim.variety import VARIETY
from qsync.sim.world import World

EVENTS = 800
ARRIVES = 5
"""After so many mean delays most of what was sent is there."""
WRITTEN = 5
"""After so many entries the leader dies."""
UNSETTLED = range(7, 13)
"""Among these some runs end before all is decided."""
FIRST_TRIED = 34
"""Those before it elect nobody, or in two turns."""


def failures(bundle: Bundle) -> list[list[str]]:
    """What the checker says against it."""
    checked = check_bundle(bundle.path).checked
    return [e.verdict.describe() for e in checked if e.verdict.result is Result.FAIL]


def test_every_seed_leaves_a_bundle_that_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--events", "1500", "--jobs", "1", "--bundle", str(tmp_path)]
    assert run(["sim", "--seeds", "46-47", *given]) == 0
    capsys.readouterr()
    folders = sorted(str(each) for each in tmp_path.iterdir())
    assert [Path(each).name for each in folders] == ["seed-46", "seed-47"]
    assert run(["check", "--quick", "--json", *folders]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "pass"


def test_voters_that_come_and_go_leave_a_bundle_that_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who leads is counted by the voters in its own log, of whom there are fewer than nodes."""
    seed, given = 8, ["--last", "1", "--bundle", str(tmp_path)]
    assert run(["sim", "--replay", str(seed), *given]) == 0
    capsys.readouterr()
    assert run(["check", "--quick", "--json", str(tmp_path / f"seed-{seed}")]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "pass"


def test_a_space_that_was_dropped_and_came_back_leaves_a_bundle_that_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this run an index and a space of that name are there, gone and there again."""
    seed, given = 14, ["--last", "1", "--bundle", str(tmp_path)]
    assert run(["sim", "--replay", str(seed), *given]) == 0
    capsys.readouterr()
    assert run(["check", "--quick", "--json", str(tmp_path / f"seed-{seed}")]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "pass"


class Overtaken:
    """A candidate is stopped until another node leads: if that is its voter, both are one batch.

    What the voter says in both terms comes over one connection.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._old: MemberMachine | None = None
        self._candidate: MemberMachine | None = None
        self._term = 0
        self._elected = False
        self._look()

    @property
    def deposed(self) -> bool:
        """It was elected, and had no turn in which it led."""
        if self._candidate is None or not self._elected:
            return False
        turns = re.compile(rf" n{self._candidate.me} L +{self._term} ")
        return not any(map(turns.search, self._world.trace.lines()))

    def _look(self) -> None:
        world = self._world
        if self._old is None:
            self._kill_the_leader()
        elif self._candidate is None:
            if self._old.up:
                return  # it was healed before anybody asked
            self._stop_the_candidate(self._old)
        elif self._candidate.paused:
            if any(each.leads for each in world.nodes):
                later = ARRIVES * world.swarm.weather.delay_mean
                world.clockwork.after(later, self._candidate.resume)
                world.clockwork.after(later, self._look)
                return
        elif self._candidate.core.machine.term > self._term:
            self._elected = self._candidate.core.machine.state.led == self._term
            return
        world.clockwork.after(world.swarm.weather.delay_min, self._look)

    def _kill_the_leader(self) -> None:
        world = self._world
        leaders = [each for each in world.nodes if each.leads]
        if leaders and world.invariants.canon.last > WRITTEN:
            self._old = leaders[0]
            self._old.stop(power=False)
            world.faults.struck[1] = Fault.KILL

    def _stop_the_candidate(self, old: MemberMachine) -> None:
        """As soon as it was heard, and before it hears the answer."""
        up = [each for each in self._world.nodes if each.up]
        asking = next((each for each in up if _campaigns(each)), None)
        if asking is None:
            return
        term = asking.core.machine.term
        asked = [each for each in up if each is not asking and each.core.machine.term == term]
        if not asked:
            return
        self._candidate, self._term = asking, term
        asking.pause()
        old.start()
        asked[0].operate("operator: promote", lambda ticket: PromoteAsked(ticket=ticket))


def _campaigns(node: MemberMachine) -> bool:
    return node.core.machine.raft.role is Role.CANDIDATE


def deposed_at_once(seed: int, folder: Path) -> bool:
    world = stage(Plan(seed=seed, nodes=3, events=EVENTS, strikes=(), without=(*FLAWS, *VARIETY)))
    overtaken = Overtaken(world)
    report = play(world)
    assert report.held, report.describe()
    if overtaken.deposed:
        keep(world, report, folder)
    return overtaken.deposed


def test_a_leader_deposed_in_the_batch_that_elected_it_leaves_a_bundle_that_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seeds = range(FIRST_TRIED, 46)
    assert any(deposed_at_once(seed, tmp_path) for seed in seeds)
    assert run(["check", "--quick", "--json", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "pass"


@pytest.mark.pure
def test_a_replayed_seed_of_a_mutant_leaves_what_proves_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mutant = ["--mutant", "quorum_minus_one", "--events", "1500", "--bundle", str(tmp_path)]
    seed = next(s for s in range(1, 30) if run(["sim", "--replay", str(s), "--last", "1", *mutant]))
    capsys.readouterr()
    assert run(["check", "--quick", "--json", str(tmp_path / f"seed-{seed}")]) == 6
    (file,) = json.loads(capsys.readouterr().out)["files"]
    failed = {each["id"] for each in file["invariants"] if each["status"] == "fail"}
    assert "quorum-before-confirm" in failed


def test_a_transaction_of_several_steps_asks_in_evidence_for_all_that_it_read(
    tmp_path: Path,
) -> None:
    _, bundle = record(Plan(seed=25, events=1500), tmp_path)
    done = [each["value"] for each in bundle.rows("ops") if each["type"] == "ok"]
    of_several = [each for each in done if isinstance(each, list) and len(each) > 1]
    assert any(f == "r" for steps in of_several for f, *_ in steps)
    assert failures(bundle) == []


def test_a_status_has_the_time_at_which_the_node_looked_at_its_clock(tmp_path: Path) -> None:
    """In this run a leader is stopped within a turn, and is replaced before it ends that turn."""
    _, bundle = record(Plan(seed=7710000203, events=1500), tmp_path)
    assert "fence_seconds" in bundle.manifest.settings
    times = [int(str(each["time_mono"])) for each in bundle.rows("status")]
    assert times != sorted(times), "one is of the time before it was stopped"
    assert failures(bundle) == []


def test_a_bundle_of_nodes_without_a_fence_says_none_and_holds(tmp_path: Path) -> None:
    """In this run a leader that was paused is asked as soon as it goes on; fencing is off."""
    report, bundle = record(Plan(seed=422, events=1500), tmp_path)
    assert "unfenced" in report.flaws
    assert "fence_seconds" not in bundle.manifest.settings
    assert failures(bundle) == []


def test_a_bundle_ends_when_every_entry_is_decided(tmp_path: Path) -> None:
    """A run may end while an asynchronous entry waits for a node that has just started again."""
    pending = 0
    for seed in UNSETTLED:
        world = stage(Plan(seed=seed, events=1500))
        report = play(world)
        assert report.held, report.describe()
        pending += not simulated._settled(world)
        bundle = keep(world, report, tmp_path / f"seed-{seed}")
        assert simulated._settled(world)
        assert failures(bundle) == []
    assert pending, "no seed tests this any more"
