"""Shipped nodes that run short of descriptors, cannot read their log, or have other rows."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from qsync.core.follower import before_transactions
from qsync.core.messages import Append
from qsync.data.fold import Fold
from qsync.sim.kernel.machine import FILES_MAX, MemberMachine
from qsync.sim.plan import Plan
from qsync.sim.run import SeedReport, play
from qsync.sim.world import World
from qsync.store.contract import FoldedRows
from tests.seeds.quiet import QUIET

EVENTS, MANY = 900, 1500
ENTRIES_MIN = 10
"""More than a leader writes when it begins."""
ROOM = 100
"""Bytes of rows in memory: a few rows."""
A_ROW = 20
FROM_S, UNTIL_S = 1.0, 2.5
"""Virtual seconds: by the first a leader writes, and then there is time to get over it."""


def quiet(seed: int) -> World:
    """Three nodes to which nothing happens but what the test does."""
    return World(Plan(seed=seed, nodes=3, events=EVENTS, without=QUIET, strikes=()))


def at(world: World, when: float, do: Callable[[], None]) -> None:
    world.clockwork.after(when, do)


def often_compared(world: World) -> World:
    """More often than rows go to the disks: as often as they do, then.

    Not row by row: the next comparison would come before the disk is where this one is made.
    """
    for each in world.nodes:
        often = 0.5 * each.config.store.fold_interval
        store = replace(each.config.store, compare_interval=often, fold_rows_max=200)
        each.config = replace(each.config, store=store)
    return world


def leader(world: World) -> MemberMachine:
    return next(each for each in world.nodes if each.leads)


def held(world: World) -> SeedReport:
    report = play(world)
    assert report.held, report.describe()
    assert report.acked > 0
    return report


@pytest.mark.parametrize("seed", [1, 3, 5])
def test_followers_compare_their_rows_with_the_leader_and_agree(seed: int) -> None:
    world = often_compared(quiet(seed))
    held(world)
    compared = [each.node.folding.comparing.compared for each in world.nodes if not each.leads]
    assert min(compared) > ENTRIES_MIN, compared


@pytest.mark.pure
@pytest.mark.parametrize("seed", [2, 3, 5, 9])
def test_followers_without_room_for_rows_take_no_more_until_they_have_folded(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """So little room that it happens again and again; all are alike in the end."""
    refused = []

    def counted(message: Append) -> Append:
        refused.append(message.leader)
        return before_transactions(message)

    monkeypatch.setattr("qsync.replica.before_transactions", counted)
    world = World(Plan(seed=seed, nodes=3, events=MANY, without=QUIET))
    for each in world.nodes[1:]:
        seldom = 20 * each.config.store.fold_interval
        store = replace(each.config.store, unfolded_bytes_max=ROOM, fold_interval=seldom)
        each.config = replace(each.config, store=store)
    held(world)
    assert refused


@pytest.mark.parametrize("seed", [12, 13])
def test_a_leader_with_room_for_one_row_takes_one_after_the_other(seed: int) -> None:
    """Asynchronous ones, too: no record behind them says that they are confirmed."""
    world = World(Plan(seed=seed, nodes=3, events=MANY, without=QUIET))
    for each in world.nodes:
        store = replace(each.config.store, unfolded_bytes_max=A_ROW)
        each.config = replace(each.config, store=store)
    held(world)


def test_rows_that_a_fold_lost_are_noticed_when_they_are_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = often_compared(quiet(6))
    odd = world.nodes[0]
    spaces = odd.disk.spaces
    fold = spaces.fold

    def forgetful(rows: FoldedRows) -> None:
        assert isinstance(rows, Fold)
        fold(replace(rows, puts=rows.puts[::2]))

    monkeypatch.setattr(spaces, "fold", forgetful)
    report = play(world)
    assert report.broken is not None
    assert "differ from the leader's" in report.broken.text


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_leader_without_descriptors_goes_on_with_those_it_has(seed: int) -> None:
    """Nobody new gets in and it can dial nobody; links and clients that it has go on."""
    world = quiet(seed)
    turned_away = []

    def scarce() -> None:
        poor = leader(world)
        poor.files_max = len(poor.process.files)
        world.room.net.reset([(int(each.me), int(poor.me)) for each in world.nodes])
        at(world, UNTIL_S - FROM_S, lambda: plenty(poor))

    def plenty(poor: MemberMachine) -> None:
        assert poor.up
        doors = poor.node.reactor._doors.values()
        turned_away.append(sum(door.turned_away for door in doors))
        poor.files_max = FILES_MAX

    at(world, FROM_S, scarce)
    held(world)
    assert turned_away[0] > 0


def test_a_leader_that_cannot_read_its_log_back_hands_the_lead_to_another() -> None:
    world = quiet(1)
    seen = []

    def unreadable() -> None:
        old = leader(world)
        behind = next(each for each in world.nodes if each is not old)
        old.disk.log.unreadable = True
        cache = old.core.machine.replicated_log.entry_cache
        cache.bytes_max = 0
        cache.trim(old.core.machine.replicated_log.confirmed)
        behind.stop(power=False)
        behind.exchange()
        behind.start()
        at(world, UNTIL_S - FROM_S, lambda: look(old))

    def look(old: MemberMachine) -> None:
        seen.append((old.up, old.leads, old.core.machine.disk.error))
        old.disk.heal()

    at(world, FROM_S, unreadable)
    held(world)
    assert seen[0][:2] == (True, False)
