"""Compares the stored rows with the leader's, at an index at which both stop to look.

Every fold keeps sums over the rows, so that this costs nothing for a row. The leader names its
confirmed index: no follower can have folded beyond it, for nothing above it was confirmed when
that was said. Each stops its folding there for a moment, remembers its sums, and goes on; those of
the leader follow, and each follower compares. A difference is reported and never repaired: nobody
knows which of the two is right. A node that is wrong by itself finds out by `Care`.
"""

from collections.abc import Callable, Iterable

from election.messages import Index, Replica, Term
from qsync.data import schema
from qsync.node.timeline import Timeline
from qsync.replica import Replica as Core
from qsync.store.contract import Spaces
from qsync.store.seals import GROUP_SIZE, Sum
from qsync.wire import peer_sums
from qsync.wire.peer_sums import GROUPS_MAX, PeerSums

Groups = dict[bytes, Sum]
Place = tuple[Term, Index]


class Comparing:
    """Of one node. `tick` a few times a second; `folded` when the index of the rows has moved."""

    def __init__(
        self,
        replica: Core,
        spaces: Spaces,
        *,
        timeline: Timeline,
        interval: float,
        send: Callable[[bytes], None],
        suspect: Callable[[], None],
    ) -> None:
        """The leader asks once in `interval` seconds, 0: never. `send`: to all the others."""
        self.differs: tuple[str, ...] = ()
        """The spaces that were not the leader's when they were compared last."""
        self.compared = Index(0)
        """At which index that was."""
        self._replica = replica
        self._spaces = spaces
        self._timeline = timeline
        self._interval = interval
        self._send = send
        self._suspect = suspect
        self._due = 0.0
        self._goal: Place | None = None
        self._seen: dict[str, tuple[Place, Groups]] = {}

    @property
    def stop(self) -> Index | None:
        """The index at which folding must stop to compare."""
        return self._goal[1] if self._goal is not None else None

    def next_stop(self) -> Index | None:
        """The same, once the sums are taken if the rows are there: a snapshot may have come."""
        self.folded()
        return self.stop

    def tick(self, now: float) -> None:
        """Take sums that are due. The leader asks for a comparison when the last one was passed."""
        self.folded()
        machine = self._replica.machine
        leader = machine.leader
        if not self._interval or now < self._due or leader is None or not leader.established:
            return
        if self._goal is not None and self._goal[0] == machine.term:
            return
        self._due = now + self._interval
        index = machine.replicated_log.confirmed
        self._goal = (machine.term, index)
        self._send(peer_sums.encode(PeerSums(term=machine.term, index=index, groups=None)))
        self.folded()

    def folded(self) -> None:
        """Remember the sums when the rows are at the index of the comparison."""
        goal = self._goal
        if goal is None or self._spaces.folded < goal[1]:
            return
        self._goal = None
        if self._spaces.folded > goal[1]:
            return
        mine = _of_users(self._spaces.sums.groups.items())
        self._seen["mine"] = (goal, mine)
        if self._replica.machine.leader is not None:
            groups = tuple((name, *each) for name, each in mine.items())
            self._send(peer_sums.encode(PeerSums(term=goal[0], index=goal[1], groups=groups)))
        self._compare()

    def heard(self, peer: Replica, message: PeerSums) -> None:
        """Take an index to compare at, or a peer's sums; only the leader of our term may ask."""
        machine = self._replica.machine
        if message.term != machine.term or machine.raft.leader != peer:
            return
        place = (message.term, message.index)
        if message.groups is None:
            self._goal = place
            self.folded()
        else:
            theirs = _of_users((name, Sum(*each)) for name, *each in message.groups)
            self._seen["theirs"] = (place, theirs)
            self._compare()

    def _compare(self) -> None:
        if self._seen.keys() < {"mine", "theirs"}:
            return
        (here, mine), (there, theirs) = self._seen["mine"], self._seen["theirs"]
        if here != there:
            return
        self._seen.clear()
        names = mine.keys() | theirs.keys()
        differing = sorted(each for each in names if mine.get(each) != theirs.get(each))
        before, self.compared = self.differs, here[1]
        self.differs = tuple(map(self._name_of, differing))
        if self.differs and self.differs != before:
            fields = {"index": here[1], "term": here[0], "spaces": list(self.differs)}
            self._timeline.append("spaces_differ", fields)
        if self.differs:
            self._suspect()

    def _name_of(self, group: bytes) -> str:
        """Return the name of a space; its number where there are users: all of them are told."""
        number, shown = int.from_bytes(group, "big"), self._replica.raw.schemas.shown
        known = shown.find(number)
        is_told = known is not None and (known.system or shown.rights is None)
        return known.name if known is not None and is_told else str(number)


def _of_users(groups: Iterable[tuple[bytes, Sum]]) -> Groups:
    """In order, without sessions, whose rows are each node's own affair, and not too many."""
    own = schema.SESSION.to_bytes(GROUP_SIZE, "big")
    return dict(sorted((name, each) for name, each in groups if name != own)[:GROUPS_MAX])
