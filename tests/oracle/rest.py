"""A healed cluster comes to rest: it has one leader, and nothing is left pending."""

from admin.checker.kernels.rest import excuse
from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import RunTables, Status

REST = "comes-to-rest"


def find(run: RunTables) -> RuleFinding:
    """By the last sample of every node, where the run was given the time to come to rest."""
    if why := excuse(run.manifest):
        return RuleFinding(lacks=why)
    last: dict[int, Status] = {each.node: each for each in run.status}
    voters = {each.node for each in run.manifest.nodes if each.voter}
    if not last or not voters <= last.keys():
        return RuleFinding(lacks="some nodes have no status sample")
    found = RuleFinding(facts=len(last))
    leaders = [each for each in last.values() if each.ro is False]
    if len(leaders) != 1:
        nodes = sorted(each.node for each in leaders)
        message = f"at the end {len(nodes)} nodes take writes: {nodes}"
        found.broken(REST, message, [each.shows() for each in last.values()])
    for each in last.values():
        if each.limbo_len:
            message = f"at the end {each.limbo_len} are still pending on node {each.node}"
            where = {"node": each.node, "index": each.sample, "term": each.term}
            found.broken(REST, message, (each.shows(),), **where)
    return found
