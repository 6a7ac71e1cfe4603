"""The model of a cluster: sections 2 to 7 of the protocol and M1 to M5 of its membership.

Each rule is one function in `elections`, `writing`, `replicating`, `membership` or `reading`; this
puts them together, finds states that are alike, and asks the properties.
"""

from collections.abc import Iterator
from itertools import permutations, product

from tests.model import elections, membership, properties, reading, replicating, writing
from tests.model.logs import PROMOTE, VOTERS, Entry, Logs
from tests.model.rules import Rules
from tests.model.state import FOLLOWER, LEADER, NOBODY, Bounds, Node, Read, Sent, State, Step


class Cluster:
    """A model for `search`. `broken` names the one rule that is not kept."""

    def __init__(self, bounds: Bounds, broken: str = "") -> None:
        self.bounds, self.rules = bounds, Rules(bounds, Logs(broken), broken)
        self._properties = properties.Properties(self.rules)

    def first(self) -> State:
        """Founded (M1 c): the voters have one entry, which names them; others have nothing."""
        bounds, logs = self.bounds, self.rules.logs
        founded = logs.add(logs.empty, Entry(0, VOTERS, (1 << bounds.voters) - 1))
        nodes = [
            Node(0, NOBODY, FOLLOWER, founded, 1, 1)
            if number < bounds.voters
            else Node(0, NOBODY, FOLLOWER, logs.empty, 0, 0)
            for number in range(bounds.nodes)
        ]
        sent: list[Sent | None] = [None] * (bounds.terms + 1)
        state = State(tuple(nodes), tuple(sent), founded)
        return self._led(state) if bounds.led else state

    def _led(self, state: State) -> State:
        """Node 0 leads term 1, its PROMOTE is confirmed and on every voter."""
        rules, voters = self.rules, self.bounds.voters
        log = rules.logs.add(state.decided, Entry(1, PROMOTE))
        acks = tuple(log.length if pair < voters else 0 for pair in range(rules.pairs))
        leader = Node(1, 0, LEADER, log, log.length, log.length, acks=acks)
        follower = Node(1, 0, FOLLOWER, log, log.length, log.length)
        nodes = (leader, *(follower,) * (voters - 1), *state.nodes[voters:])
        sent = (None, Sent(log, log.length), *state.sent[2:])
        return State(nodes, sent, log)

    def steps(self, state: State) -> Iterator[Step]:
        """Everything that may happen next."""
        rules = self.rules
        for number in range(self.bounds.nodes):
            yield from elections.steps(rules, state, number)
            yield from writing.steps(rules, state, number)
            yield from replicating.steps(rules, state, number)
            yield from membership.steps(rules, state, number)
            yield from reading.steps(rules, state, number)

    def broken(self, state: State) -> str:
        """Which property does not hold."""
        return self._properties.broken(state)

    def reached(self, what: str, state: State) -> str:
        """What just happened, without the names."""
        return what.partition(":")[0]

    def same(self, state: State) -> State:
        """Names of nodes mean nothing: of all states that differ in them alone, one."""
        state = self._forgotten(state)
        nodes = state.nodes
        keys = [_shape(node) for node in nodes]
        order = sorted(range(len(nodes)), key=keys.__getitem__)
        groups: list[list[int]] = []
        for number in order:
            if groups and keys[groups[-1][0]] == keys[number]:
                groups[-1].append(number)
            else:
                groups.append([number])
        if len(groups) == len(nodes):
            return self._renamed(state, order)
        found = [
            self._renamed(state, [number for group in choice for number in group])
            for choice in product(*(permutations(group) for group in groups))
        ]
        return min(found, key=_number)

    def _forgotten(self, state: State) -> State:
        """What was sent in a term below everybody's can arrive nowhere."""
        if state.used.wipes < self.bounds.wipes:
            return state  # a wiped node is below everybody
        lowest = min(node.term for node in state.nodes)
        if any(state.sent[:lowest]):
            sent = (None,) * lowest + state.sent[lowest:]
            return state._replace(sent=sent)
        return state

    def _renamed(self, state: State, order: list[int]) -> State:
        """`order`: the former names, in the order of the new ones."""
        rules, count = self.rules, len(order)
        names = [0] * count
        for new, old in enumerate(order):
            names[old] = new
        called = tuple(names)
        if called == tuple(range(count)):
            return state
        bits = rules.bits(called)
        renamed = rules.logs.renamed
        nodes = []
        for old in order:
            node = state.nodes[old]
            acks = node.acks
            if acks:
                changed = [0] * len(acks)
                for pair, upto in enumerate(acks):
                    changed[bits[pair]] = upto
                acks = tuple(changed)
            nodes.append(
                Node(
                    node.term,
                    node.vote if node.vote == NOBODY else called[node.vote],
                    node.role,
                    renamed(node.log, called, bits),
                    node.confirmed,
                    node.durable,
                    node.life,
                    rules.renamed_bits(node.votes, called) if node.votes else 0,
                    acks,
                    node.recruit,
                )
            )
        sent = tuple(
            each and Sent(renamed(each.log, called, bits), each.confirmed) for each in state.sent
        )
        reads = tuple(
            Read(
                called[each.node],
                called[each.leader],
                each.term,
                renamed(each.floor, called, bits),
                renamed(each.place, called, bits),
                each.heard if each.heard < 0 else rules.renamed_bits(each.heard, called),
            )
            for each in state.reads
        )
        decided = renamed(state.decided, called, bits)
        return State(tuple(nodes), sent, decided, state.told, state.refused, state.used, reads)


def _shape(node: Node) -> tuple[int | str, ...]:
    """What of a node has no names in it."""
    log = node.log
    return (
        *(node.term, node.role, log.length, log.term, node.confirmed, node.durable, node.life),
        *(node.votes.bit_count(), sum(node.acks), node.vote == NOBODY, node.recruit),
    )


def _number(state: State) -> tuple[int, ...]:
    """A number for each thing in it, so that any two differ."""
    found = [state.decided.number]
    for node in state.nodes:
        found += (node.vote, node.log.number, node.votes, *node.acks)
    for each in state.sent:
        found.append(-1 if each is None else each.log.number)
    for read in state.reads:
        found += (read.node, read.leader, read.floor.number, read.place.number, read.heard)
    return tuple(found)
