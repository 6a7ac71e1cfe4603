"""Shipped nodes that write snapshots and trim their logs by themselves, whoever dies when."""

import errno
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from admin.soak.judge import SeedConclusion, judge
from qsync.node.checkpoints import Checkpoints
from qsync.node.timeline import Timeline
from qsync.sim.kernel.broken_retention import RETENTION
from qsync.sim.kernel.machine import MemberMachine
from qsync.sim.kernel.process import KernelProcess
from qsync.sim.kernel.snapshots import KernelSnapshot
from qsync.sim.plan import Plan
from qsync.sim.run import SeedReport, play
from qsync.sim.world import World
from qsync.store import snapfolder
from qsync.store.memory_rows import MemoryRowsView
from qsync.store.snapfiles import write_snapshot
from qsync.store.snapfolder import DiskFolder
from tests.seeds.counting import counts_of
from tests.unit.test_logstart import SOME

EVENTS = 1200
SEEDS = (5, 26, 32)
"""Runs with the habit `retention`."""
READERS = (12, 41)
"""Runs with the habit `readers`."""
BY_A_KILL = "snapshots_unsettled"
NOTICED = {
    "trims_without_snapshot": 3,
    "trims_for_nobody": 26,
    "trims_past_readers": 26,
    "lets_readers_go": 4,
    "keeps_one_snapshot": 26,
    "snapshot_not_flushed": 3,
    "snapshot_of_unconfirmed": 3,
    "snapshot_ahead_of_rows": 3,
}
"""A seed that notices each broken rule."""


@pytest.mark.parametrize("seeds", [SEEDS[:1], SEEDS[1:]], ids=("first", "others"))
def test_nodes_trim_by_themselves_in_these_runs(seeds: tuple[int, ...]) -> None:
    total = counts_of(seeds, EVENTS)
    assert total["snapshots written"] > len(seeds)
    assert total["logs trimmed"] > len(seeds)


def test_readers_come_read_on_and_go_while_nodes_trim_in_these_runs() -> None:
    total = counts_of(READERS, EVENTS)
    for what in ("register reader", "advance reader", "drop reader"):
        assert total[f"{what} ok"], what
    assert total["logs trimmed"]


@pytest.mark.pure
@pytest.mark.parametrize("mutant", NOTICED)
def test_a_broken_rule_of_snapshots_and_trimming_is_noticed(mutant: str) -> None:
    found = judge(Plan(seed=NOTICED[mutant], events=EVENTS, mutant=mutant))
    assert found.conclusion is SeedConclusion.BROKEN
    assert found.finding is not None


def killed_when_it_is_renamed(seed: int, mutant: str | None) -> SeedReport:
    """Each node dies at its first snapshot, which has its name, and nobody has flushed that."""
    world = World(Plan(seed=seed, events=EVENTS, strikes=(), mutant=mutant))
    for machine in world.nodes:
        machine.disk.snapshots.looks_at_file = partial(
            _strike, world, machine, machine.disk.snapshots.looks_at_file
        )
    return play(world)


def _strike(
    world: World,
    machine: MemberMachine,
    honest: Callable[[KernelSnapshot], None],
    made: KernelSnapshot,
) -> None:
    honest(made)
    if machine.disk.snapshots.written:
        return

    def kill(_process: KernelProcess) -> None:
        machine.stop(power=False)
        world.clockwork.after(0.01, machine.start_again)

    machine.process.strike = (machine.process.calls + 2, kill)


@pytest.mark.pure
def test_a_kill_before_a_snapshot_is_flushed_leaves_none_to_trim_behind() -> None:
    assert killed_when_it_is_renamed(3, None).held
    broken = killed_when_it_is_renamed(3, BY_A_KILL).broken
    assert broken is not None
    assert "needed entries are not trimmed" in broken.text


def test_every_broken_rule_of_snapshots_and_trimming_is_tried_here() -> None:
    assert {*NOTICED, BY_A_KILL} == RETENTION.keys()


def test_a_snapshot_whose_name_may_not_stay_is_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log would be trimmed behind it, and a power cut would leave neither."""

    def fails(_path: Path) -> None:
        raise OSError(errno.EIO, "input/output error")

    folder, timeline = DiskFolder(tmp_path), Timeline(None)
    write_snapshot(tmp_path, MemoryRowsView([], folded=SOME.index), SOME)
    with monkeypatch.context() as broken:
        broken.setattr(snapfolder, "sync_directory", fails)
        checkpoints = Checkpoints(folder, timeline=timeline)
        assert not checkpoints.stored
    (event,) = timeline.events
    assert event["event"] == "snapshot_unreadable"
    checkpoints.look()
    assert [each.index for each in checkpoints.stored] == [SOME.index]
