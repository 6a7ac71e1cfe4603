"""Verbs of a drill that stop and start nodes like an operator: one by one, with SIGTERM."""

import signal
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from typing_extensions import override

from admin.cluster import settling
from admin.cluster.surveys import ClusterSurvey
from admin.drills.live import LiveCluster
from admin.drills.model import Step
from admin.drills.probes import all_in_touch, has_caught_up, member_has_caught_up
from admin.drills.undo_log import UndoStep
from admin.drills.values import TEXT_SCHEMA, OptionKind
from admin.drills.verbs.verb import StepVerb, VerbSpec
from admin.lab.failures import StillRunning
from admin.lab.lab import Lab, LabNode
from admin.lab.node_file import config_text, options_of
from qsync import features
from qsync.faults import Fault

if TYPE_CHECKING:
    from admin.drills.simulated import Members, SimulatedCluster
    from qsync.sim.kernel.machine import MemberMachine

STOP_S = 20.0
"""How long a node may take to stop: it hands over, and closes its directory."""
BACK_S = 30.0
"""How long all nodes may take to be connected again, and the stopped node to catch up."""
DOWN_S = 0.2
"""In the simulator, the time until a node is started again."""


class RestartVerb(StepVerb):
    """The next node is stopped when all are connected, and the last one has caught up."""

    spec = VerbSpec(
        name="restart",
        about="stops and starts the nodes with SIGTERM, one after the other, the leader last",
        faults=(Fault.TERMINATE,),
        undone_by="start",
        in_turn=True,
    )

    def change(self, lab: Lab, node: LabNode, step: Step) -> None:
        """The change to a node while it is stopped."""

    def change_simulated(self, node: "MemberMachine", step: Step) -> None:
        """The same in the simulator, just before."""

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        leader = cluster.leader()
        for name in sorted(nodes, key=lambda each: each == leader):
            process = cluster.running(name)
            (node,) = cluster.owe(self.spec.undone_by, name)
            process.send(signal.SIGTERM)
            if not process.wait_gone(STOP_S):
                raise StillRunning(f"{name} was asked to stop, and still runs {STOP_S:g} s later")
            self.change(cluster.lab, node, step)
            cluster.lab.start(node)
            cluster.undo_log.settle(UndoStep(undo="start", node=name))
            wait_back(cluster.lab.addresses, name)

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        for node in sorted(nodes, key=lambda each: each.leads):
            life = node.life
            self.change_simulated(node, step)
            node.leave(then=DOWN_S)
            cluster.until(
                lambda: (
                    node.life not in {0, life}  # noqa: B023 - called here
                    and all_in_touch(cluster)
                    and member_has_caught_up(cluster, node)  # noqa: B023 - the same
                ),
                BACK_S,
                f"n{node.me} is back",
            )


def wait_back(addresses: Sequence[str], name: str) -> None:
    """Wait until all are connected, and a node has caught up. Raises Unavailable after 30 s."""

    def lacking(found: ClusterSurvey) -> str:
        node = next((each for each in found.samples if each.name == name), None)
        return settling.ill(found) or ("" if has_caught_up(found, node) else "it lacks entries")

    late = f"{name} is not back {BACK_S:g} s after it was started"
    settling.wait_until(addresses, lacking, timeout=BACK_S, late=late)


def _feature(text: str) -> str:
    if len(features.parse(text)) != 1:
        raise ValueError("is not one feature of the log")
    return text


class UpgradeVerb(RestartVerb):
    """The release stays the same: it reports one more feature, as a later release would."""

    spec = VerbSpec(
        name="upgrade",
        about="`restart`, after which each node knows one more `feature` of the log (`rehearsed`)",
        options={"feature": OptionKind(_feature, TEXT_SCHEMA)},
        faults=(Fault.TERMINATE,),
        undone_by="start",
        in_turn=True,
        needs_points=True,
    )

    FEATURE = "rehearsed"
    OPTION = "node.rehearsed_features"

    @override
    def change(self, lab: Lab, node: LabNode, step: Step) -> None:
        options = options_of(node.config)
        known = features.parse(options.get(self.OPTION, ""))
        options[self.OPTION] = features.text_of(known | {self._feature(step)})
        node.config.write_text(config_text(lab, node, options), "utf-8")

    @override
    def change_simulated(self, node: "MemberMachine", step: Step) -> None:
        own = node.config.node
        known = own.rehearsed_features | {self._feature(step)}
        node.config = replace(node.config, node=replace(own, rehearsed_features=known))

    def _feature(self, step: Step) -> str:
        return str(step.options.get("feature", self.FEATURE))


VERBS: tuple[StepVerb, ...] = (RestartVerb(), UpgradeVerb())
