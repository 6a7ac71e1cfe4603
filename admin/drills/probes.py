"""The probes of a drill: conditions and measures of a real or simulated cluster."""

import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from admin.cluster import surveys
from admin.cluster.surveys import ClusterSurvey
from admin.drills.model import Condition
from qsync import features
from qsync.status.record import NodeStatus

if TYPE_CHECKING:
    from admin.drills.sampling import LiveFacts
    from admin.drills.simulated import SimulatedCluster
    from qsync.sim.kernel.machine import MemberMachine

EXTERNAL_S_MAX = 10.0
"""The time limit of a command that is a probe."""


class MeasureUnit(StrEnum):
    """The unit of a probe or a measure."""

    TRUTH = "true or false"
    SECONDS = "seconds"
    COUNT = "count"


LiveProbe = Callable[["LiveFacts", Condition, ClusterSurvey], bool | float | None]
SimulatedProbe = Callable[["SimulatedCluster", Condition], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A probe. `node`: it is about nodes; `another`: it allows `not`.

    `live` returns a boolean, or a measure (None: unknown); `simulated` is None if only real
    processes have it.
    """

    name: str
    about: str
    live: LiveProbe
    simulated: SimulatedProbe | None = None
    scale: MeasureUnit = MeasureUnit.TRUTH
    node: bool = False
    another: bool = False


def _of_nodes(fact: Callable[[ClusterSurvey, NodeStatus | None], bool]) -> LiveProbe:
    """Return true if it holds for every node of the target; None: a node does not answer."""

    def probe(facts: "LiveFacts", condition: Condition, survey: ClusterSurvey) -> bool:
        found = {each.name: each for each in survey.samples}
        return all(fact(survey, found.get(name)) for name in facts.names[condition.node or ""])

    return probe


def _of_members(fact: "Callable[[SimulatedCluster, MemberMachine], bool]") -> SimulatedProbe:
    def probe(cluster: "SimulatedCluster", condition: Condition) -> bool:
        names = cluster.names[condition.node or ""]
        return all(fact(cluster, cluster.node(name)) for name in names)

    return probe


def _others(facts: "LiveFacts", condition: Condition, survey: ClusterSurvey) -> list[NodeStatus]:
    left_out = facts.names[condition.other] if condition.other else ()
    return [each for each in survey.samples if each.name not in left_out]


def _another_leads(cluster: "SimulatedCluster", condition: Condition) -> bool:
    return bool(cluster.leading(cluster.names[condition.other] if condition.other else ()))


def all_in_touch(cluster: "SimulatedCluster", _: Condition | None = None) -> bool:
    """Return whether all nodes run, and one of them leads."""
    reachable = all(node.reachable for node in cluster.world.nodes)
    return reachable and len(cluster.leading()) == 1


def has_caught_up(survey: ClusterSurvey, node: NodeStatus | None) -> bool:
    """Return whether the node has the leader's confirmed entries on disk, and votes."""
    leader = survey.leader
    if node is None or leader is None or node.recruit:
        return False
    return node.written >= leader.confirmed


def member_has_caught_up(cluster: "SimulatedCluster", node: "MemberMachine") -> bool:
    """Return the same of a simulated node."""
    machine = node.core.machine
    leaders = cluster.leading()
    confirmed = leaders[0].core.machine.replicated_log.confirmed if leaders else None
    mine = machine.replicated_log.written if node.reachable and machine.raft.ballot.member else -1
    return confirmed is not None and mine >= confirmed


def _member_was_struck(cluster: "SimulatedCluster", node: "MemberMachine") -> bool:
    known = cluster.points(node).describe() if node.up else []
    return node.me in cluster.struck or any(each["struck"] for each in known)


def _features_enabled(_: "LiveFacts", __: Condition, survey: ClusterSurvey) -> bool:
    known = {name for each in survey.samples for name in each.upgrade.knows}
    return _use_all(known, [frozenset(each.upgrade.features) for each in survey.samples])


def _simulated_features_enabled(cluster: "SimulatedCluster", _: Condition) -> bool:
    cores = [node.core for node in cluster.world.nodes if node.up]
    known = {name for core in cores for name in core.machine.config.features}
    return _use_all(known, [features.enabled(core.settings) for core in cores])


def _use_all(known: set[str], used: Sequence[frozenset[str]]) -> bool:
    """Return whether each log uses some of what a leader enables by itself, and nothing is due."""
    return bool(used) and all(
        each - features.ON_DEMAND and not features.due(known, each) for each in used
    )


def _ends_with_0(_: "LiveFacts", condition: Condition, __: ClusterSurvey) -> bool:
    try:
        done = subprocess.run(  # noqa: S603 - the drill's author chose it
            shlex.split(condition.run or "false"),
            check=False,
            capture_output=True,
            timeout=EXTERNAL_S_MAX,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False  # an unknown probe is not satisfied
    return done.returncode == 0


_ALL = (
    Probe(
        name="leader_exists",
        about="a node reports that it leads (`not`: a node other than this one)",
        live=lambda facts, it, survey: any(each.leads for each in _others(facts, it, survey)),
        simulated=_another_leads,
        another=True,
    ),
    Probe(
        name="writable",
        about="a leader accepts writes (`not`: a node other than this one)",
        live=lambda facts, it, survey: any(
            each.leads and not each.ro for each in _others(facts, it, survey)
        ),
        simulated=_another_leads,
        another=True,
    ),
    Probe(
        name="healthy",
        about="all nodes are connected to a leader that accepts writes",
        live=lambda _, __, survey: surveys.judge(survey).health is surveys.ClusterHealth.HEALTHY,
        simulated=all_in_touch,
    ),
    Probe(
        name="answers",
        about="the node answers",
        live=_of_nodes(lambda _, node: node is not None),
        simulated=_of_members(lambda _, node: node.reachable),
        node=True,
    ),
    Probe(
        name="leads",
        about="the node leads and accepts writes",
        live=_of_nodes(lambda _, node: node is not None and node.leads and not node.ro),
        simulated=_of_members(lambda _, node: node.leads and not node.paused),
        node=True,
    ),
    Probe(
        name="read_only",
        about="the node answers and accepts no writes",
        live=_of_nodes(lambda _, node: node is not None and node.ro),
        simulated=_of_members(lambda _, node: node.reachable and not node.leads),
        node=True,
    ),
    Probe(
        name="caught_up",
        about="the node has the leader's confirmed entries on disk, and votes",
        live=_of_nodes(has_caught_up),
        simulated=_of_members(member_has_caught_up),
        node=True,
    ),
    Probe(
        name="features_enabled",
        about="all log features that a node knows are enabled on all nodes",
        live=_features_enabled,
        simulated=_simulated_features_enabled,
    ),
    Probe(
        name="struck",
        about="an armed fault point of the node has fired",
        live=_of_nodes(lambda _, node: node is not None and any(e.struck for e in node.faults)),
        simulated=_of_members(_member_was_struck),
        node=True,
    ),
    # Requests that were running when the step began may still be answered, so one more answer than
    # there are clients is needed.
    Probe(
        name="acked_again",
        about="a write was acknowledged that began after this step",
        live=lambda facts, _, __: len(facts.tally.acked) > facts.acked_then + facts.clients,
        simulated=lambda cluster, _: (
            cluster.acked > cluster.acked_then + len(cluster.world.clients)
        ),
    ),
    Probe(
        name="nodes_reachable",
        about="nodes that answer",
        live=lambda _, __, survey: float(len(survey.samples)),
        scale=MeasureUnit.COUNT,
    ),
    Probe(
        name="terms",
        about="terms that had a leader since the drill began",
        live=lambda facts, _, __: float(len(facts.watch.terms.keys() - facts.terms_before)),
        scale=MeasureUnit.COUNT,
    ),
    Probe(
        name="limbo_len",
        about="pending transactions",
        live=lambda _, __, survey: (
            None if survey.leader is None else float(survey.leader.synchro.queue.len)
        ),
        scale=MeasureUnit.COUNT,
    ),
    Probe(
        name="limbo_age",
        about="age of the oldest pending transaction",
        live=lambda _, __, survey: (
            None if survey.leader is None else survey.leader.synchro.queue.age
        ),
        scale=MeasureUnit.SECONDS,
    ),
    Probe(
        name="commit_p99",
        about="of the latest acknowledged writes",
        live=lambda facts, _, __: facts.commit_p99(),
        scale=MeasureUnit.SECONDS,
    ),
    Probe(
        name="write_gap",
        about="time since the last acknowledged write",
        live=lambda facts, _, __: facts.tally.waiting(),
        scale=MeasureUnit.SECONDS,
    ),
    Probe(name="external", about="the command given as `run` ends with 0", live=_ends_with_0),
)
PROBES: Mapping[str, Probe] = {probe.name: probe for probe in _ALL}


def holds(facts: "LiveFacts", condition: Condition) -> bool:
    """Return whether it holds now; an unknown measure is neither above nor below."""
    return _holds(facts, condition, facts.watch.survey)


def holds_since_step(facts: "LiveFacts", condition: Condition) -> bool:
    """Return whether it holds by answers after the start of the step.

    The last answer of a node before it was killed does not describe the process that runs now.
    """
    survey = facts.watch.survey
    words = tuple(each for each in survey.samples if each.asked >= facts.since * 1e9)
    if words == survey.samples or condition.probe == "external":
        return _holds(facts, condition, survey)
    of_this_step = replace(survey, samples=words)
    return _holds(facts, condition, of_this_step) and _holds(facts, condition, survey)


def _holds(facts: "LiveFacts", condition: Condition, survey: ClusterSurvey) -> bool:
    found = PROBES[condition.probe].live(facts, condition, survey)
    if condition.above is None and condition.below is None:
        return found is condition.holds
    if found is None:
        return False
    above = condition.above is None or found > condition.above
    return above and (condition.below is None or found < condition.below)
