"""Hashes of visible and stored rows: nodes at one index agree, and log and store agree."""

from admin.checker.kernels.kernel import Evidence, Kernel, groups
from admin.checker.rules.rule import RuleFinding
from admin.evidence.tables import REPLAY, SNAPSHOT

EQUAL, STORED = "digests-equal", "stored-replayed"
UNCOMPARED = "no stored rows were compared with the log"


def equal(evidence: Evidence) -> RuleFinding:
    """Nodes that have confirmed the same index show the same rows.

    For a cluster at rest the visible index counts: the record that confirms the last write does not
    confirm itself.
    """
    digests, confirmed = evidence.digests, evidence.confirmed
    shown = [
        at
        for at, made in enumerate(digests.made)
        if not made
        and (evidence.manifest.whole or digests.index[at] <= confirmed.get(digests.whose(at), 0))
    ]
    found, broken = RuleFinding(), list[tuple[int, int]]()
    for own in groups(shown, digests.index, digests.space, digests.bucket).values():
        others = [at for at in own if digests.node[at] != digests.node[own[0]]]
        found.facts += len(others)
        broken += [(at, own[0]) for at in others if digests.digest[at] != digests.digest[own[0]]]
    for at, first in sorted(broken):
        index, node = digests.index[at], digests.node[at]
        message = (
            f"space {digests.space[at]} at {index} is {digests.digest[first]} on node "
            f"{digests.node[first]}, {digests.digest[at]} on {node}"
        )
        found.broken(EQUAL, message, digests.shows(first, at), index=index, node=node)
    return found


def stored(evidence: Evidence) -> RuleFinding:
    """The stored rows of a node equal the replay of its log.

    A space of one node has two digests at one index: of the stored rows, and of the replayed log.
    """
    digests = evidence.digests
    kept = [at for at, made in enumerate(digests.made) if made == SNAPSHOT]
    made = [at for at, made in enumerate(digests.made) if made == REPLAY]
    names = (digests.node, digests.generation, digests.index, digests.space)
    of_stored = groups(kept, *names)
    found, broken = RuleFinding(lacks="" if kept else UNCOMPARED), list[tuple[int, int]]()
    for place, own in groups(made, *names).items():
        for at in own if place in of_stored else ():
            found.facts += 1
            its = of_stored[place][-1]
            broken += [(at, its)] if digests.digest[at] != digests.digest[its] else []
    for at, its in sorted(broken):
        node, index = digests.node[at], digests.index[at]
        message = (
            f"space {digests.space[at]} as node {node} has stored it at {index} is "
            f"{digests.digest[its]}; its log makes {digests.digest[at]}"
        )
        found.broken(STORED, message, digests.shows(its, at), node=node, index=index)
    return found


KERNELS = (
    Kernel(
        EQUAL,
        "nodes at the same index show the same rows",
        ("digests",),
        equal,
        idle="no two nodes showed their rows at the same index",
    ),
    Kernel(
        STORED,
        "the stored rows equal the replay of the log",
        ("digests",),
        stored,
        idle=UNCOMPARED,
    ),
)
