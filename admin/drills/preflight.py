"""A preview of a drill: resolved targets, the timeline, and whether the guards allow it."""

from collections.abc import Collection, Sequence

from admin.cluster.surveys import ClusterHealth, ClusterSurvey, judge
from admin.drills import targets
from admin.drills.failures import DrillStopped
from admin.drills.hooks import guards as hook_guards
from admin.drills.hooks.cluster import HookedCluster
from admin.drills.model import ALL, CRASH, LEADER, Drill, Step
from admin.drills.place import DrillPlace
from admin.drills.probes import PROBES
from admin.drills.targets import Names
from admin.drills.values import Options
from admin.drills.verbs.catalogue import VERBS
from admin.lab.lab import Lab, LabNode
from admin.lab.secure import is_secure
from qsync.config import NodeConfig


def timeline(drill: Drill, names: Names) -> list[str]:
    """Return the steps, each with its nodes, and its time if it is known in advance."""
    said: list[str] = []
    at = 0.0
    sure = True
    for step in drill.method:
        nodes = [", ".join(names.get(word, ("the leader at that time",))) for word in step.on]
        where = f"  [{'; '.join(nodes)}]" if nodes else ""
        said.append(f"{'' if sure else '>='}{at:5.1f} s  {step.describe()}{where}")
        at += step.number("for") if VERBS[step.verb].spec.waits else 0.0
        sure = sure and step.condition is None
    return said


def complaints(drill: Drill) -> list[str]:
    """Return likely mistakes of a valid drill."""
    used = {word for step in drill.method for word in _words(step)}
    used |= {
        name
        for each in (*drill.stop_when, *drill.steady_state)
        for name in (each.node, each.other)
        if name
    }
    said = [f"target {name!r} is not used" for name in drill.targets if name not in used]
    if not any(VERBS[step.verb].spec.faults for step in drill.method):
        said.append("the method has no fault")
    if not drill.expect.limits:
        said.append("no measure has a limit")
    return said


def allow(drill: Drill, place: DrillPlace, names: Names, found: ClusterSurvey) -> None:
    """Check the guards. Raises DrillStopped if one forbids the start."""
    _allow_tag(drill, place, found)
    if isinstance(place, Lab):
        _allow_lab(drill, place)
    else:
        hook_guards.check(drill, place, found)
    guards, nodes = drill.guards, len(place.nodes)
    if nodes < guards.min_voters:
        raise DrillStopped(f"{nodes} voters; the drill wants {guards.min_voters}")
    touched = {
        name
        for step in drill.method
        for word in (*step.on, *_crashes(step))
        for name in names.get(word, ())
    }
    if forbidden := touched & set(guards.never_touch):
        raise DrillStopped(f"never_touch names {', '.join(sorted(forbidden))}")
    _allow_down(drill, place, names)
    verdict = judge(found)
    if guards.healthy and verdict.health is not ClusterHealth.HEALTHY:
        raise DrillStopped(f"the drill wants a healthy cluster: {verdict.sentence}")


def _allow_tag(drill: Drill, place: DrillPlace, found: ClusterSurvey) -> None:
    tags = {tag_of(place.nodes[0])} if isinstance(place, Lab) else hook_guards.tags(found)
    if tags and tags <= set(drill.guards.cluster_tags):
        return
    wanted = " or ".join(drill.guards.cluster_tags)
    said = ", ".join(sorted(map(repr, tags))) or "not known: no node answers"
    where = "each node" if isinstance(place, Lab) else "each node, which reads it when it starts"
    raise DrillStopped(
        f"the cluster.tag of {place.name} is {said}; the drill wants {wanted}",
        hint=f"a drill is allowed if `tag: {drill.guards.cluster_tags[-1]}` is below `cluster:` "
        f"in the node.yaml of {where}; `qsync lab up` writes `tag: lab`, older releases did not",
    )


def _allow_down(drill: Drill, place: DrillPlace, names: Names) -> None:
    """Check how many nodes may be down: in a lab all, elsewhere a minority, or a given limit."""
    limit, hooked = drill.guards.max_nodes_down, isinstance(place, HookedCluster)
    if limit is None and hooked:
        limit = hook_guards.minority(len(place.nodes))
    if limit is None:
        return
    most = most_down(drill.method, names)
    hint = f"--set guards.max_nodes_down={most} lets it" if hooked else ""
    if most > limit:
        raise DrillStopped(
            f"{most} nodes would be down at once; max_nodes_down is {limit}", hint=hint
        )
    steps = hook_guards.losing_data(drill.method) if hooked else []
    harmed = {name for step in steps for name in _nodes(step, names)}
    if len(harmed) > limit:
        raise DrillStopped(
            f"{len(harmed)} nodes would lose data, one after the other; max_nodes_down is {limit}",
            hint=f"--set guards.max_nodes_down={len(harmed)} lets it",
        )


