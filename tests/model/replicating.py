"""Section 7: what a leader sent arrives, what contradicts it is cut off, what is there is acked."""

from collections.abc import Iterator

from tests.model.logs import CONFIRM, Log, lowered
from tests.model.rules import Rules
from tests.model.state import FOLLOWER, LEADER, NOBODY, Node, State, Step, put
from tests.model.writing import acks


def steps(rules: Rules, state: State, number: int) -> Iterator[Step]:
    """Any beginning of what any leader sent may arrive at node `number`."""
    node = state.nodes[number]
    oldest = 0 if rules.broken == "older_leader_obeyed" else node.term
    for term in range(max(oldest, 1), len(state.sent)):
        sent = state.sent[term]
        if sent is None or (node.role == LEADER and node.term == term):
            continue
        common = node.log.common(sent.log)
        for end in range(sent.log.length + 1):
            full = _carried(rules, sent.log, sent.confirmed, end)
            known = (0, full) if rules.bounds.late and full else (full,)
            for carried in known:
                if end < common and carried <= node.confirmed and term == node.term:
                    continue
                yield _arrives(rules, state, number, term, end=end, carried=carried)


def _carried(rules: Rules, log: Log, confirmed: int, end: int) -> int:
    """3.8: computed by the sender for the end of the batch, never inside a stretch it knows."""
    index = min(confirmed, end)
    return index if rules.broken == "stretch_rule_carried" else lowered(log, index)


def _without_looking(rules: Rules, log: Log, sent: Log, end: int) -> Log:
    """What is behind the end of this log, whatever is before it (7, broken)."""
    for at in range(log.length + 1, end + 1):
        log = rules.logs.add(log, sent.at(at))
    return log


def _arrives(rules: Rules, state: State, number: int, term: int, *, end: int, carried: int) -> Step:
    """Entries up to `end` and the confirmed index that rode on them."""
    node, sent = state.nodes[number], state.sent[term]
    assert sent is not None
    common = node.log.common(sent.log)
    log, durable, broken = node.log, node.durable, ""
    what = "arrives"
    if end > common:
        if node.log.length > common:
            what = "is cut"
            if common < node.confirmed:
                broken = f"no cut reaches what is confirmed: {number} cuts above {common}"
        log = sent.log.upto(end)
        if rules.broken == "entry_before_unchecked" and common < node.log.length < end:
            what, log = "arrives", _without_looking(rules, node.log, sent.log, end)
        durable = min(durable, common) if rules.bounds.slow else log.length
    confirmed = max(node.confirmed, carried)
    for entry in log.entries()[:end]:
        if entry.kind == CONFIRM:
            confirmed = max(confirmed, entry.arg)
    vote = node.vote if term <= node.term else NOBODY
    changed = Node(
        max(term, node.term),
        vote,
        FOLLOWER,
        log,
        min(confirmed, log.length),
        durable,
        node.life,
        recruit=node.recruit,
    )
    state = acks(rules, state._replace(nodes=put(state, number, changed)), number, end)
    return Step(f"{what}: term {term} up to {end}, {carried} confirmed, at {number}", state, broken)
