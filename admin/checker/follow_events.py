"""Ordinary events of a cluster: nodes that join, leave, restart or lead. None is an alarm."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from admin.evidence.tables import Row


class FollowEventKind(StrEnum):
    """An ordinary event; not a violation."""

    EVENT = "event"
    VIOLATION = "violation"


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowNote:
    """One line of the output. `seconds` since the first sample."""

    what: FollowEventKind
    message: str
    seconds: float
    invariant: str = ""
    node: int = 0
    index: int = 0
    term: int = 0


@dataclass(slots=True)
class _Node:
    """The remembered state of a node."""

    name: str
    row: Row
    life: int
    generation: int
    silent: bool = False


class StatusEvents:
    """Remembers one status a node."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._begun: float | None = None
        self._nodes: dict[int, _Node] = {}
        self._leader = (0, 0)

    @property
    def seconds(self) -> float:
        """Since the first look."""
        return 0.0 if self._begun is None else self._now() - self._begun

    @property
    def rows(self) -> list[Row]:
        """The last status of each node."""
        return [node.row for node in self._nodes.values()]

    def update(self, status: Sequence[Row]) -> Iterator[FollowNote]:
        """Take the current statuses of all nodes that answer."""
        self._begun = self._now() if self._begun is None else self._begun
        yield from self._met(status)
        yield from self._led(status)

    def record(self, message: str, *, node: int = 0, term: int = 0) -> FollowNote:
        """An event."""
        return FollowNote(
            what=FollowEventKind.EVENT, message=message, seconds=self.seconds, node=node, term=term
        )

    def _met(self, status: Sequence[Row]) -> Iterator[FollowNote]:
        """Return the nodes that joined, left, or restarted."""
        here = {_int(row["node"]): row for row in status}
        for number, row in sorted(here.items()):
            node = self._nodes.get(number)
            name = str(row["name"] or f"n{number}")
            life, generation = _int(row["life"]), _int(row["generation"])
            if node is None:
                self._nodes[number] = _Node(name, row, life, generation)
                yield self.record(f"{name} is {row['role']} in term {row['term']}", node=number)
                continue
            if generation != node.generation:
                yield self.record(f"{name} has a new directory", node=number)
            elif life != node.life:
                yield self.record(f"{name} runs again, {_as(node.row, row)}", node=number)
            elif node.silent:
                yield self.record(f"{name} answers again", node=number)
            self._nodes[number] = _Node(name, row, life, generation)
        for number, node in self._nodes.items():
            if number not in here and not node.silent:
                node.silent = True
                yield self.record(f"{node.name} does not answer", node=number)

    def _led(self, status: Sequence[Row]) -> Iterator[FollowNote]:
        """Return the leader, when it changes."""
        leaders = [row for row in status if row["role"] == "leader"]
        if leaders:
            row = max(leaders, key=lambda each: _int(each["term"]))
            found = _int(row["node"]), _int(row["term"])
            if found != self._leader and found[1] >= self._leader[1]:
                self._leader = found
                text = f"{row['name']} leads in term {row['term']}"
                yield self.record(text, node=found[0], term=found[1])
        elif self._leader[0] and status:
            self._leader = 0, self._leader[1]
            yield self.record("no leader")


def _as(before: Row, row: Row) -> str:
    """Describe the restart. If a disk was lost, the others still have the confirmed entries."""
    had = min(_int(before["confirmed"] or 0), _int(before["written"] or 0))
    has = _int(row["written"] or 0)
    return "as a new process" if has >= had else f"without what it had above {has}"


def _int(value: object) -> int:
    assert isinstance(value, int), value
    return value
