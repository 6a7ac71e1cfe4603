"""Votes and ballots: one per term, durable before they are sent, never decreasing."""

from itertools import pairwise

from admin.checker.kernels.columns import Events
from admin.checker.kernels.kernel import Evidence, Kernel, groups
from admin.checker.rules.rule import RuleFinding

ONE_VOTE, BALLOTS, DURABLE = "one-vote", "ballot-kept", "vote-durable"


def one_vote(evidence: Evidence) -> RuleFinding:
    """A node grants its vote to one candidate in a term."""
    events = evidence.events
    votes = events.places("vote")
    broken: list[tuple[int, int]] = []
    for own in groups(votes, events.node, events.term).values():
        broken += [(at, own[0]) for at in own if events.peer[at] != events.peer[own[0]]]
    found = RuleFinding(facts=len(votes), lacks="" if votes else "no event `vote`")
    for at, first in sorted(broken):
        peers = f"{events.peer[first]} and {events.peer[at]}"
        told = f"node {events.node[at]} voted for {peers} in term {events.term[at]}"
        _broken(found, ONE_VOTE, told, events, (first, at))
    return found


def ballots(evidence: Evidence) -> RuleFinding:
    """Term and vote on a disk never go back, restarts included."""
    events = evidence.events
    written = events.places("ballot")
    broken: list[tuple[int, int, str]] = []
    for own in groups(written, events.node, events.generation).values():
        for before, at in pairwise(own):
            node, old, new = events.node[at], events.term[before], events.term[at]
            voted = events.peer[before]
            if new < old:
                broken.append((at, before, f"the term on disk {node} went from {old} to {new}"))
            elif new == old and voted is not None and events.peer[at] != voted:
                broken.append((at, before, f"the vote on disk {node} changed in term {new}"))
    found = RuleFinding(facts=len(written), lacks="" if written else "no event `ballot`")
    for at, before, message in sorted(broken):
        _broken(found, BALLOTS, message, events, (before, at))
    return found


def durable(evidence: Evidence) -> RuleFinding:
    """When a node sends its vote, its disk has the vote, or a later term."""
    events = evidence.events
    told = events.places("vote", "ballot")
    if {events.name[at] for at in told} != {"vote", "ballot"}:
        return RuleFinding(lacks="no events `vote` and `ballot`")
    votes = events.places("vote")
    broken: list[tuple[int, int | None]] = []
    for own in groups(told, events.node, events.generation).values():
        ballot: int | None = None
        for at in own:
            if events.name[at] == "ballot":
                ballot = at
            elif ballot is None or not _covers(events, ballot, at):
                broken.append((at, ballot))
    found = RuleFinding(facts=len(votes))
    for at, ballot in sorted(broken, key=lambda each: each[0]):
        message = (
            f"node {events.node[at]} told {events.peer[at]} that it votes for it in term "
            f"{events.term[at]}, which is not on its disk"
        )
        _broken(found, DURABLE, message, events, (at,) if ballot is None else (ballot, at))
    return found


def _covers(events: Events, ballot: int, vote: int) -> bool:
    """The disk has this vote, or one of a later term."""
    if events.term[ballot] > events.term[vote]:
        return True
    return (events.term[ballot], events.peer[ballot]) == (events.term[vote], events.peer[vote])


def _broken(
    found: RuleFinding, id_: str, message: str, events: Events, places: tuple[int, ...]
) -> None:
    """Add a violation at the last place to what was found."""
    at = places[-1]
    found.broken(id_, message, events.shows(*places), node=events.node[at], term=events.term[at])


KERNELS = (
    Kernel(
        ONE_VOTE,
        "a node votes once in a term",
        ("events",),
        one_vote,
        events=frozenset({"vote"}),
        idle="no event `vote`",
    ),
    Kernel(
        BALLOTS,
        "term and vote on disk never go back",
        ("events",),
        ballots,
        events=frozenset({"ballot"}),
        idle="no event `ballot`",
    ),
    Kernel(
        DURABLE,
        "a vote is on the disk before it is sent",
        ("events",),
        durable,
        events=frozenset({"vote", "ballot"}),
        idle="no events `vote` and `ballot`",
    ),
)
