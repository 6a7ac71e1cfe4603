"""Section 2: terms, votes and who leads. Pre-votes and patience decide when, never whether."""

from collections.abc import Iterator

from tests.model.logs import CONFIRM, PROMOTE, Entry
from tests.model.rules import Rules
from tests.model.state import (
    CANDIDATE,
    FOLLOWER,
    LEADER,
    NOBODY,
    Node,
    Sent,
    State,
    Step,
    put,
)


def steps(rules: Rules, state: State, number: int) -> Iterator[Step]:
    """What node `number` may do."""
    node = state.nodes[number]
    if node.role == FOLLOWER and node.term < rules.bounds.terms and _may_stand(rules, number, node):
        yield _campaigns(rules, state, number)
    if node.role == CANDIDATE:
        yield from _votes(rules, state, number)
        elected = rules.is_majority(node.votes, rules.voters(node))
        elected |= rules.broken == "minority_elects"
        if node.log.length < rules.bounds.log and elected:
            yield _wins(rules, state, number)
    if state.used.crashes < rules.bounds.crashes:
        yield _crashes(rules, state, number)


def _may_stand(rules: Rules, number: int, node: Node) -> bool:
    """M1 c: without a configuration nobody campaigns. M4 d: who was removed may, until it knows

    that this is confirmed.
    """
    voters = rules.voters(node)
    if node.recruit:
        return False
    if rules.broken == "pair_ignored":
        return bool(rules.ids(voters) >> number & 1)
    if voters >> rules.pair(number, node) & 1:
        return True
    was = 0
    for at, named in node.log.configurations:
        if at > node.confirmed:
            return bool(was >> rules.pair(number, node) & 1)
        was = named
    return False


def _campaigns(rules: Rules, state: State, number: int) -> Step:
    """A term of its own, and its own vote, are on the disk before anybody is asked."""
    node = state.nodes[number]
    own = 1 << rules.pair(number, node)
    stands = node._replace(term=node.term + 1, vote=number, role=CANDIDATE, votes=own, acks=())
    return Step(
        f"campaigns: {number} in term {stands.term}",
        state._replace(nodes=put(state, number, stands)),
    )


def _votes(rules: Rules, state: State, number: int) -> Iterator[Step]:
    """Those that the candidate's configuration names are asked (M4 e), and may say yes.

    A vote that is told is never unsaid: it counts whenever the candidate hears of it, so who told
    one is kept with the candidate, whatever becomes of the voter.
    """
    candidate = state.nodes[number]
    asked = rules.ids(rules.voters(candidate))
    for other, voter in enumerate(state.nodes):
        if (
            voter.recruit
            or other == number
            or not asked >> other & 1
            or voter.term > candidate.term
        ):
            continue
        gave = voter.term == candidate.term and voter.vote not in (NOBODY, number)
        if gave and (rules.broken != "votes_twice" or voter.role == LEADER):
            continue
        told = candidate.votes | 1 << rules.pair(other, voter)
        if told == candidate.votes or not _is_complete(rules, candidate, voter):
            continue
        nodes = list(state.nodes)
        nodes[number] = candidate._replace(votes=told)
        nodes[other] = voter._replace(
            term=candidate.term, vote=number, role=FOLLOWER, votes=0, acks=()
        )
        yield Step(
            f"votes: {other} for {number} in term {candidate.term}",
            state._replace(nodes=tuple(nodes)),
        )


def _is_complete(rules: Rules, candidate: Node, voter: Node) -> bool:
    """Only for who has all that oneself has: (last term, last index), in this order."""
    theirs, own = candidate.log, voter.log
    if rules.broken == "vote_by_length":
        return theirs.length >= own.length
    if rules.broken == "vote_unchecked":
        return True
    return (theirs.term, theirs.length) >= (own.term, own.length)


def _wins(rules: Rules, state: State, number: int) -> Step:
    """Section 6: the first entry of a term is its leader's PROMOTE."""
    node = state.nodes[number]
    broken = ""
    if state.sent[node.term] is not None:
        broken = f"one leader a term: {number} is a second one of term {node.term}"
    elif state.decided.term < node.term and not node.log.has(state.decided):
        broken = f"no two quorums: {number} was elected without {state.decided!r}"
    log = rules.logs.add(node.log, Entry(node.term, PROMOTE))
    durable = node.durable if rules.bounds.slow else log.length
    acks = [0] * rules.pairs
    if rules.broken == "ack_of_older_term":
        for other, each in enumerate(state.nodes):
            acks[rules.pair(other, each)] = each.durable
    acks[rules.pair(number, node)] = durable
    leads = node._replace(role=LEADER, log=log, durable=durable, votes=0, acks=tuple(acks))
    sent = list(state.sent)
    sent[node.term] = Sent(log, node.confirmed)
    return Step(
        f"wins: {number} term {node.term}",
        state._replace(nodes=put(state, number, leads), sent=tuple(sent)),
        broken,
    )


def _crashes(rules: Rules, state: State, number: int) -> Step:
    """What was not durable is gone, and with it what was known to be confirmed without a record."""
    node = state.nodes[number]
    log = node.log.upto(node.durable)
    confirmed = min(1, log.length)
    for entry in log.entries():
        if entry.kind == CONFIRM:
            confirmed = max(confirmed, entry.arg)
    vote = NOBODY if rules.broken == "vote_not_persisted" else node.vote
    again = Node(node.term, vote, FOLLOWER, log, confirmed, log.length, node.life)
    used = state.used._replace(crashes=state.used.crashes + 1)
    return Step(
        f"crashes: {number}",
        state._replace(nodes=put(state, number, again), used=used),
    )
