"""Clusters that live for long: judged period by period, and bounded in what they keep."""

import json
from itertools import islice

import pytest

from admin.soak.judge import SeedFinding, look
from cli.main import run
from qsync.core.generation import generation_of
from qsync.sim.kernel import mutants
from qsync.sim.longlife.life import LongLife, Period
from qsync.sim.mutants.generations import IN_A_LIFE
from qsync.sim.plan import Plan
from qsync.sim.swarm import RECOVERIES
from qsync.sim.world import CLUSTER

HOUR = 3600.0
SHORT = {"period_s": 300.0, "night_s": 400.0}
"""Seconds of a period, and of the night behind it, which is longer than a session lives."""
QUICK_S = 100.0
"""Of a period that is there for what it begins with."""
RECOVERED, RESTORED = 54, 259
"""Seeds whose second period begins with a cluster made of one survivor, or as of an entry that was
rolled back later."""
BOUNDED, ONE_HISTORY = 19, 20
FORGOTTEN = ("quorum_minus_one", "retry_applies_twice", "trims_for_nobody")
OF_A_SURVIVOR = {*IN_A_LIFE} - {"restore_goes_on", "restore_inside_stretch"}
LATE_PERIODS = 6
TwoPeriods = tuple[LongLife, list[Period], list[SeedFinding | None]]


@pytest.fixture(scope="module")
def two_periods() -> TwoPeriods:
    return _two_periods(2)


def test_a_cluster_lives_for_long_and_keeps_every_promise(two_periods: TwoPeriods) -> None:
    _, (first, second), findings = two_periods
    assert findings == [None, None]
    assert second.at > HOUR / 4
    assert second.totals["acknowledged"] > first.totals["acknowledged"] > 0
    assert second.totals["strikes"] > 0
    assert second.totals["logs trimmed"] > 0
    assert second.largest["sessions"] == 0


def test_what_is_older_than_all_logs_is_forgotten(two_periods: TwoPeriods) -> None:
    invariants = two_periods[0].world.invariants
    base = invariants.starts.base.index
    assert base > 0
    assert min(index for index, _ in invariants.books.places) >= base
    for directory in invariants.starts.directories.values():
        assert directory.base in {0, base}
        assert len(directory.entries) <= invariants.canon.last - base


def test_a_life_in_which_disks_are_lost_never_needs_all_of_them() -> None:
    """No later leader of a cluster whose quorum is N could have a lost disk replaced."""
    for seed in range(1, 6):
        life = LongLife(Plan(seed=seed, life=1000 * HOUR))
        asked = {text for name, text in life.world.swarm.tunings() if name.endswith("quorum")}
        assert asked == {"N - 1", None}
    spared = LongLife(Plan(seed=1, life=1000 * HOUR, only=("kill",)))
    assert ("replication.synchro_quorum", "N") in spared.world.swarm.tunings()


@pytest.mark.timeout(300)
def test_a_long_life_is_the_same_again() -> None:
    def digests(seed: int) -> list[str]:
        life = LongLife(Plan(seed=seed, life=1000 * HOUR), period_s=60.0, night_s=400.0)
        return [period.run.report.digest for period in islice(life.periods(), 2)]

    assert digests(2) == digests(2) != digests(3)


@pytest.mark.pure
@pytest.mark.parametrize("mutant", mutants.LIFELONG)
def test_what_grows_with_the_length_of_a_life_is_noticed(mutant: str) -> None:
    plan = Plan(seed=3, life=1000 * HOUR, mutant=mutant, only=("wipe",))
    periods = islice(LongLife(plan, period_s=HOUR / 2, night_s=400.0).periods(), 2)
    found = [finding for period in periods if (finding := look(period.run).finding)]
    assert found, f"{mutant} broke nothing that we noticed"
    assert found[0].number == BOUNDED, found[0].text


@pytest.fixture(scope="module")
def recovered() -> TwoPeriods:
    """The second period begins beside an old node; clients of the old cluster go on."""
    return _two_periods(RECOVERED, period_s=QUICK_S)


@pytest.fixture(scope="module")
def restored() -> TwoPeriods:
    """The second period begins with a snapshot; clients of the former cluster go on."""
    return _two_periods(RESTORED, period_s=QUICK_S)


def _two_periods(seed: int, *, period_s: float = SHORT["period_s"]) -> TwoPeriods:
    plan = Plan(seed=seed, life=1000 * HOUR)
    life = LongLife(plan, period_s=period_s, night_s=SHORT["night_s"])
    periods, findings = [], []
    for period in islice(life.periods(), 2):
        periods.append(period)
        findings.append(look(period.run).finding)
    return life, periods, findings


