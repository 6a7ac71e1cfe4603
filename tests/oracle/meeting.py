"""Every quorum that confirms shares a node with every majority that elects."""

from admin.checker.kernels.samples import voters_known as excuse
from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import RunTables

MEET = "quorums-meet"


def find(run: RunTables) -> RuleFinding:
    """By every sample: else a leader could be elected that lacks what was confirmed."""
    voters = run.manifest.voters
    found = RuleFinding(lacks=excuse(run.manifest))
    majority = voters // 2 + 1
    for each in run.status if voters else ():
        if not each.quorum:
            continue
        found.facts += 1
        if each.quorum + majority <= voters:
            message = (
                f"node {each.node} confirms by {each.quorum} of {voters} voters, and "
                f"{majority} others may elect a leader"
            )
            where = {"node": each.node, "index": each.sample, "term": each.term}
            found.broken(MEET, message, (each.shows(),), **where)
    return found
