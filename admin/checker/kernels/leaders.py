"""Leaders: one node per term, elected by the votes of a majority."""

from bisect import bisect_left
from collections.abc import Callable
from functools import partial

from admin.checker.exhibit import EvidenceRow
from admin.checker.kernels.kernel import Evidence, Kernel, groups
from admin.checker.rules import texts
from admin.checker.rules.rule import RuleFinding

ONE_LEADER, SUFFICE = "one-leader", "votes-suffice"
ELECTIONS = ("ballot", "vote", "leads")
FOLLOWED = ("configured", "voter")
"""Events that state votes and leaders."""


def one_leader(evidence: Evidence) -> RuleFinding:
    """A term has one leader: in logs, in statuses, in events."""
    promotes, status, events = evidence.promotes, evidence.status, evidence.events
    said = [at for at, role in enumerate(status.role) if role == "leader"]
    heard = [(at, leader) for at, leader in enumerate(status.leader) if leader]
    shows: Callable[[int], list[EvidenceRow]] = promotes.shows
    claims = [
        (promotes.term[at], promotes.origin[at], partial(shows, at)) for at in range(len(promotes))
    ]
    claims += [(status.term[at], status.node[at], partial(status.shows, at)) for at in said]
    claims += [(status.term[at], leader, partial(status.shows, at)) for at, leader in heard]
    claims += [
        (events.term[at], events.node[at], partial(events.shows, at))
        for at in events.places("leads")
    ]
    found, broken = RuleFinding(facts=len(claims)), list[tuple[int, int]]()
    for own in groups(range(len(claims)), [term for term, _, _ in claims]).values():
        others = [at for at in own if claims[at][1] != claims[own[0]][1]]
        broken += [(at, own[0]) for at in others[:1]]
    for at, first in sorted(broken):
        term, leader, shows_it = claims[at]
        message = texts.leaders(term, *sorted((claims[first][1], leader)))
        found.broken(ONE_LEADER, message, (*claims[first][2](), *shows_it()), term=term)
    return found


def suffice(evidence: Evidence) -> RuleFinding:
    """A leader has the votes of a majority of voters, including its own vote, on its disk.

    The voters are those in its own log when it was elected (membership.md M1 b), as far as events
    state them.
    """
    events, voters = evidence.events, evidence.manifest.voters
    led, followed = events.places("leads"), _followed(evidence)
    unknown = not voters and not followed
    if not led or unknown:
        return RuleFinding(lacks="the number of voters is not known" if led else "no event `leads`")
    granted = groups(
        (
            at
            for at in events.places("vote", "ballot")
            if events.name[at] == "vote" or events.peer[at] == events.node[at]
        ),
        events.term,
        events.peer,
    )
    found = RuleFinding(facts=len(led))
    for at in led:
        term, node = events.term[at], events.node[at]
        named = _last(followed.get(node, []), at)
        count = voters if named is None else len(named)
        if not count:
            continue
        majority = count // 2 + 1
        votes = granted.get((term, node), [])
        before = votes[: bisect_left(votes, at)]
        firsts = [
            own[0]
            for voter, own in groups(before, events.node).items()
            if named is None or voter in named
        ]
        have = sorted(events.node[each] for each in firsts)
        if len(have) < majority:
            who = f"node {node} leads term {term} with the votes of {have}"
            message = f"{who}; {majority} are a majority"
            rows = events.shows(*firsts, at)
            found.broken(SUFFICE, message, rows, node=node, term=term)
    _promoted(evidence, found)
    return found


def _followed(evidence: Evidence) -> dict[int, list[tuple[int, set[int]]]]:
    """Return, by node, its voters over time, each with the event from which they are in force."""
    events = evidence.events
    found: dict[int, list[tuple[int, set[int]]]] = {}
    for at in events.places("configured", "voter"):
        own = found.setdefault(events.node[at], [])
        if events.name[at] == "configured":
            own.append((at, set()))
        elif own:
            own[-1][1].add(events.peer[at] or 0)
    return found


def _last(followed: list[tuple[int, set[int]]], at: int) -> set[int] | None:
    """The voters in force at an event; None if unknown."""
    before = [voters for since, voters in followed if since < at]
    return before[-1] if before and before[-1] else None


def _promoted(evidence: Evidence, found: RuleFinding) -> None:
    """A node with a PROMOTE also has an event that it leads that term.

    Checked only if the events cover that time: there is an event of an earlier term, also of that
    node, and a later one: another event of the term, or a write after the PROMOTE.
    """
    events, promotes, reach = evidence.events, evidence.promotes, evidence.reach
    leads = {(events.term[at], events.node[at]) for at in events.places("leads")}
    earliest = min((term for term, _ in leads), default=0)
    since = {
        node: min(events.term[at] for at in own)
        for node, own in groups(events.places(*ELECTIONS), events.node).items()
    }
    by_leader = groups(range(len(promotes)), promotes.term, promotes.origin)
    for (term, node), own in sorted(by_leader.items()):
        at = min(own, key=lambda each: promotes.index[each])
        known = bool(leads) and earliest < term and since.get(node, term) < term
        if not known or not (term <= reach.term or promotes.index[at] <= reach.index):
            continue
        found.facts += 1
        if (term, node) not in leads:
            message = f"node {node} wrote a PROMOTE of term {term}, and no event says that it leads"
            found.broken(SUFFICE, message, promotes.shows(at), node=node, term=term)


KERNELS = (
    Kernel(
        ONE_LEADER,
        "a term has at most one leader",
        (),
        one_leader,
        events=frozenset({"leads"}),
        idle="nobody led",
    ),
    Kernel(
        SUFFICE,
        "a leader has the votes of a majority",
        ("events",),
        suffice,
        events=frozenset((*ELECTIONS, *FOLLOWED)),
        idle="no event `leads`",
    ),
)
