"""The statuses of nodes over time."""

from itertools import pairwise

from admin.checker.kernels.kernel import Evidence, Kernel, groups
from admin.checker.rules.rule import RuleFinding
from admin.evidence.manifest import Manifest

MONOTONE, ONE_WRITABLE = "status-monotone", "one-writable"
COHERENT, MEET = "status-coherent", "quorums-meet"
CONFIGURED = "configured"


def monotone(evidence: Evidence) -> RuleFinding:
    """The term and the confirmed index of a process never decrease."""
    status = evidence.status
    term, confirmed = status.term, [each or 0 for each in status.confirmed]
    broken: list[tuple[int, int, str]] = []
    lives = groups(range(len(status)), status.node, status.generation, status.life)
    for own in lives.values():
        for before, at in pairwise(own):
            who = f"node {status.node[at]} went from"
            if term[at] < term[before]:
                broken.append((at, before, f"{who} term {term[before]} to {term[at]}"))
            elif confirmed[at] < confirmed[before]:
                told = f"{who} confirmed {status.confirmed[before]} to {status.confirmed[at]}"
                broken.append((at, before, told))
    found = RuleFinding(facts=len(status))
    for at, before, message in sorted(broken):
        found.broken(MONOTONE, message, status.shows(before, at), **status.where(at))
    return found


def one_writable(evidence: Evidence) -> RuleFinding:
    """In a term only one node accepts writes."""
    status = evidence.status
    writable = [at for at, ro in enumerate(status.ro) if ro is False]
    found = RuleFinding(facts=len(writable), lacks="" if writable else "no node accepted writes")
    broken: list[tuple[int, int]] = []
    for own in groups(writable, status.term).values():
        others = [at for at in own if status.node[at] != status.node[own[0]]]
        broken += [(at, own[0]) for at in others[:1]]
    for at, first in sorted(broken):
        term = status.term[at]
        nodes = f"nodes {status.node[first]} and {status.node[at]}"
        message = f"{nodes} both took writes in term {term}"
        found.broken(ONE_WRITABLE, message, status.shows(first, at), term=term)
    return found


def coherent(evidence: Evidence) -> RuleFinding:
    """A node's confirmed, visible and last index are in order, and its limbo lies between them."""
    found, status = RuleFinding(), evidence.status
    places = zip(status.last, status.confirmed, status.visible, status.limbo_len, strict=True)
    for at, (last, confirmed, visible, pending) in enumerate(places):
        if last is None or confirmed is None or visible is None:
            continue
        found.facts += 1
        why = ""
        if not confirmed <= visible <= last:
            why = f"confirmed {confirmed}, visible {visible}, last {last} are not in order"
        elif pending is not None and pending > last - confirmed:
            why = f"{pending} pending between confirmed {confirmed} and last {last}"
        if why:
            message = f"node {status.node[at]} says: {why}"
            found.broken(COHERENT, message, status.shows(at), **status.where(at))
    return found


def voters_known(manifest: Manifest) -> str:
    """Why the majority is unknown, if samples do not have it."""
    return "" if manifest.voters else "the number of voters is not known"


def meeting(evidence: Evidence) -> RuleFinding:
    """Every confirming quorum intersects every electing majority.

    Otherwise a leader could be elected without a confirmed entry. Every sample with a quorum is
    checked against the node's voters at that time, because a cluster may change its size.
    """
    status, found = evidence.status, RuleFinding(lacks=voters_known(evidence.manifest))
    smallest = _smallest(evidence)
    for at, (quorum, own) in enumerate(zip(status.quorum, status.voters, strict=True)):
        voters = smallest if own is None else own
        if not quorum or not voters:
            continue
        found.lacks = ""
        found.facts += 1
        majority = voters // 2 + 1
        if quorum + majority <= voters:
            message = (
                f"node {status.node[at]} confirms by {quorum} of {voters} voters, and "
                f"{majority} others may elect a leader"
            )
            found.broken(MEET, message, status.shows(at), **status.where(at))
    return found


def _smallest(evidence: Evidence) -> int:
    """The minimum number of voters, if a sample does not have the number of its node's voters."""
    events = evidence.events
    sizes = [events.floor[at] or 0 for at in events.places(CONFIGURED)]
    return min((size for size in (evidence.manifest.voters, *sizes) if size), default=0)


KERNELS = (
    Kernel(
        MEET,
        "every quorum intersects every majority",
        ("status",),
        meeting,
        events=frozenset({CONFIGURED}),
        counts="status",
        excuse=voters_known,
        idle="no sample has a quorum",
    ),
    Kernel(
        MONOTONE,
        "terms and confirmed indexes never decrease",
        ("status",),
        monotone,
        counts="status",
        idle="no node has a status sample",
    ),
    Kernel(
        ONE_WRITABLE,
        "one node accepts writes in a term",
        ("status",),
        one_writable,
        idle="no node accepted writes",
    ),
    Kernel(
        COHERENT,
        "confirmed, visible, last and limbo fit together",
        ("status",),
        coherent,
        counts="status",
        idle="no status sample has an index",
    ),
)
