"""Sections 3, 5 and 6: what a leader appends, confirms, rolls back, and tells its clients."""

from collections.abc import Iterator

from tests.model.logs import (
    ASYNC,
    CONFIRM,
    PROMOTE,
    ROLLBACK,
    SYNC,
    Entry,
    Log,
    lowered,
)
from tests.model.rules import Rules
from tests.model.state import LEADER, Node, Sent, State, Step, Used, put


def steps(rules: Rules, state: State, number: int) -> Iterator[Step]:
    """What node `number` may do."""
    node = state.nodes[number]
    if node.durable < node.log.length:
        yield _is_durable(rules, state, number)
    if node.role != LEADER:
        return
    if rules.may_write(node):
        yield from _writes(rules, state, number)
    yield from _rolls_back(rules, state, number)
    yield from _confirms(rules, state, number)


def appended(
    rules: Rules, state: State, number: int, entry: Entry, *, used: Used, what: str
) -> Step:
    """The leader has one entry more; sending runs beside its own write (3.4)."""
    node = state.nodes[number]
    log = rules.logs.add(node.log, entry)
    changed = _grown(rules, number, node, log)
    sent = list(state.sent)
    sent[node.term] = Sent(log, node.confirmed)
    nodes = put(state, number, changed)
    return Step(what, state._replace(nodes=nodes, sent=tuple(sent), used=used))


def _grown(rules: Rules, number: int, node: Node, log: Log) -> Node:
    if rules.bounds.slow:
        return node._replace(log=log)
    return _acked(rules, number, node._replace(log=log, durable=log.length))


def _acked(rules: Rules, number: int, node: Node) -> Node:
    """The leader's own write counts like the ack of any other."""
    acks = list(node.acks)
    acks[rules.pair(number, node)] = node.durable
    return node._replace(acks=tuple(acks))


def _is_durable(rules: Rules, state: State, number: int) -> Step:
    """A write is done. A follower acks then, and only then, what of it is its leader's (3.5)."""
    node = state.nodes[number]._replace(durable=state.nodes[number].log.length)
    nodes = put(state, number, _acked(rules, number, node) if node.role == LEADER else node)
    state = state._replace(nodes=nodes)
    leader = rules.leader_of(state, node.term)
    sent = state.sent[node.term]
    if leader is not None and leader != number and sent is not None:
        state = acks(rules, state, number, node.log.common(sent.log))
    return Step(f"is durable: on {number}", state)


def acks(rules: Rules, state: State, number: int, upto: int) -> State:
    """Node `number` tells the leader of its term, if there is one, that it has so much."""
    node = state.nodes[number]
    leader = rules.leader_of(state, node.term)
    if leader is None or leader == number or node.recruit:
        return state
    known = list(state.nodes[leader].acks)
    pair = rules.pair(number, node)
    if rules.broken != "ack_before_durable":
        upto = min(upto, node.durable)
    known[pair] = max(known[pair], upto)
    changed = state.nodes[leader]._replace(acks=tuple(known))
    return state._replace(nodes=put(state, leader, changed))


def _writes(rules: Rules, state: State, number: int) -> Iterator[Step]:
    node, used, bounds = state.nodes[number], state.used, rules.bounds
    request = used.writes + used.asyncs
    for kind, have, most in (
        (SYNC, used.writes, bounds.writes),
        (ASYNC, used.asyncs, bounds.asyncs),
    ):
        if have < most:
            now = used._replace(**{"writes" if kind == SYNC else "asyncs": have + 1})
            what = f"writes: {number} {kind}{request}"
            yield appended(
                rules, state, number, Entry(node.term, kind, request), used=now, what=what
            )
    if used.retries < bounds.retries:
        # A copy of a request may come late, also when its client heard an answer long ago.
        for each in range(request):
            if not _is_known(rules, node, each):
                now = used._replace(retries=used.retries + 1)
                what = f"asks again: {number} S{each}"
                yield appended(
                    rules, state, number, Entry(node.term, SYNC, each), used=now, what=what
                )


def _is_known(rules: Rules, node: Node, request: int) -> bool:
    """Exactly once: what is in the log already, whatever its fate, is not applied again."""
    if rules.broken == "retry_applies_twice":
        return False
    log = node.log
    if rules.broken == "sessions_forgotten":
        promote = log.own_promote(node.term)
        return any(each.arg == request for each in log.entries()[promote:] if each.kind == SYNC)
    return bool(log.requests >> request & 1)


