"""Verbs of a drill for links: how a step selects links, and their faults."""

from functools import partial
from typing import TYPE_CHECKING, Protocol

from typing_extensions import override

from admin.drills.live import LiveCluster
from admin.drills.model import Step
from admin.drills.values import CHANCE, DURATION, FLAG, SIZE, TARGET, Options, one_of
from admin.drills.verbs.verb import Remedy, StepVerb, Takes, VerbSpec
from admin.lab.lab import Lab
from admin.links.rules import DirectedLink, LinkRule, across, bridge, ring
from qsync.faults import Fault

if TYPE_CHECKING:
    from admin.drills.simulated import Members, SimulatedCluster


class NamedNodes(Protocol):
    """Resolves links, on a running, simulated or planned cluster."""

    @property
    def all(self) -> list[str]:
        """Every node."""
        ...

    def beside(self, step: Step, option: str = "with") -> tuple[str, ...]:
        """The nodes that a step names with an option."""
        ...


ACROSS: Options = {"with": TARGET, "way": one_of("both", "out", "in")}
"""Links between groups of nodes, with a direction."""
STALL_S = 0.2
"""How long the simulator delays a lost packet, like the proxy."""


def _numbers(wanted: list[DirectedLink]) -> list[tuple[int, int]]:
    """The links with the names of the simulated network."""
    return [(int(link.source[1:]), int(link.target[1:])) for link in wanted]


LinkSpec = partial(VerbSpec, undone_by="mend", needs_links=True)


class LinkVerb(StepVerb):
    """A fault of links, until `mend`. By default the links between the nodes and all others."""

    def links(self, cluster: NamedNodes, step: Step, nodes: list[str]) -> list[DirectedLink]:
        """The links of a step."""
        way = str(step.options.get("way", "both"))
        return across(cluster.all, nodes, cluster.beside(step), way)

    def rule(self, _: Step) -> LinkRule:
        """The fault of the links."""
        return LinkRule(cut=True)

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        wanted = self.links(cluster, step, nodes)
        cluster.owe(self.spec.undone_by, "")
        cluster.lab.control.set(wanted, self.rule(step))

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        wanted = _numbers(self.links(cluster, step, cluster.names_of(nodes)))
        cluster.world.room.net.block(wanted, tear=False)


class CutVerb(LinkVerb):
    """Messages are dropped, or connections refused."""

    spec = LinkSpec(
        name="cut",
        about="cuts the links between these nodes and the others (or `with`); `way` is both, out "
        "or in; with `refuse` connections are reset",
        options={**ACROSS, "refuse": FLAG},
        faults=(Fault.CUT, Fault.ONE_WAY, Fault.REFUSE),
    )

    @override
    def rule(self, step: Step) -> LinkRule:
        refuse = step.options.get("refuse") is True
        return LinkRule(refuse=True) if refuse else LinkRule(cut=True)


class SlowVerb(LinkVerb):
    """Delayed, limited in rate, or with lost packets. The simulator has no `rate`."""

    spec = LinkSpec(
        name="slow",
        about="delays traffic: `delay`, `jitter`, `rate` in bytes per second; `stall` is the "
        "probability that a packet waits as if it had been lost",
        options={
            **ACROSS,
            "delay": DURATION,
            "jitter": DURATION,
            "rate": SIZE,
            "stall": CHANCE,
        },
        faults=(Fault.SLOW_LINK,),
    )

    @override
    def rule(self, step: Step) -> LinkRule:
        return LinkRule(
            delay=step.number("delay"),
            jitter=step.number("jitter"),
            rate=step.number("rate"),
            stall=step.number("stall"),
        )

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        rule = self.rule(step)
        dice = cluster.world.clockwork.dice("slow links")

        def late() -> float:
            lost = STALL_S if rule.stall and dice.chance(rule.stall) else 0.0
            return rule.delay + rule.jitter * dice.random() + lost

        wanted = _numbers(self.links(cluster, step, cluster.names_of(nodes)))
        cluster.world.room.net.held_up |= dict.fromkeys(wanted, late)


class FlapVerb(LinkVerb):
    """Links that are cut and healed in turn."""

    spec = LinkSpec(
        name="flap",
        about="cuts and heals links in turn, each for `every` (0.3 s)",
        options={**ACROSS, "every": DURATION},
        faults=(Fault.FLAP,),
    )

    EVERY_S = 0.3

    @override
    def rule(self, step: Step) -> LinkRule:
        return LinkRule(flap=step.number("every", self.EVERY_S))

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        wanted = _numbers(self.links(cluster, step, cluster.names_of(nodes)))
        every, network = self.rule(step).flap, cluster.world.room.net
        phases = [
            (partial(network.block, wanted, tear=False), every),
            (partial(network.unblock, wanted), every),
        ]
        cluster.in_turn(f"flap {wanted}", phases, links=True)


class RingVerb(LinkVerb):
    """Every node sees a majority, and no two nodes see the same nodes."""

    spec = LinkSpec(
        name="ring",
        about="every node reaches only its neighbours",
        takes=Takes.NOTHING,
        faults=(Fault.RING,),
    )

    @override
    def links(self, cluster: NamedNodes, step: Step, nodes: list[str]) -> list[DirectedLink]:
        return ring(cluster.all)


class BridgeVerb(LinkVerb):
    """Both halves can reach one common node."""

    spec = LinkSpec(
        name="bridge",
        about="two halves connected only by this node",
        faults=(Fault.BRIDGE,),
    )

    @override
    def links(self, cluster: NamedNodes, step: Step, nodes: list[str]) -> list[DirectedLink]:
        return bridge(cluster.all, nodes[0])


class ResetVerb(LinkVerb):
    """It leaves nothing to undo."""

    spec = VerbSpec(
        name="reset",
        about="breaks connections once",
        options=ACROSS,
        faults=(Fault.RESET,),
        needs_links=True,
    )

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        cluster.lab.control.reset(self.links(cluster, step, nodes))

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        wanted = self.links(cluster, step, cluster.names_of(nodes))
        cluster.world.room.net.reset(_numbers(wanted))


class MendVerb(Remedy):
    """Ends all faults of links; messages lost on connections stay lost."""

    spec = VerbSpec(
        name="mend",
        about="heals all links",
        takes=Takes.NOTHING,
        needs_links=True,
    )

    @override
    def undo(self, lab: Lab, node: str) -> None:
        lab.start_links()
        lab.control.heal()

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        cluster.mend()


VERBS: tuple[StepVerb, ...] = (
    CutVerb(),
    SlowVerb(),
    FlapVerb(),
    RingVerb(),
    BridgeVerb(),
    ResetVerb(),
    MendVerb(),
)
