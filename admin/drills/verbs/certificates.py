"""The verb of a drill that replaces the certificates of members and clients."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from admin.cluster import settling, surveys
from admin.cluster.surveys import ClusterSurvey
from admin.drills.live import LiveCluster
from admin.drills.model import Step
from admin.drills.probes import all_in_touch
from admin.drills.verbs.verb import StepVerb, Takes, VerbSpec
from admin.lab.lab import Lab
from admin.links.rules import across
from qsync.faults import Fault
from qsync.status.record import NodeStatus

if TYPE_CHECKING:
    from admin.drills.simulated import Members, SimulatedCluster

READ_S: Final = 20.0
"""How long nodes may take to use replaced files, and to be connected again."""
BETWEEN_S: Final = 0.3
"""In the simulator, the time to write files and have them read."""


class RotateCertificatesVerb(StepVerb):
    """Existing connections keep old certificates, so they are broken once.

    The simulator's nodes do not use TLS: there connections are broken in the same order, which is
    all that the cluster notices.
    """

    spec = VerbSpec(
        name="rotate_certificates",
        about="replaces the authority and every certificate: first all trust both authorities; "
        "then each node in turn, and then the clients, get a new certificate; at last the old "
        "authority is no longer trusted. Connections are broken once per phase",
        takes=Takes.NOTHING,
        faults=(Fault.RESET,),
        needs_links=True,
        needs_certificates=True,
    )

    @override
    def live(self, cluster: LiveCluster, step: Step, nodes: list[str]) -> None:
        from admin.lab import rotation  # noqa: PLC0415 - slow to import, only where it is used

        lab = cluster.lab
        turn = rotation.CertificateRotation(lab)
        turn.trust_both()
        _wait(lab, lambda each: rotation.same(each.tls.authorities, turn.both), "trust both")
        for node in lab.nodes:
            serial = turn.certify(node)
            _wait(lab, lambda each: _shows(each, node.name, serial), f"{node.name} shows it")  # noqa: B023 - called here
            lab.control.reset(across(cluster.all, [node.name], (), "both"))
            _wait(lab, lambda _: True, f"{node.name} is in touch")
        turn.certify_clients()
        turn.trust_new()
        _wait(lab, lambda each: rotation.same(each.tls.authorities, turn.new), "trust the new one")
        lab.control.reset(across(cluster.all, cluster.all, cluster.all, "both"))
        cluster.load.connect_anew()
        _wait(lab, lambda _: True, "all are in touch")

    @override
    def simulated(self, cluster: "SimulatedCluster", step: Step, nodes: "Members") -> None:
        names = cluster.all
        for group in (*([name] for name in names), names):
            links = across(names, group, names if group is names else (), "both")
            pairs = [(int(one[1:]), int(other[1:])) for one, other in links]
            cluster.wait(BETWEEN_S)
            cluster.world.room.net.reset(pairs)
            cluster.until(lambda: all_in_touch(cluster), READ_S, f"{', '.join(group)} in touch")


def _shows(node: NodeStatus, name: str, serial: str) -> bool:
    return node.name != name or node.tls.serial.lstrip("0") == serial.lstrip("0")


def _wait(lab: Lab, fact: Callable[[NodeStatus], bool], what: str) -> None:
    """Wait until the condition holds for every node, and all are connected. Raises Unavailable."""

    def lacking(found: ClusterSurvey) -> str:
        if not settling.ill(found) and all(map(fact, found.samples)):
            return ""
        refused = [f"{each.name}: {each.tls.error}" for each in found.samples if each.tls.error]
        return "; ".join(refused) or surveys.judge(found).sentence

    late = f"not within {READ_S:g} s: {what}"
    settling.wait_until(lab.addresses, lacking, timeout=READ_S, late=late)


VERBS: tuple[StepVerb, ...] = (RotateCertificatesVerb(),)