def _rolls_back(rules: Rules, state: State, number: int) -> Iterator[Step]:
    """Only what is pending and of its own term, and only after its PROMOTE is confirmed (5)."""
    node, used = state.nodes[number], state.used
    careless = rules.broken == "rollback_inherited"
    if used.rollbacks >= rules.bounds.rollbacks or node.log.length >= rules.bounds.log:
        return
    if not careless and not rules.has_taken_over(node):
        return
    for at in rules.logs.facts(node.log, node.confirmed).pending:
        entry = node.log.at(at)
        if entry.kind != PROMOTE and (entry.term == node.term or careless):
            now = used._replace(rollbacks=used.rollbacks + 1)
            record = Entry(node.term, ROLLBACK, at)
            step = appended(
                rules, state, number, record, used=now, what=f"rolls back: {number} from {at}"
            )
            if rules.broken == "rolled_back_said_at_once":
                log = step.state.nodes[number].log
                refused = sum({1 << log.at(each).arg for each in _victims(log, at)})
                step = step._replace(state=step.state._replace(refused=state.refused | refused))
            yield step
            return


def _victims(log: Log, first: int) -> list[int]:
    return [at for at in range(first, log.length) if log.at(at).kind in (SYNC, ASYNC)]


def _confirms(rules: Rules, state: State, number: int) -> Iterator[Step]:
    """3.6: up to any index that a quorum is known to have, with the leader's own term there.

    Acks come late, so the leader may know of less than was said: any index below will do.
    """
    node = state.nodes[number]
    voters = rules.voters(node)
    done = set[int]()
    for index in range(node.confirmed + 1, node.log.length + 1):
        have = sum(1 << pair for pair, upto in enumerate(node.acks) if upto >= index)
        own = 1 << rules.pair(number, node)
        if rules.broken == "own_write_not_awaited":
            have |= own
        if not rules.may_confirm(have, voters, own=own):
            return
        if node.log.at(index).term != node.term and rules.broken != "confirm_older_term":
            continue
        upto = index
        if rules.broken != "stretch_rule_leader":
            upto = lowered(node.log, index)
        if upto > node.confirmed and upto not in done:
            done.add(upto)
            yield _confirmed(rules, state, number, upto)


def _confirmed(rules: Rules, state: State, number: int, upto: int) -> Step:
    node = state.nodes[number]
    before = rules.logs.facts(node.log, node.confirmed)
    log = node.log
    syncs = [at for at in before.pending if at <= upto and log.at(at).kind != ASYNC]
    if syncs and rules.bounds.records and log.length < rules.bounds.log:
        log = rules.logs.add(log, Entry(node.term, CONFIRM, syncs[-1]))
    changed = _grown(rules, number, node, log)._replace(confirmed=upto)
    sent = list(state.sent)
    sent[node.term] = Sent(log, upto)
    facts = rules.logs.facts(log, upto)
    # Clients of synchronous requests hear it now (3.7), and of a rollback that is on a quorum (5).
    told = sum({1 << log.at(at).arg for at in syncs if log.at(at).kind == SYNC})
    decided, broken = state.decided, ""
    now = log.upto(upto)
    if now.has(decided):
        was = rules.logs.facts(decided, decided.length).fates
        if rules.logs.facts(now, upto).fates[: len(was)] != was:
            broken = f"one fate: {number} confirmed {now!r} after {decided!r}"
        decided = now
    elif not decided.has(now):
        broken = f"same entries: {number} confirmed {now!r}, and {decided!r} was before"
    for term in range(node.term + 1, len(state.sent)):
        successor = state.sent[term]
        if successor is not None and not successor.log.has(now) and not broken:
            broken = f"no two quorums: {number} confirmed {now!r}, and term {term} is led without"
    return Step(
        f"confirms: {number} up to {upto}",
        state._replace(
            nodes=put(state, number, changed),
            sent=tuple(sent),
            decided=decided,
            told=state.told | told,
            refused=state.refused | (facts.gone & ~state.told),
        ),
        broken,
    )
