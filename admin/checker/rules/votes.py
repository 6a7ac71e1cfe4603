"""A vote is on the disk before it is told, and whoever leads has the votes of a majority."""

from admin.checker.rules.rule import Finding, Rule
from admin.checker.rules.run import Event, Run, Whose

DURABLE, SUFFICE = "vote-durable", "votes-suffice"


def durable(run: Run) -> Finding:
    """When a node tells its vote, it is on its disk, or a later term in which it stands, too."""
    known = {each.name for each in run.events}
    found = Finding(lacks="" if {"vote", "ballot"} <= known else "no events `vote` and `ballot`")
    ballots: dict[Whose, Event] = {}
    for each in run.events if not found.lacks else ():
        if each.name == "ballot":
            ballots[each.whose] = each
        if each.name != "vote":
            continue
        found.facts += 1
        ballot = ballots.get(each.whose)
        kept = ballot is not None and (
            ballot.term > each.term or (ballot.term, ballot.peer) == (each.term, each.peer)
        )
        if not kept:
            message = (
                f"node {each.node} told {each.peer} that it votes for it in term {each.term}, "
                "which is not on its disk"
            )
            rows = ([] if ballot is None else [ballot.shows()]) + [each.shows()]
            found.broken(DURABLE, message, rows, node=each.node, term=each.term)
    return found


def suffice(run: Run) -> Finding:
    """Who leads has granted votes, its own on its disk included, of a majority of the voters."""
    found = Finding(lacks=_lacks(run))
    votes: dict[tuple[int, int | None], dict[int, Event]] = {}
    for each in run.events if not found.lacks else ():
        if each.name == "vote" or (each.name == "ballot" and each.peer == each.node):
            votes.setdefault((each.term, each.peer), {}).setdefault(each.node, each)
        if each.name != "leads":
            continue
        found.facts += 1
        have = votes.get((each.term, each.node), {})
        majority = run.manifest.voters // 2 + 1
        if len(have) < majority:
            message = (
                f"node {each.node} leads term {each.term} with the votes of {sorted(have)}; "
                f"{majority} are a majority"
            )
            rows = [*(vote.shows() for vote in have.values()), each.shows()]
            found.broken(SUFFICE, message, rows, node=each.node, term=each.term)
    return found


def _lacks(run: Run) -> str:
    known = {each.name for each in run.events}
    if not {"vote", "leads"} <= known and "leads" not in known:
        return "no event `leads`"
    return "" if run.manifest.voters else "the number of voters is not known"


RULES = (
    Rule(
        DURABLE,
        "a vote is on the disk before it is told",
        ("events",),
        durable,
        idle="no events `vote` and `ballot`",
    ),
    Rule(
        SUFFICE,
        "who leads has the votes of a majority",
        ("events",),
        suffice,
        idle="no event `leads`",
    ),
)
