"""The messages of breaches: the same text in one process and on Spark."""

from collections.abc import Iterable, Sequence

Pair = tuple[int, int]


def matching(nodes: Pair, index: int, term: int, last: int) -> str:
    """Two logs that differ from an index on."""
    so_on = f", and so on up to {last}" if last > index else ""
    return (
        f"nodes {nodes[0]} and {nodes[1]} have different entries at {index} of term {term}{so_on}"
    )


def leaders(term: int, one: int, other: int) -> str:
    """Two leaders of one term."""
    return f"term {term} has two leaders, {one} and {other}"


def complete(node: int, promote: Pair, entry: Pair, era: int) -> str:
    """A leader without a confirmed entry; both are an index and a term."""
    return (
        f"the leader of term {promote[1]} (PROMOTE at {promote[0]} in the log of node {node}) "
        f"lacks entry {entry[0]} of term {entry[1]}, confirmed in {era}"
    )


def ends_before_confirmed(node: int, upto: int, last: int) -> str:
    """A log that ends before the confirmed index of its node."""
    return f"node {node} had confirmed {upto}, its log ends at {last}"


def ends_before_durable(node: int, upto: int, last: int) -> str:
    """A log that ends before what was on the disk of its node."""
    return f"node {node} had {upto} on its disk, its log ends at {last}"


def acked(node: int, index: int) -> str:
    """An ack of an entry that is not on the disk."""
    return f"node {node} acked {index}, which was not on its disk"


def quorum(node: int, index: int, have: Sequence[int], wanted: int) -> str:
    """An entry that was confirmed on too few disks."""
    told = f"node {node} confirmed {index}, which is on the disks of {list(have)} only"
    return f"{told}; the quorum is {wanted}"


def in_logs(node: int, index: int, have: Iterable[int], wanted: int) -> str:
    """Return the same text for logs only."""
    told = f"node {node} has confirmed {index}, which is in the logs of {sorted(have)} only"
    return f"{told}; the quorum is {wanted}"


def strangers(nodes: Iterable[int]) -> str:
    """Return the text for acks of directories that are not voters."""
    found = sorted(nodes)
    return f", and {found} acked from directories that are no voters" if found else ""


def stretches(odd: Iterable[int]) -> list[Pair]:
    """The first and the last number of each run of consecutive numbers."""
    found: list[Pair] = []
    for each in sorted(set(odd)):
        if found and each == found[-1][1] + 1:
            found[-1] = (found[-1][0], each)
        else:
            found.append((each, each))
    return found
