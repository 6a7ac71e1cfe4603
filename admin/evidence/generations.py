"""How many directories each node has had: a wiped node is not the one that it was."""

from collections.abc import Iterable

from admin.evidence.manifest import NodeFacts


class Generations:
    """Counts them by their uuid, from 1, as they are met."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str], int] = {}
        self._last: dict[int, int] = {}

    def restore(self, nodes: Iterable[NodeFacts]) -> None:
        """What was known before; instead of what was met since."""
        self._known = {(each.node, each.uuid): each.generation for each in nodes}
        self._last = {each.node: each.generation for each in nodes}

    def meet(self, node: int, uuid: str, generation: int) -> None:
        """One that was met before."""
        self._known[node, uuid] = generation
        self._last[node] = max(self._last.get(node, 0), generation)

    def of(self, facts: NodeFacts) -> int:
        """The generation of a directory that was met now."""
        return self.number(facts.node, facts.uuid)

    def number(self, node: int, uuid: str) -> int:
        """The same by its parts."""
        found = self._known.get((node, uuid))
        if found is None:
            found = self._known[node, uuid] = self._last[node] = self._last.get(node, 0) + 1
        return found
