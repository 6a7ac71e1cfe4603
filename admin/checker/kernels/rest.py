"""A healed cluster comes to rest: it has one leader, and no pending entries."""

from admin.checker.kernels.kernel import Evidence, Kernel
from admin.checker.rules.rule import RuleFinding
from admin.evidence.manifest import Manifest

REST = "comes-to-rest"
SILENT = "some nodes have no status sample"


def excuse(manifest: Manifest) -> str:
    """Why it was not observed at rest."""
    if not manifest.whole:
        return "the run did not wait for the cluster to come to rest"
    silent = any(each.problem for each in manifest.nodes)
    return "some nodes did not answer at the end" if silent else ""


def at_rest(evidence: Evidence) -> RuleFinding:
    """At rest all nodes agree, by their last samples, if the run waited for rest."""
    if why := excuse(evidence.manifest):
        return RuleFinding(lacks=why)
    status = evidence.status
    last = {node: at for at, node in enumerate(status.node)}
    voters = {each.node for each in evidence.manifest.nodes if each.voter}
    if not last or not voters <= last.keys():
        return RuleFinding(lacks=SILENT)
    found = RuleFinding(facts=len(last))
    leaders = sorted(node for node, at in last.items() if status.ro[at] is False)
    if len(leaders) != 1:
        message = f"at the end {len(leaders)} nodes take writes: {leaders}"
        found.broken(REST, message, status.shows(*last.values()))
    for node, at in last.items():
        if status.limbo_len[at]:
            message = f"at the end {status.limbo_len[at]} are still pending on node {node}"
            found.broken(REST, message, status.shows(at), **status.where(at))
    return found


KERNELS = (
    Kernel(
        REST,
        "after healing one node leads and nothing is pending",
        ("status",),
        at_rest,
        counts="status",
        excuse=excuse,
        idle=SILENT,
    ),
)