def test_a_cluster_made_of_one_survivor_keeps_every_promise(recovered: TwoPeriods) -> None:
    life, (first, second), findings = recovered
    assert findings == [None, None]
    assert (first.totals["recoveries"], second.totals["recoveries"]) == (0, 1)
    assert second.totals["acknowledged"] > first.totals["acknowledged"]
    assert second.totals["lost in recoveries"] > 0
    nodes = life.world.nodes
    assert {generation_of(node.core.machine.term) for node in nodes} == {1}
    assert CLUSTER not in {node.shelf.identity.cluster for node in nodes}
    assert len({node.shelf.identity.cluster for node in nodes}) == 1


def test_an_old_node_beside_the_new_cluster_has_no_peer_there(recovered: TwoPeriods) -> None:
    """A period that ends has seen that it was told to be superseded, and was no peer."""
    assert recovered[1][-1].totals["old nodes outside"] == 1


def test_a_cluster_restored_as_of_an_earlier_entry_keeps_every_promise(
    restored: TwoPeriods,
) -> None:
    _, (_, second), findings = restored
    assert findings == [None, None]
    assert second.totals["restored backups"] == 1
    assert second.totals["recoveries"] == 0
    assert second.totals["lost in recoveries"] > 0


@pytest.mark.parametrize("made", ["recovered", "restored"])
def test_what_clients_of_the_old_cluster_repeat_stays_unknown(
    made: str, request: pytest.FixtureRequest
) -> None:
    """They go on with their sessions, or stay with their cluster and are not let in (M8 g)."""
    _, (first, second), findings = request.getfixturevalue(made)
    assert findings == [None, None]
    assert first.totals["clients that went on"] == first.totals["left unknown"] == 0
    assert second.totals["clients that went on"] > 0
    assert second.totals["left unknown"] > 0


def test_a_life_can_be_told_to_have_no_recoveries() -> None:
    plan = Plan(seed=RECOVERED, life=1000 * HOUR, without=(RECOVERIES,))
    life = LongLife(plan, period_s=QUICK_S, night_s=SHORT["night_s"])
    *_, second = islice(life.periods(), 2)
    assert second.totals["recoveries"] == 0
    assert {node.shelf.identity.cluster for node in life.world.nodes} == {CLUSTER}


@pytest.mark.pure
@pytest.mark.parametrize("mutant", [*IN_A_LIFE, "client_in_any_cluster"])
def test_a_broken_rule_of_recoveries_is_noticed(mutant: str) -> None:
    seed = RECOVERED if mutant in OF_A_SURVIVOR else RESTORED
    plan = Plan(seed=seed, life=1000 * HOUR, mutant=mutant)
    life = LongLife(plan, period_s=QUICK_S, night_s=SHORT["night_s"])
    findings = [look(period.run).finding for period in islice(life.periods(), 2)]
    assert findings[0] is None
    assert findings[1] is not None
    assert findings[1].number == ONE_HISTORY, findings[1].text


@pytest.mark.pure
@pytest.mark.parametrize("mutant", FORGOTTEN)
def test_a_rule_that_is_broken_late_is_noticed_late(mutant: str) -> None:
    """What is forgotten of a life is not what it is judged by."""
    plan = Plan(seed=1, life=1000 * HOUR)
    life, noticed = LongLife(plan, **SHORT), None
    for number, period in enumerate(life.periods(), start=1):
        noticed = look(period.run).finding
        if noticed is not None or number == LATE_PERIODS:
            break
        if number == 1:
            mutants.plant(mutant, life.world.nodes, life.world.programs)
            for node in life.world.nodes:
                node.stop(power=False)
                node.start()
    assert noticed is not None, mutant


def test_the_command_tells_how_it_goes_and_ends_with_counts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["sim", "--replay", "1", "--life", "5m", "--json"]) == 0
    printed = capsys.readouterr()
    assert "period 1: 0d 00:" in printed.err
    (life,) = json.loads(printed.out)["lives"]
    assert life["virtual_seconds"] >= 300
    assert life["totals"]["strikes"] > 0
    assert life["totals"]["recoveries"] == 0
    assert "0 recoveries, 0 restored backups" in printed.err
    assert life["broken"] is None
    assert life["replay"] == "qsync sim --replay 1 --life 5m"


@pytest.mark.parametrize("other", [["--events", "9"], ["--explore", "quick"], ["--bundle", "b"]])
def test_a_life_is_no_short_run(other: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sim", "--life", "5m", *other]) == 2
    assert f"--life and {other[0]} do not go together" in capsys.readouterr().err


@pytest.mark.timeout(300)
def test_hours_of_a_cluster_keep_every_promise() -> None:
    _keeps_every_promise(Plan(seed=1, life=4 * HOUR))


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_day_of_a_cluster_keeps_every_promise() -> None:
    _keeps_every_promise(Plan(seed=3200000001, life=24 * HOUR))


def _keeps_every_promise(plan: Plan) -> None:
    last = None
    for period in LongLife(plan).periods():
        judged = look(period.run)
        assert judged.finding is None, judged.finding
        last = period
    assert last is not None
    assert plan.life is not None
    assert last.at >= plan.life
    assert last.totals["restores"] > 0
    assert last.totals["changes of members"] > 0
    assert last.largest["sessions"] == 0
