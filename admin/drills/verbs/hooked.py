"""Executes the steps of a drill by hooks, after the undo log has each fault."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from admin.cluster import surveys
from admin.drills import targets
from admin.drills.hooks.cluster import HookedCluster
from admin.drills.hooks.running import HookFailed
from admin.drills.hooks.scopes import HOOKABLE, HookScope, hook_name
from admin.drills.live import LiveCluster
from admin.drills.model import Step
from admin.drills.targets import Names
from admin.drills.undo_log import UndoStep
from admin.drills.verbs.links import LinkVerb
from admin.drills.verbs.restarts import wait_back
from admin.drills.verbs.verb import Remedy, StepVerb

_ALL_LINKS = ""
"""The node in the undo log for faults of all links."""


def perform(cluster: LiveCluster, place: HookedCluster, verb: StepVerb, step: Step) -> list[str]:
    """Run the commands of a step; return its nodes. Raises HookFailed, Unavailable."""
    nodes = cluster.nodes_of(step)
    if verb.spec.in_turn:
        leader = cluster.leader()
        for name in sorted(nodes, key=lambda each: each == leader):
            _take_turn(cluster, place, step, name)
        return nodes
    links = links_of(cluster, verb, step, nodes)
    everywhere = HOOKABLE[hook_name(step.verb)].scope is not HookScope.NODE
    if verb.spec.undone_by is not None:
        cluster.write_down(verb.spec.undone_by, *([_ALL_LINKS] if everywhere else nodes))
    for fields in place.fields_of(step, nodes, links):
        place.perform(step.verb, fields)
    if isinstance(verb, Remedy):
        for node in [_ALL_LINKS] if everywhere else nodes:
            cluster.undo_log.settle(UndoStep(undo=verb.spec.name, node=node))
    return nodes


@dataclass(frozen=True, slots=True)
class PlannedCluster:
    """Resolves links before a drill begins, on the current cluster."""

    all: list[str]
    names: Names
    leader: str | None

    def nodes_of(self, step: Step) -> list[str]:
        """The nodes that a step would be for."""
        return targets.of_step(self.names, step, self.leader)

    def beside(self, step: Step, option: str = "with") -> tuple[str, ...]:
        """The nodes that a step names with `with`."""
        return targets.beside(self.names, step, self.leader, option)


def planned(
    plan: PlannedCluster, place: HookedCluster, verb: StepVerb, step: Step
) -> Iterator[str]:
    """The commands that a step would run, and those that would undo it, as text."""
    nodes = plan.nodes_of(step)
    for fields in place.fields_of(step, nodes, links_of(plan, verb, step, nodes)):
        yield f"         {place.command(step.verb, fields)}"
    if verb.spec.undone_by is not None:
        undo = Step(verb=verb.spec.undone_by)
        for fields in place.fields_of(undo, nodes):
            yield f"         undone by: {place.command(undo.verb, fields)}"


def links_of(
    cluster: LiveCluster | PlannedCluster, verb: StepVerb, step: Step, nodes: list[str]
) -> list[tuple[str, str]]:
    """The pairs of sender and receiver of a step; empty if it is about nodes."""
    if not isinstance(verb, LinkVerb):
        return []
    return [(link.source, link.target) for link in verb.links(cluster, step, nodes)]


def _take_turn(cluster: LiveCluster, place: HookedCluster, step: Step, name: str) -> None:
    """Stop and start one node, and wait until the cluster is healthy again."""
    begun = time.monotonic_ns()
    cluster.write_down("start", name)
    for fields in place.fields_of(step, [name]):
        place.perform(step.verb, fields)
    cluster.undo_log.settle(UndoStep(undo="start", node=name))
    wait_back(place.addresses, name)
    node = next(each for each in surveys.survey(place.addresses).samples if each.name == name)
    if node.uptime > (time.monotonic_ns() - begun) / 1e9:
        raise HookFailed(f"the hook of {step.verb} ended with 0, and {name} was not restarted")
