"""Every verb by name; the verbs that wait, and the one that undoes everything."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from typing_extensions import override

from admin.drills.failures import DrillNotHealed
from admin.drills.hooks.cluster import HookedCluster
from admin.drills.hooks.scopes import WITHOUT_HOOK
from admin.drills.live import LiveCluster
from admin.drills.model import Drill, Step
from admin.drills.place import DrillPlace
from admin.drills.probes import PROBES
from admin.drills.targets import Names
from admin.drills.undo_log import UndoLog, UndoStep
from admin.drills.values import DURATION
from admin.drills.verbs import (
    backups,
    certificates,
    disks,
    fault_points,
    hooked,
    links,
    load,
    members,
    operators,
    processes,
    restarts,
)
from admin.drills.verbs.verb import Remedy, StepVerb, Takes, VerbSpec
from qsync.errors import ConfigError, QsyncError

if TYPE_CHECKING:
    from admin.drills.simulated import Members, SimulatedCluster

UNTIL_S = 30.0
"""The default time limit of an `until`."""


class WaitVerb(StepVerb):
    """In virtual time, if the simulator runs it."""

    spec = VerbSpec(
        name="wait",
        about="lets the clients work",
        takes=Takes.DURATION,
        waits=True,
    )

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        cluster.wait(step.number("for"))

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        cluster.wait(step.number("for"))


class UntilVerb(StepVerb):
    """With a label its duration is a measure."""

    spec = VerbSpec(
        name="until",
        about="waits for a condition; if it is not met `within` 30 s the drill fails",
        takes=Takes.PROBE,
        options={"within": DURATION},
        waits=True,
    )

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        assert step.condition is not None
        cluster.until(step.condition, step.number("within", UNTIL_S))

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        condition = step.condition
        assert condition is not None
        probe = PROBES[condition.probe].simulated
        assert probe is not None, condition
        cluster.until(
            lambda: probe(cluster, condition) is condition.holds,
            step.number("within", UNTIL_S),
            condition.describe(),
        )


class HealVerb(StepVerb):
    """The drill continues."""

    spec = VerbSpec(
        name="heal",
        about="undoes every fault so far",
        takes=Takes.NOTHING,
        ends_all=True,
    )

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        undo_all(cluster)

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        cluster.heal()


_ALL: tuple[StepVerb, ...] = (
    WaitVerb(),
    UntilVerb(),
    *processes.VERBS,
    *restarts.VERBS,
    *disks.VERBS,
    *links.VERBS,
    *fault_points.VERBS,
    *operators.VERBS,
    *certificates.VERBS,
    *members.VERBS,
    *backups.VERBS,
    *load.VERBS,
    HealVerb(),
)
VERBS: Mapping[str, StepVerb] = {verb.spec.name: verb for verb in _ALL}
WAITING = frozenset(verb.spec.name for verb in _ALL if verb.spec.waits)
"""Verbs that do not change the cluster."""


def perform(cluster: LiveCluster, step: Step) -> list[str]:
    """Execute a step on real nodes, by the verb itself or by a hook; return its nodes."""
    verb = VERBS[step.verb]
    if isinstance(cluster.place, HookedCluster) and step.verb not in WITHOUT_HOOK:
        return hooked.perform(cluster, cluster.place, verb, step)
    nodes = cluster.nodes_of(step)
    verb.live(cluster, step, nodes)
    return nodes


def commands(
    drill: Drill, place: HookedCluster, names: Names, leader: str | None
) -> list[list[str]]:
    """The commands that hooks would run for each step on the current cluster."""
    plan = hooked.PlannedCluster([node.name for node in place.nodes], names, leader)
    return [
        []
        if step.verb in WITHOUT_HOOK
        else list(hooked.planned(plan, place, VERBS[step.verb], step))
        for step in drill.method
    ]


def remedy(name: str) -> Remedy:
    """The remedy with this name in the undo log. Raises ConfigError."""
    found = VERBS.get(name)
    if not isinstance(found, Remedy):
        raise ConfigError(f"there is no remedy {name!r}")
    return found


def undo_all(cluster: LiveCluster) -> list[str]:
    """End every fault; return the undone faults. Raises DrillNotHealed."""
    why: list[str] = []
    for name in tuple(cluster.background):
        try:
            cluster.end_background(name)
        except (QsyncError, OSError) as error:
            why.append(f"{name}: {error}")
    done = undo_pending(cluster.place, cluster.undo_log)
    if why:
        raise DrillNotHealed(f"a background activity of the drill failed: {'; '.join(why)}")
    return done


def undo_pending(place: DrillPlace, undo_log: UndoLog) -> list[str]:
    """Undo everything, the latest first; return it. Raises DrillNotHealed with the failures.

    If one fails, the others are still undone.
    """
    done: list[str] = []
    failed: list[str] = []
    for step in undo_log.pending:
        try:
            _undo(place, step)
        except (QsyncError, OSError) as error:
            failed.append(f"{step.describe()}: {error}")
        else:
            undo_log.settle(step)
            done.append(step.describe())
    if failed:
        raise DrillNotHealed("; ".join(failed))
    return done


def _undo(place: DrillPlace, step: UndoStep) -> None:
    if isinstance(place, HookedCluster):
        place.undo(step)
    else:
        remedy(step.undo).undo(place, step.node)
