"""M1 to M5: voters are changed one by one through the log; a lost disk makes a stranger."""

from collections.abc import Iterator

from tests.model.logs import ROLLBACK, VOTERS, Entry, Log
from tests.model.rules import Rules
from tests.model.state import FOLLOWER, LEADER, NOBODY, Node, State, Step, put
from tests.model.writing import appended


def steps(rules: Rules, state: State, number: int) -> Iterator[Step]:
    """What node `number` may do."""
    node = state.nodes[number]
    if state.used.wipes < rules.bounds.wipes and node.log.length:
        yield _is_wiped(rules, state, number)
    if node.recruit:
        yield from _is_repaired(rules, state, number)
    if state.used.changes >= rules.bounds.changes or node.role != LEADER:
        return
    if node.log.length < rules.bounds.log and _may_change(rules, node):
        yield from _changes(rules, state, number)


def _is_wiped(rules: Rules, state: State, number: int) -> Step:
    """M5 a: an empty directory is a new pair, that no configuration names."""
    node = state.nodes[number]
    again = Node(0, NOBODY, FOLLOWER, rules.logs.empty, 0, 0, node.life + 1)
    if rules.broken.startswith("repaired_in_place"):
        again = again._replace(life=node.life, recruit=True)
    used = state.used._replace(wipes=state.used.wipes + 1)
    changed = state._replace(nodes=put(state, number, again), used=used)
    return Step(f"loses its disk: {number}", changed)


def _is_repaired(rules: Rules, state: State, number: int) -> Iterator[Step]:
    """Three ways to make a lost disk a voter again in place, each of which M5 refutes."""
    node = state.nodes[number]
    leader = rules.leader_of(state, node.term)
    if leader is None:
        return
    log, healthy = state.nodes[leader].log, 0
    for other, each in enumerate(state.nodes):
        if each.term == node.term and not each.recruit:
            healthy |= 1 << rules.pair(other, each)
    good = node.log.own_promote(node.term) > 0
    if rules.broken != "repaired_in_place_by_promote":
        good = node.log.has(log)
    if rules.broken == "repaired_in_place_by_majority":
        good = good and rules.is_majority(healthy, rules.voters(state.nodes[leader]))
    if good:
        changed = put(state, number, node._replace(recruit=False))
        state = state._replace(nodes=changed)
        known = list(state.nodes[leader].acks)
        known[rules.pair(number, node)] = node.log.common(log)
        leads = state.nodes[leader]._replace(acks=tuple(known))
        yield Step(
            f"is repaired in place: {number}", state._replace(nodes=put(state, leader, leads))
        )


def _may_change(rules: Rules, node: Node) -> bool:
    """M2: its own PROMOTE is confirmed, and the former change is decided."""
    if rules.broken != "change_before_promote" and not rules.has_taken_over(node):
        return False
    return rules.broken == "change_undecided" or _is_decided(rules, node.log, node.confirmed)


def _is_decided(rules: Rules, log: Log, confirmed: int) -> bool:
    """Confirmed, or rolled back by a ROLLBACK that is itself confirmed (M2 b)."""
    careless = rules.broken == "rollback_of_change_undecided"
    for at in range(confirmed + 1, log.length + 1):
        entry = log.at(at)
        if entry.kind == VOTERS and not (careless and _is_rolled_back(log, at)):
            return False
        if entry.kind == ROLLBACK and not careless and _covers_change(log, at):
            return False
    return True


def _is_rolled_back(log: Log, index: int) -> bool:
    return any(each.kind == ROLLBACK and each.arg <= index for each in log.entries()[index:])


def _covers_change(log: Log, rollback: int) -> bool:
    return any(log.at(at).kind == VOTERS for at in range(log.at(rollback).arg, rollback))


def _changes(rules: Rules, state: State, number: int) -> Iterator[Step]:
    """One voter in, or one out (M1 a), of the configuration in force at the head (M2 c)."""
    node = state.nodes[number]
    voters = rules.voters(node)
    there = 0
    for other, each in enumerate(state.nodes):
        there |= 1 << rules.pair(other, each)
    for bit in range(rules.pairs):
        one = 1 << bit
        if voters & one:
            wanted = [voters & ~one]
        elif there & one and not rules.ids(voters) & rules.ids(one):
            wanted = [voters | one]
        else:
            continue
        if rules.broken == "two_changes_in_one" and voters & one:
            rest = [each for each in range(rules.pairs) if wanted[0] >> each & 1]
            wanted += [wanted[0] & ~(1 << each) for each in rest]
        for named in wanted:
            if named:
                used = state.used._replace(changes=state.used.changes + 1)
                entry = Entry(node.term, VOTERS, named)
                what = f"changes: {number} to {_names(rules, named)}"
                yield appended(rules, state, number, entry, used=used, what=what)


def _names(rules: Rules, mask: int) -> str:
    pairs = [bit for bit in range(rules.pairs) if mask >> bit & 1]
    return "{" + ",".join(f"{b % rules.count}" + "'" * (b // rules.count) for b in pairs) + "}"
