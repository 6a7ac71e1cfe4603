"""Runs a drill in the simulator: virtual time, one thread, the same from the same seed."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from admin.drills import preflight, targets
from admin.drills.model import Drill
from admin.drills.record import RunEnd
from admin.drills.simulated import SimulatedCluster, WaitMissed
from admin.drills.verbs.catalogue import VERBS
from admin.lab.node_file import DEFAULTS
from election.fencing import Fencing
from qsync import units
from qsync.errors import ConfigError
from qsync.options.core_options import Policy
from qsync.sim.canon import PropertyViolation
from qsync.sim.plan import Plan
from qsync.sim.run import mutant_names
from qsync.sim.swarm import FLAWS
from qsync.sim.variety import VARIETY
from qsync.sim.world import World

BEGIN_S_MAX = 60.0
REST_TIMEOUTS = 80
"""How many election timeouts of virtual time the cluster has to come to rest after healing."""
_HABITS = ("short_sessions", "little_room", "members", "snapshots", "retention")
_WITHOUT = (*FLAWS, *VARIETY, *_HABITS, "tune")
"""Only the drill injects faults and delays, and it has the settings of the cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRun:
    """The end of a run. Two runs of one seed have the same `digest`."""

    drill: str
    seed: int
    end: RunEnd
    why: str | None
    virtual_seconds: float
    seconds: float
    events: int
    acked: int
    digest: str
    labels: Mapping[str, float]
    mutant: str | None = None

    def describe(self) -> str:
        """Return one line."""
        why = "" if self.why is None else f" ({self.why})"
        mutant = "" if self.mutant is None else f", mutant {self.mutant}"
        steps = "".join(f", {name} {seconds:.3f} s" for name, seconds in self.labels.items())
        return (
            f"{self.drill}, seed {self.seed}{mutant}: {self.end}{why} in "
            f"{self.virtual_seconds:.1f} virtual s, {self.acked} acknowledged, "
            f"trace {self.digest}{steps}"
        )


def simulate(drill: Drill, *, nodes: int, mutant: str | None = None) -> SimulatedRun:
    """Run it. Raises ConfigError for a drill that needs more than the simulator has."""
    refuse_what_cannot_be(drill)
    if mutant is not None and mutant not in mutant_names():
        raise ConfigError(
            f"there is no mutant {mutant!r}", hint="`qsync sim --mutant list` shows them"
        )
    began = time.perf_counter()
    plan = Plan(
        seed=drill.seed,
        nodes=nodes,
        clients=drill.load.clients,
        strikes=(),
        without=_WITHOUT,
        mutant=mutant,
    )
    world = World(plan)
    _configure(world, drill)
    cluster, labels = SimulatedCluster(world), dict[str, float]()
    end, why = RunEnd.PASSED, None
    try:
        _run(drill, cluster, labels)
    except (PropertyViolation, WaitMissed) as error:
        end, why = RunEnd.FAILED, str(error)
    except Exception as error:  # noqa: BLE001 - whatever our code raises is a finding
        end, why = RunEnd.FAILED, f"{type(error).__name__}: {error}"
    late = [
        f"{name} took {seconds:.3f} virtual s"
        for name, seconds in labels.items()
        if seconds > drill.expect.limits.get(name, float("inf"))
    ]
    if end is RunEnd.PASSED and late:
        end, why = RunEnd.FAILED, "; ".join(late)
    return SimulatedRun(
        drill=drill.name,
        seed=drill.seed,
        end=end,
        why=why,
        virtual_seconds=world.clockwork.now,
        seconds=time.perf_counter() - began,
        events=len(world.trace),
        acked=cluster.acked,
        digest=world.trace.digest(),
        labels=labels,
        mutant=mutant,
    )


def _run(drill: Drill, cluster: SimulatedCluster, labels: dict[str, float]) -> None:
    """Execute all its steps, and time their labels. Raises PropertyViolation or WaitMissed."""
    world = cluster.world
    world.start()
    cluster.until(
        lambda: cluster.leader() is not None and cluster.acked > 0, BEGIN_S_MAX, "a leader"
    )
    cluster.names = targets.resolve(drill, cluster.all, cluster.leader())
    fault = world.clockwork.now
    for step in drill.method:
        begun, cluster.acked_then = world.clockwork.now, cluster.acked
        verb = VERBS[step.verb]
        verb.simulated(cluster, step, cluster.nodes_of(step))
        if not verb.spec.waits:
            fault = begun
        if step.label is not None:
            labels[step.label] = world.clockwork.now - fault
    cluster.heal()
    world.heal()
    patience = REST_TIMEOUTS * world.swarm.timing.election_timeout
    cluster.until(lambda: world.unrest() is None, patience, "rest after healing")
    for node in world.nodes:
        world.looker.check_fold(node)


def refuse_what_cannot_be(drill: Drill) -> None:
    """Refuse a drill that needs real processes. Raises ConfigError."""
    if strange := preflight.not_simulated(drill):
        raise ConfigError(
            f"{drill.name} needs real processes: the simulator has no {', '.join(strange)}",
            hint="run it without --simulate",
        )


def _configure(world: World, drill: Drill) -> None:
    """Apply the drill's options, with times in units of the run, whose seed draws the heartbeat."""
    beat = units.duration((DEFAULTS | dict(drill.options))["replication.timeout"])
    share = world.swarm.timing.replication_timeout / beat
    text = drill.options.get("replication.synchro_timeout")
    for node in world.nodes:
        node.clocks.in_a_hurry = False  # timers with always equal times would never end a tie
        replication = replace(node.config.replication, synchro_policy=Policy.ROLLBACK)
        if text is not None:
            replication = replace(replication, synchro_timeout=units.duration(text) * share)
        election = replace(node.config.election, fencing=Fencing.SOFT)
        own = replace(node.config.node, faults=True)
        node.config = replace(node.config, node=own, replication=replication, election=election)
