"""Section 9: what holds in every state, of each node, of each two, and towards clients."""

from tests.model.logs import Facts, Log
from tests.model.rules import Rules
from tests.model.state import LEADER, Node, State


class Properties:
    """Asked of every state; what two logs say of each other is computed once."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._matching: dict[tuple[int, int], str] = {}
        self._same: dict[tuple[int, int, int, int], str] = {}

    def broken(self, state: State) -> str:
        """The first that does not hold, with its evidence."""
        for number, node in enumerate(state.nodes):
            found = self._alone(state, number, node)
            if found:
                return found
            for other in state.nodes[number + 1 :]:
                found = self._match(node.log, other.log) or self._agree(node, other)
                if found:
                    return found
        if state.told & state.refused:
            return "one fate: a client heard both committed and rolled back"
        return ""

    def _alone(self, state: State, number: int, node: Node) -> str:
        facts = self._facts(node)
        if facts.twice:
            return f"once: a request took effect twice in the log of {number}"
        if facts.shown & state.refused:
            return f"definite rollback: {number} shows what a client was told is rolled back"
        if "p" in facts.fates[: node.confirmed]:
            return f"one fate: {number} has something pending below its confirmed index"
        if state.told & facts.gone:
            return f"nothing confirmed is lost: {number} has rolled back what a client was told"
        if node.role == LEADER and self._rules.has_taken_over(node):
            # Leader completeness, of those leaders that follow the one who confirmed it.
            later = node.term >= state.decided.term
            if later and state.told & ~facts.shown:
                return f"nothing confirmed is lost: leader {number} does not show what was told"
        return ""

    def _match(self, one: Log, other: Log) -> str:
        """Equal index and term: equal entries, and equal before that."""
        key = (one.number, other.number)
        found = self._matching.get(key)
        if found is None:
            found = ""
            for at in range(one.common(other) + 1, min(one.length, other.length) + 1):
                if one.at(at).term == other.at(at).term:
                    found = f"log matching: {one!r} against {other!r} at {at}"
            self._matching[key] = found
        return found

    def _agree(self, one: Node, other: Node) -> str:
        """What both know as confirmed: the same entries, with the same fates."""
        key = (one.log.number, one.confirmed, other.log.number, other.confirmed)
        found = self._same.get(key)
        if found is None:
            found, upto = "", min(one.confirmed, other.confirmed)
            if one.log.upto(upto) is not other.log.upto(upto):
                found = f"same entries: {one.log!r} against {other.log!r} up to {upto}"
            elif self._facts(one).fates[:upto] != self._facts(other).fates[:upto]:
                found = f"one fate: {one.log!r} against {other.log!r} up to {upto}"
            self._same[key] = found
        return found

    def _facts(self, node: Node) -> Facts:
        return self._rules.logs.facts(node.log, node.confirmed)
