"""Clients that change the settings of the whole cluster in the middle of everything else."""

from collections.abc import Iterator

import pytest

from admin.soak.judge import SeedConclusion, judge
from qsync.data.operation_kinds import Op
from qsync.sim import swarm, transactions
from qsync.sim.operations import OperationRecord, WriteOperation
from qsync.sim.plan import Plan
from qsync.sim.repertoire import Begun, OperationGenerator, once
from qsync.sim.run import play
from qsync.sim.world import World

EVENTS = 1200
CHOICES = (
    ("replication.synchro_quorum", ("N / 2 + 1", "N", "2", "3", "4", None)),
    ("replication.synchro_timeout", ("60ms", "500ms", "3s", None)),
    ("replication.synchro_policy", ("rollback", "detach", None)),
    ("replication.queue_entries_max", ("3", "1000", None)),
    ("election.timeout", ("120ms", "300ms", "600ms", None)),
    ("election.fencing", ("soft", "strict", None)),
)
"""Some do not fit into some clusters: those must be refused and change nothing."""


def settings(mind: OperationGenerator) -> Begun:
    chosen = mind.dice.sample(CHOICES, mind.dice.randint(1, 3))
    given = {key: mind.dice.choice(texts) for key, texts in chosen}
    operation = OperationRecord(name="settings", f="settings")
    return operation, once(WriteOperation(ops=[[int(Op.CHANGE_SETTINGS), given]]))


@pytest.fixture(autouse=True)
def _clients_change_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(transactions.DRAWERS, "settings", settings)
    monkeypatch.setattr(swarm, "OPERATIONS", (*swarm.OPERATIONS, "settings", "settings"))


def changed(world: World) -> Iterator[dict[str, str]]:
    """What each node that runs follows in the end."""
    for node in world.nodes:
        if node.up:
            yield dict(node.core.settings)


@pytest.mark.parametrize("first", [1, 13])
def test_every_property_holds_while_settings_change(first: int) -> None:
    used = 0
    for seed in range(first, first + 12):
        world = World(Plan(seed=seed, events=EVENTS))
        report = play(world)
        assert report.broken is None, f"seed {seed}: {report.broken}"
        ends = list(changed(world))
        assert all(each == ends[0] for each in ends), f"seed {seed}: {ends}"
        used += bool(ends[0])
    assert used > 1, "hardly any run changed a setting, so this says nothing"


@pytest.mark.parametrize("seed", range(101, 106))
def test_what_clients_saw_is_explained_while_settings_change(seed: int) -> None:
    assert judge(Plan(seed=seed, events=EVENTS)).conclusion is not SeedConclusion.BROKEN
