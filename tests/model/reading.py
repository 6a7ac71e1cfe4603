"""Section 7, reads: a place is noted, a round begun after that is answered, then it is served."""

from collections.abc import Iterator

from tests.model.logs import SYNC, Log
from tests.model.rules import Rules
from tests.model.state import FOLLOWER, LEADER, NOBODY, Read, State, Step, put

KNOWN = -1


def steps(rules: Rules, state: State, number: int) -> Iterator[Step]:
    """What node `number` may do with reads."""
    if not rules.bounds.reads:
        return
    node = state.nodes[number]
    may = rules.has_taken_over(node) or rules.broken == "reads_before_promote"
    if node.role == LEADER and state.used.reads < rules.bounds.reads and may:
        for asked in range(rules.count):
            yield _noted(rules, state, number, asked)
    for read in state.reads:
        yield from _goes_on(rules, state, number, read)


def _goes_on(rules: Rules, state: State, number: int, read: Read) -> Iterator[Step]:
    node = state.nodes[number]
    if read.heard == KNOWN:
        if read.node == number:
            yield from _served(rules, state, read)
    elif read.leader == number:
        if node.role != LEADER or node.term != read.term:
            yield _dropped(state, read)
        elif rules.is_majority(read.heard, rules.voters(node)):
            yield _told(state, read)
    elif not read.heard >> rules.pair(number, node) & 1 and node.term <= read.term:
        yield _answers(rules, state, number, read)


def _noted(rules: Rules, state: State, number: int, asked: int) -> Step:
    """The leader notes what is confirmed, for itself or for who asked it, and begins a round."""
    node = state.nodes[number]
    place = node.log.upto(node.confirmed)
    own = 1 << rules.pair(number, node)
    if rules.broken == "read_without_round":
        own = sum(1 << rules.pair(other, each) for other, each in enumerate(state.nodes))
    read = Read(asked, number, node.term, state.decided, place, own)
    used = state.used._replace(reads=state.used.reads + 1)
    # Asked before something is confirmed and noted after it: the same with an older floor.
    return Step(
        f"asks to read: {asked} of {number}", state._replace(reads=(*state.reads, read), used=used)
    )


def _answers(rules: Rules, state: State, number: int, read: Read) -> Step:
    """A heartbeat of this round was heard: nobody of a later term answers it."""
    node = state.nodes[number]
    heard = read.heard | 1 << rules.pair(number, node)
    if node.term < read.term:
        node = node._replace(term=read.term, vote=NOBODY, role=FOLLOWER, votes=0, acks=())
    nodes = put(state, number, node)
    changed = state._replace(nodes=nodes, reads=_instead(state, read, read._replace(heard=heard)))
    return Step(f"answers the round: {number}", changed)


def _told(state: State, read: Read) -> Step:
    """A majority answered: the place goes to who asked."""
    known = _instead(state, read, read._replace(heard=KNOWN))
    return Step(f"tells the place: to {read.node}", state._replace(reads=known))


def _served(rules: Rules, state: State, read: Read) -> Iterator[Step]:
    """Its own log must be known to have that very entry, not only one as far (7)."""
    node = state.nodes[read.node]
    facts = rules.logs.facts(node.log, node.confirmed)
    visible = facts.pending[0] - 1 if facts.pending else node.log.length
    if rules.broken == "refuses_by_head" and node.role == LEADER:
        visible = node.log.length  # what a condition failed on may be pending
    if rules.broken == "shows_pending":
        visible = node.log.length
    if rules.broken == "reads_by_index":
        if visible < read.place.length:
            return
    elif node.log.length < read.place.length or not node.log.upto(visible).has(read.place):
        return
    shown = node.log.upto(visible)
    broken = ""
    if not _shows(shown, read.floor):
        broken = f"reads are fresh: {read.node} shows {shown!r}, confirmed was {read.floor!r}"
    elif "p" in facts.fates[:visible]:
        broken = f"no pending data is readable: {read.node} shows {shown!r}"
    yield Step(f"serves: {read.node}", state._replace(reads=_without(state, read)), broken)


def _shows(shown: Log, floor: Log) -> bool:
    """All that was confirmed when it was asked."""
    return shown.has(floor) or not any(
        floor.at(at).kind == SYNC and (at > shown.length or shown.at(at) != floor.at(at))
        for at in range(1, floor.length + 1)
    )


def _dropped(state: State, read: Read) -> Step:
    """Who does not lead any more refuses what waits."""
    return Step("refuses to read: term over", state._replace(reads=_without(state, read)))


def _without(state: State, read: Read) -> tuple[Read, ...]:
    found = list(state.reads)
    found.remove(read)
    return tuple(found)


def _instead(state: State, read: Read, changed: Read) -> tuple[Read, ...]:
    return tuple(sorted((*_without(state, read), changed), key=str))
