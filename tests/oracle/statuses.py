"""What nodes said of themselves over time, and the digests of what they show."""

from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import DigestRow, RunTables, Status


def monotone(run: RunTables) -> RuleFinding:
    """Within the life of a process neither the term nor the confirmed index goes back."""
    found = RuleFinding()
    known: dict[tuple[int, int, int], Status] = {}
    for each in run.status:
        found.facts += 1
        whose = (each.node, each.generation, each.life)
        before = known.get(whose)
        known[whose] = each
        if before is None:
            continue
        if each.term < before.term:
            message = f"node {each.node} went from term {before.term} to {each.term}"
            _broken(found, MONOTONE, message, before, each)
        elif (each.confirmed or 0) < (before.confirmed or 0):
            message = f"node {each.node} went from confirmed {before.confirmed} to {each.confirmed}"
            _broken(found, MONOTONE, message, before, each)
    return found


def one_writable(run: RunTables) -> RuleFinding:
    """In a term only one node takes writes."""
    found = RuleFinding(
        lacks="" if any(s.ro is False for s in run.status) else "no node accepted writes"
    )
    known: dict[int, Status] = {}
    broken: set[int] = set()
    for each in run.status:
        if each.ro is not False:
            continue
        found.facts += 1
        before = known.setdefault(each.term, each)
        if before.node != each.node and each.term not in broken:
            broken.add(each.term)
            message = f"nodes {before.node} and {each.node} both took writes in term {each.term}"
            rows = (before.shows(), each.shows())
            found.broken(ONE_WRITABLE, message, rows, term=each.term)
    return found


def coherent(run: RunTables) -> RuleFinding:
    """A node's confirmed, visible and last index are in order, and its limbo lies between them."""
    found = RuleFinding()
    for each in run.status:
        last, confirmed, visible = each.last, each.confirmed, each.visible
        if last is None or confirmed is None or visible is None:
            continue
        found.facts += 1
        message = ""
        if not confirmed <= visible <= last:
            message = f"confirmed {confirmed}, visible {visible}, last {last} are not in order"
        elif each.limbo_len is not None and each.limbo_len > last - confirmed:
            message = f"{each.limbo_len} pending between confirmed {confirmed} and last {last}"
        if message:
            message = f"node {each.node} says: {message}"
            _broken(found, COHERENT, message, each)
    return found


def digests(run: RunTables) -> RuleFinding:
    """Nodes that have confirmed the same index show the same rows.

    Of a cluster at rest, what is visible counts: the record that confirms the last write does not
    confirm itself.
    """
    found = RuleFinding()
    confirmed = run.confirmed
    known: dict[tuple[int, str, int], DigestRow] = {}
    for each in run.digests:
        upto = confirmed.get((each.node, each.generation), 0)
        if each.made or (each.index > upto and not run.manifest.whole):
            continue
        before = known.setdefault((each.index, each.space, each.bucket), each)
        if before.node == each.node:
            continue
        found.facts += 1
        if before.digest != each.digest:
            message = (
                f"space {each.space} at {each.index} is {before.digest} on node {before.node}, "
                f"{each.digest} on {each.node}"
            )
            rows = (before.shows(), each.shows())
            found.broken(DIGESTS, message, rows, index=each.index, node=each.node)
    return found


MONOTONE, ONE_WRITABLE = "status-monotone", "one-writable"
COHERENT, DIGESTS = "status-coherent", "digests-equal"


def _broken(found: RuleFinding, invariant: str, message: str, *samples: Status) -> None:
    """At the last of the samples; all of them prove it."""
    last = samples[-1]
    rows = [each.shows() for each in samples]
    found.broken(invariant, message, rows, node=last.node, index=last.sample, term=last.term)
