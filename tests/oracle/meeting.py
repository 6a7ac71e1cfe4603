"""Every quorum that confirms shares a node with every majority that elects."""

from admin.checker.kernels.samples import voters_known as excuse
from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import RunTables

MEET = "quorums-meet"


def find(run: RunTables) -> RuleFinding:
    """By every sample: else a leader could be elected that lacks what was confirmed."""
    found = RuleFinding(lacks=excuse(run.manifest))
    told = {each.floor for each in run.events if each.name == "configured" and each.floor}
    fewest = min({run.manifest.voters} - {0} | told, default=0)
    for each in run.status:
        voters = each.voters if each.voters is not None else fewest
        if not each.quorum or not voters:
            continue
        found.lacks = ""
        found.facts += 1
        majority = voters // 2 + 1
        if each.quorum + majority <= voters:
            message = (
                f"node {each.node} confirms by {each.quorum} of {voters} voters, and "
                f"{majority} others may elect a leader"
            )
            where = {"node": each.node, "index": each.sample, "term": each.term}
            found.broken(MEET, message, (each.shows(),), **where)
    return found
