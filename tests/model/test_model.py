"""The written rules hold in all that happens within bounds, and none is there for nothing."""

from pathlib import Path

import pytest

from qsync.sim.mutants.catalogue import CATALOGUE
from tests.model.cluster import Cluster
from tests.model.leases import LeaseBounds, LeaseModel
from tests.model.logs import ASYNC, PROMOTE, ROLLBACK, SYNC, Entry, Log, Logs, lowered
from tests.model.scopes import MUTANTS, NOTICED, SCOPES, Scope
from tests.model.search import TooManyStates, search
from tests.model.state import Bounds, State

PAGE = Path(__file__).parents[2] / "docs/reference/model.md"
QUICK = [each for each in SCOPES.values() if each.quick]
LONG = {"reads_by_index", "change_before_promote", "configured_when_confirmed"}
"""Broken rules that take a quarter of a minute each to be noticed."""

ONLY_HERE = {
    "leaver_counts_itself",
    "repaired_in_place_by_promote",
    "repaired_in_place_by_whole_log",
    "repaired_in_place_by_majority",
    "lease_by_old_clock",
    "new_term_in_spite_of_a_promise",
}
"""Rules that the code cannot break in a replica, or has nothing of yet."""


@pytest.mark.parametrize("scope", QUICK, ids=lambda each: each.name)
def test_every_rule_kept_breaks_no_property(scope: Scope) -> None:
    found = scope.search()
    assert not found.broken, (found.broken, *found.way)
    assert scope.reaches <= found.reached, "what the scope is about never happened"
    counted = f"| {found.states:,} | {found.steps:,} | {found.depth} |"
    assert counted in _row(scope.name), counted


def _row(name: str) -> str:
    """The line of the page that begins with this name."""
    lines = PAGE.read_text("utf-8").splitlines()
    return next(line for line in lines if line.startswith(f"| `{name}` |"))


def test_the_page_has_every_scope_and_every_rule() -> None:
    for scope in SCOPES.values():
        assert scope.claim in _row(scope.name)
    for mutant, (where, says) in MUTANTS.items():
        assert f"| {where} | {says} | `{NOTICED[mutant].name}` |" in _row(mutant)


@pytest.mark.parametrize("mutant", sorted(set(MUTANTS) - LONG))
def test_each_rule_that_is_not_kept_is_noticed(mutant: str) -> None:
    found = NOTICED[mutant].search(mutant)
    assert found.broken, f"{mutant} breaks nothing in {NOTICED[mutant].name}"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("mutant", sorted(LONG))
def test_each_rule_that_takes_long_to_break_is_noticed(mutant: str) -> None:
    assert NOTICED[mutant].search(mutant).broken


def test_each_broken_rule_has_the_same_name_in_the_code() -> None:
    assert set(MUTANTS) - set(CATALOGUE) == ONLY_HERE


def test_each_broken_rule_has_a_scope_that_must_notice_it() -> None:
    assert set(NOTICED) == set(MUTANTS)


@pytest.mark.timeout(900)
def test_a_lost_disk_repaired_in_place_by_a_majority_breaks_with_five_voters_alone() -> None:
    """membership.md M5: the third repair holds with three and fails with five."""
    three = SCOPES["lost-disk"].search("repaired_in_place_by_majority")
    five = SCOPES["lost-disk-of-five"].search("repaired_in_place_by_majority")
    assert not three.broken
    assert five.broken.startswith("no two quorums")


@pytest.mark.parametrize(
    ("promise", "lease", "holds"), [(3, 1, True), (3, 2, False), (5, 4, False)]
)
def test_a_lease_ends_two_slips_before_the_promise(
    promise: int, lease: int, *, holds: bool
) -> None:
    """membership.md M11 b, in ticks: the leader's clock is slow and the voter's fast at once."""
    bounds = LeaseBounds(promise=promise, lease=lease, restarts=0, changes=0, lowered=0)
    assert holds is not bool(search(LeaseModel(bounds)).broken)


class Nameless(Cluster):
    """The same without symmetry: nodes keep their names."""

    def same(self, state: State) -> State:
        return state


@pytest.mark.parametrize(
    "bounds",
    [Bounds(led=False, terms=1, log=3), Bounds(nodes=2, voters=2, changes=1, rollbacks=1)],
)
def test_symmetry_leaves_out_names_and_no_states(bounds: Bounds) -> None:
    class Gathered(Nameless):
        def broken(self, state: State) -> str:
            alike.add(super(Nameless, self).same(state))
            return ""

    alike = set[State]()
    model = Gathered(bounds)
    alike.add(super(Nameless, model).same(model.first()))
    nameless = search(model)
    assert len(alike) == search(Cluster(bounds)).states < nameless.states


def test_a_search_ends_when_there_are_more_states_than_it_may_keep() -> None:
    with pytest.raises(TooManyStates):
        search(Cluster(Bounds(led=False)), states_max=10)


def test_the_way_to_a_broken_state_begins_at_the_beginning() -> None:
    found = SCOPES["elections"].search("vote_not_persisted")
    assert found.way[0].startswith("campaigns: ")
    assert found.way[-1].startswith("wins: ")
    assert len(found.way) == found.depth + 1


def _log(logs: Logs, *entries: Entry) -> Log:
    log = logs.empty
    for each in entries:
        log = logs.add(log, each)
    return log


def test_a_log_is_one_object_however_it_came_about() -> None:
    logs = Logs()
    one = _log(logs, Entry(1, PROMOTE), Entry(1, SYNC, 0))
    assert _log(logs, Entry(1, PROMOTE), Entry(1, SYNC, 0)) is one
    assert one.has(one.upto(1))
    assert one.upto(1).common(one) == 1


def test_what_waits_behind_a_synchronous_request_is_rolled_back_with_it() -> None:
    logs = Logs()
    log = _log(logs, Entry(1, PROMOTE), Entry(1, SYNC, 0), Entry(1, ASYNC, 1))
    assert logs.facts(log, 1).fates == "vpp"
    back = logs.add(log, Entry(1, ROLLBACK, 2))
    assert logs.facts(back, 1).fates == "vrr-"
    assert not logs.facts(back, 1).gone, "it is not definite before the record is confirmed"
    assert logs.facts(back, 4).gone == 0b11
    assert lowered(back, 3) == 1
    assert lowered(back, 4) == 4


def test_a_rollback_has_no_say_in_what_is_confirmed_before_it() -> None:
    logs = Logs()
    log = _log(logs, Entry(1, PROMOTE), Entry(1, SYNC, 0), Entry(1, ROLLBACK, 2))
    assert logs.facts(log, 2).fates == "vv-"
