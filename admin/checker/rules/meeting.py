"""Every quorum that confirms shares a node with every majority that elects."""

from admin.checker.rules.rule import Rule, RuleFinding
from admin.checker.rules.run import RunTables
from admin.evidence.manifest import Manifest

MEET = "quorums-meet"


def excuse(manifest: Manifest) -> str:
    """Why nobody can say what a majority is."""
    return "" if manifest.voters else "the number of voters is not known"


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


RULE = Rule(
    MEET,
    "every quorum meets every majority",
    ("status",),
    find,
    counts="status",
    excuse=excuse,
    idle="no sample says its quorum",
)
