"""A vote is on the disk before it is sent, and a leader has the votes of a majority."""

from dataclasses import dataclass, field

from admin.checker.exhibit import EvidenceRow
from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import PROMOTE, NodeEvent, RunTables, Whose

DURABLE, SUFFICE = "vote-durable", "votes-suffice"
ELECTIONS = ("ballot", "vote", "leads")
"""Events that tell who votes for whom, and who leads."""


def durable(run: RunTables) -> RuleFinding:
    """When a node tells its vote, it is on its disk, or a later term in which it stands, too."""
    known = {each.name for each in run.events}
    found = RuleFinding(
        lacks="" if {"vote", "ballot"} <= known else "no events `vote` and `ballot`"
    )
    ballots: dict[Whose, NodeEvent] = {}
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


def suffice(run: RunTables) -> RuleFinding:
    """Who leads has granted votes, its own on its disk included, of a majority of the voters."""
    found = RuleFinding(lacks=_lacks(run))
    votes: dict[tuple[int, int | None], dict[int, NodeEvent]] = {}
    followed: dict[int, set[int]] = {}
    for each in run.events if not found.lacks else ():
        if each.name == "configured":
            followed[each.node] = set()
        elif each.name == "voter" and each.node in followed:
            followed[each.node].add(each.peer or 0)
        if each.name == "vote" or (each.name == "ballot" and each.peer == each.node):
            votes.setdefault((each.term, each.peer), {}).setdefault(each.node, each)
        if each.name != "leads":
            continue
        found.facts += 1
        have, named = votes.get((each.term, each.node), {}), followed.get(each.node)
        if named:
            have = {node: vote for node, vote in have.items() if node in named}
        voters = len(named) if named else run.manifest.voters
        majority = voters // 2 + 1
        if voters and len(have) < majority:
            message = (
                f"node {each.node} leads term {each.term} with the votes of {sorted(have)}; "
                f"{majority} are a majority"
            )
            rows = [*(vote.shows() for vote in have.values()), each.shows()]
            found.broken(SUFFICE, message, rows, node=each.node, term=each.term)
    if not found.lacks:
        _promoted(run, found)
    return found


@dataclass(slots=True)
class Elections:
    """What events tell of elections, and how far they reach.

    `leads`: terms and who led them. `since`: by node the first term of which its events know.
    `term`, `index`: the highest of which there is any event, and of a `durable` one.
    """

    leads: set[tuple[int, int]] = field(default_factory=set)
    since: dict[int, int] = field(default_factory=dict)
    term: int = 0
    index: int = 0

    def apply(self, event: NodeEvent) -> None:
        """One more event."""
        self.term = max(self.term, event.term)
        if event.name == "leads":
            self.leads.add((event.term, event.node))
        if event.name in ELECTIONS:
            self.since[event.node] = min(event.term, self.since.get(event.node, event.term))
        elif event.name == "durable":
            self.index = max(self.index, event.index)

    def covers(self, term: int, node: int, index: int) -> bool:
        """Whether there would be an event if a node led a term, with its PROMOTE at an index.

        If something is known of an earlier term, also of that node, and of a later moment.
        """
        known = any(each < term for each, _ in self.leads) and self.since.get(node, term) < term
        return known and (term <= self.term or index <= self.index)


def unelected(term: int, node: int) -> str:
    """The breaches of a PROMOTE by a node that does not lead."""
    return f"node {node} wrote a PROMOTE of term {term}, and no event says that it leads"


def _promoted(run: RunTables, found: RuleFinding) -> None:
    """Whoever wrote a PROMOTE leads that term, as far as events are there that would say so."""
    told = Elections()
    for each in run.events:
        told.apply(each)
    written: dict[tuple[int, int], tuple[int, EvidenceRow]] = {}
    for log in run.logs.values():
        for place, kind in enumerate(log.kind):
            who = (log.term[place], log.origin[place])
            if kind == PROMOTE and (who not in written or log.index[place] < written[who][0]):
                written[who] = (log.index[place], log.shows(place)[0])
    for (term, node), (index, row) in sorted(written.items()):
        if told.covers(term, node, index):
            found.facts += 1
            if (term, node) not in told.leads:
                found.broken(SUFFICE, unelected(term, node), (row,), node=node, term=term)


def _lacks(run: RunTables) -> str:
    known = {each.name for each in run.events}
    if not {"vote", "leads"} <= known and "leads" not in known:
        return "no event `leads`"
    told = run.manifest.voters or "configured" in known
    return "" if told else "the number of voters is not known"
