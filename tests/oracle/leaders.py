"""Who leads, who votes, and what was confirmed: over logs, samples and events."""

from collections.abc import Callable
from functools import partial

from admin.checker.exhibit import EvidenceRow
from admin.checker.rules import texts
from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import PROMOTE, NodeEvent, RunTables, Status, Whose

ONE_VOTE, BALLOTS = "one-vote", "ballot-kept"
ONE_LEADER, KEPT = "one-leader", "confirmed-kept"
Shows = Callable[[], list[EvidenceRow]]


def one_leader(run: RunTables) -> RuleFinding:
    """A term has one leader: in logs, in what nodes say of themselves, in events."""
    found = RuleFinding()
    known: dict[int, tuple[int, Shows]] = {}
    broken: set[int] = set()
    claims: list[tuple[int, int, Shows]] = [
        (log.term[place], log.origin[place], partial(log.shows, place))
        for log in run.logs.values()
        for place, kind in enumerate(log.kind)
        if kind == PROMOTE
    ]
    claims += [(s.term, s.node, partial(_one, s)) for s in run.status if s.role == "leader"]
    claims += [(s.term, s.leader, partial(_one, s)) for s in run.status if s.leader]
    claims += [(e.term, e.node, partial(_one, e)) for e in run.events if e.name == "leads"]
    for term, leader, shows in claims:
        found.facts += 1
        before, its = known.setdefault(term, (leader, shows))
        if before != leader and term not in broken:
            broken.add(term)
            message = texts.leaders(term, *sorted((before, leader)))
            found.broken(ONE_LEADER, message, (*its(), *shows()), term=term)
    return found


def confirmed_still_in_log(run: RunTables) -> RuleFinding:
    """What a node once had on its disk and confirmed is still in its log."""
    found = RuleFinding()
    newest = _newest(run)
    damaged = {(each.node, each.generation) for each in run.manifest.nodes if each.problem}
    for whose, upto in _safe(run).items():
        log = run.logs.get(whose)
        # What was in a directory that is gone, went with it; and damage is no violation.
        if upto == 0 or not run.logs or whose[1] < newest[whose[0]] or whose in damaged:
            continue
        found.facts += 1
        last = log.last if log is not None else 0
        if last < upto:
            message = texts.ends_before_confirmed(whose[0], upto, last)
            rows = [s.shows() for s in run.status if s.whose == whose and (s.confirmed or 0) > last]
            end = [] if log is None else log.shows(len(log.index) - 1)
            found.broken(KEPT, message, (*rows[:1], *end), node=whose[0], index=upto)
    return found


def one_vote(run: RunTables) -> RuleFinding:
    """A node grants its vote to one candidate in a term."""
    found = RuleFinding(lacks=_lacks(run, "vote"))
    known: dict[tuple[int, int], NodeEvent] = {}
    for each in run.events:
        if each.name == "vote":
            found.facts += 1
            before = known.setdefault((each.node, each.term), each)
            if before.peer != each.peer:
                peers = f"{before.peer} and {each.peer}"
                message = f"node {each.node} voted for {peers} in term {each.term}"
                _broken(found, ONE_VOTE, message, before, each)
    return found


def ballots(run: RunTables) -> RuleFinding:
    """Term and vote on a disk never go back, restarts included."""
    found = RuleFinding(lacks=_lacks(run, "ballot"))
    known: dict[Whose, NodeEvent] = {}
    for each in run.events:
        if each.name != "ballot":
            continue
        found.facts += 1
        whose = (each.node, each.generation)
        before = known.get(whose)
        known[whose] = each
        if before is None:
            continue
        if each.term < before.term:
            message = f"the term on disk {each.node} went from {before.term} to {each.term}"
            _broken(found, BALLOTS, message, before, each)
        elif each.term == before.term and before.peer is not None and each.peer != before.peer:
            message = f"the vote on disk {each.node} changed in term {each.term}"
            _broken(found, BALLOTS, message, before, each)
    return found


def _one(row: Status | NodeEvent) -> list[EvidenceRow]:
    return [row.shows()]


def _lacks(run: RunTables, name: str) -> str:
    return "" if any(each.name == name for each in run.events) else f"no event `{name}`"


def _broken(
    found: RuleFinding, invariant: str, message: str, before: NodeEvent, each: NodeEvent
) -> None:
    rows = (before.shows(), each.shows())
    found.broken(invariant, message, rows, node=each.node, term=each.term)


def _newest(run: RunTables) -> dict[int, int]:
    """The present generation of each node."""
    found: dict[int, int] = {}
    facts = ((each.node, each.generation) for each in run.manifest.nodes)
    samples = ((each.node, each.generation) for each in run.status)
    for node, generation in (*facts, *samples, *run.logs):
        found[node] = max(found.get(node, 0), generation)
    return found


def _safe(run: RunTables) -> dict[Whose, int]:
    """How far each node is known to have confirmed what was on its own disk."""
    found: dict[Whose, int] = {}
    for each in run.status:
        upto = min(each.confirmed or 0, each.written if each.written is not None else 0)
        whose = (each.node, each.generation)
        found[whose] = max(found.get(whose, 0), upto)
    for facts in run.manifest.nodes:
        found.setdefault((facts.node, facts.generation), min(facts.confirmed, facts.last))
    return found
