"""The voters of a node at a moment, according to its events: replicas with directories."""

from dataclasses import dataclass, field

from admin.checker.rules.run import NodeEvent
from election.quorum import majority

Pair = tuple[int, int]
"""A replica, and the number of its instance (membership.md: voter)."""
Pairs = frozenset[Pair]
UNTOLD = 0
"""The instance of a node without an event about its directory."""


@dataclass(slots=True)
class _Followed:
    """The current configuration of a node, since when, and the one before."""

    since: int
    former: Pairs | None
    voters: set[Pair] = field(default_factory=set)
    quorum: int | None = None
    """The quorum of its last confirm."""


class Voters:
    """membership.md M1: a configuration is in force once it is appended to a node's log."""

    names = frozenset({"started", "opened", "configured", "voter"})

    def __init__(self) -> None:
        self.known = False
        self._instances: dict[int, int] = {}
        self._followed: dict[int, _Followed] = {}

    def step(self, each: NodeEvent) -> None:
        """A start, a directory, a configuration or one of its voters."""
        if each.name == "started":
            self._followed.pop(each.node, None)
            self._instances.pop(each.node, None)
        elif each.name == "opened":
            self._instances[each.node] = each.floor or UNTOLD
        elif each.name == "configured":
            self.known = True
            before = self._followed.get(each.node)
            former = None if before is None else frozenset(before.voters)
            self._followed[each.node] = _Followed(each.time_mono, former)
        elif each.name == "voter" and each.node in self._followed:
            self._followed[each.node].voters.add((each.peer or 0, each.floor or UNTOLD))

    def pair(self, node: int) -> Pair:
        """The voter that an ack of this node counts as now (M1 d)."""
        return (node, self._instances.get(node, UNTOLD))

    def counted_by(self, confirmed: NodeEvent) -> list[tuple[Pairs, int]]:
        """Sets of voters that a confirm may count, with their quorums (M10 a, b); [] if unknown.

        There are two if the configuration changed in the batch that confirmed. A changed quorum may
        be from after the confirm.
        """
        followed = self._followed.get(confirmed.node)
        if followed is None:
            return []
        says, before = confirmed.floor or 0, followed.quorum
        followed.quorum = confirmed.floor
        asked = says if before is None else min(says, before)
        found = [frozenset(followed.voters)]
        if followed.former is not None and followed.since == confirmed.time_mono:
            found.append(followed.former)
        return [(each, max(asked, majority(len(each)))) for each in found]