def _allow_lab(drill: Drill, lab: Lab) -> None:
    if _needs_points(drill) and not all(_breakable(node) for node in lab.nodes):
        raise DrillStopped(
            f"{lab.name} does not allow arming its fault points",
            hint="set `node.faults: true` on all nodes if drills may inject faults into them",
        )
    if needs_certificates(drill) and not is_secure(lab.dir):
        raise DrillStopped(
            f"{lab.name} does not use TLS, and the drill needs its certificates",
            hint="`qsync lab up --secure` lays out a lab that does",
        )


def most_down(method: Sequence[Step], names: Names) -> int:
    """Return how many nodes are down at once at the worst moment: killed or paused.

    A leader that goes down has a successor: each such step takes another node.
    """
    down: set[tuple[str, str]] = set()
    most = 0
    for number, step in enumerate(method):
        verb, nodes = VERBS[step.verb].spec, _nodes(step, names)
        if verb.downs and verb.undone_by is not None:
            down |= {(verb.undone_by, _lasting(node, number)) for node in nodes}
        elif verb.ends_all:
            down.clear()
        elif ALL in step.on:
            down = {each for each in down if each[0] != verb.name}
        else:
            down -= {(verb.name, node) for node in nodes}
        meanwhile = 1 if verb.in_turn or _crashes(step) else 0
        most = max(most, len({node for _, node in down}) + meanwhile)
    return min(most, len(names[ALL]))


def _lasting(node: str, number: int) -> str:
    """Return the name of a node that a step takes down; a leader has one by the step."""
    return f"{LEADER} of step {number}" if node == LEADER else node


def tag_of(node: LabNode) -> str:
    """Return the tag of the cluster from its configuration."""
    return NodeConfig.load(node.config, {}).cluster.tag


def _breakable(node: LabNode) -> bool:
    return NodeConfig.load(node.config, {}).node.faults


def needs_certificates(drill: Drill) -> bool:
    """Return whether it needs nodes that use TLS."""
    return any(VERBS[step.verb].spec.needs_certificates for step in drill.method)


def _needs_points(drill: Drill) -> bool:
    return any(VERBS[step.verb].spec.needs_points for step in drill.method)


def _nodes(step: Step, names: Names) -> set[str]:
    return {name for word in step.on for name in names.get(word, (word,))}


def _words(step: Step) -> Collection[str]:
    condition = step.condition
    around = () if condition is None else (condition.node, condition.other)
    kinds = VERBS[step.verb].spec.options
    beside = {str(value) for name, value in step.options.items() if _is_target(kinds, name)}
    return {*step.on, *(word for word in around if word), *beside}


def _is_target(kinds: Options, name: str) -> bool:
    return name in kinds and kinds[name].target


def _crashes(step: Step) -> tuple[str, ...]:
    """Return the target that a step kills meanwhile, if any."""
    word = step.options.get(CRASH)
    return () if word is None else (str(word),)


def needs(drill: Drill) -> list[str]:
    """Return its requirements on a cluster, for people and scripts."""
    voters = drill.guards.min_voters
    wanted = ["1 voter" if voters == 1 else f"{voters} voters"]
    if any(VERBS[step.verb].spec.needs_links for step in drill.method):
        wanted.append("links")
    if _needs_points(drill):
        wanted.append("fault points")
    if needs_certificates(drill):
        wanted.append("certificates")
    return wanted


def not_simulated(drill: Drill) -> list[str]:
    """Return the parts of its method that the simulator does not have."""
    verbs = {step.verb for step in drill.method if not VERBS[step.verb].in_simulator}
    probes = {
        step.condition.probe
        for step in drill.method
        if step.condition is not None and PROBES[step.condition.probe].simulated is None
    }
    return sorted(verbs | probes)


def preview(drill: Drill, place: DrillPlace | None, nodes: int, leader: str | None) -> Names:
    """Resolve the targets in a lab, or in a planned lab of `nodes` nodes with the leader n1."""
    if place is not None:
        return targets.resolve(drill, [node.name for node in place.nodes], leader)
    return targets.resolve(drill, [f"n{number}" for number in range(1, nodes + 1)], "n1")
