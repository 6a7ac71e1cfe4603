"""Transactions that are written but not yet decided, oldest first; and those that are decided.

Fate is a function of the log and the confirmed index (protocol.md section 4): every replica that
holds the same prefix computes the same. The limbo knows no role and no peer.
"""

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from election.messages import Index, Replica, Term
from qsync.record import WAIT_ACK, Entry, EntryKind, Lsn


class RolledBackRange(NamedTuple):
    """A rolled-back stretch: the victims are the transactions in `first .. rollback - 1`."""

    first: Index
    rollback: Index


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of the limbo since the PROMOTE or DEMOTE at `index`; replica 0: none."""

    index: Index
    owner: Replica
    term: Term


NOBODY = Owner(Index(0), Replica(0), Term(0))


class Limbo:
    """The queue (order) and the fates. Roles and acks are elsewhere."""

    def __init__(self, *, confirmed: Index, owner: Owner = NOBODY) -> None:
        self.queue: deque[Entry] = deque()
        self.confirmed = confirmed
        self._births: deque[tuple[int, float]] = deque()
        self.moved_at = -inf
        """When something was last confirmed, in monotonic seconds; set by a caller with a clock."""
        self.last_sync_confirmed: tuple[Index, Replica, Lsn] = (Index(0), Replica(0), Lsn(0))
        self._stretches: list[RolledBackRange] = []
        self._owners: list[Owner] = [owner] if owner.index else []

    def __repr__(self) -> str:
        waiting = [entry.lsn for entry in self.queue]
        return (
            f"limbo owner={self.owner.owner} waiting={len(waiting)} {waiting} "
            f"confirmed={self.confirmed}"
        )

    @property
    def owner(self) -> Owner:
        """The present owner, by the log (its PROMOTE may still be pending)."""
        return self._owners[-1] if self._owners else NOBODY

    def owner_at(self, index: Index) -> Owner:
        """Return the owner of the limbo at that index, by the log up to there."""
        return next((each for each in reversed(self._owners) if each.index <= index), NOBODY)

    @property
    def born(self) -> float:
        """When the oldest pending transaction began to wait, in monotonic seconds."""
        births = self._births
        while len(births) > 1 and births[1][0] <= self.queue[0].index:
            births.popleft()
        return births[0][1]

    def stalled(self, now: float) -> float:
        """Return for how long nothing was confirmed while something waited; 0 if nothing waits.

        A queue that moves is no stall, however long each of its transactions takes.
        """
        return max(0.0, now - max(self.born, self.moved_at)) if self.queue else 0.0

    def visible(self, last: Index) -> Index:
        """Return the index up to which entries are visible, in a log up to `last`."""
        return Index(self.queue[0].index - 1) if self.queue else last

    def recovered(self, now: float) -> None:
        """Begin the waiting time of all that was read back from the disk, by this clock."""
        if self.queue:
            self._births = deque([(self.queue[0].index, now)])

    # -- entries, in log order

    def transaction(self, entry: Entry, now: float) -> None:
        """Add a TXN or PROMOTE (always WAIT_ACK): pending if synchronous, or behind one that is."""
        queue = self.queue
        if entry.flags & WAIT_ACK or queue:
            # protocol.md section 4: what is pending is always a suffix of the log, in its order.
            assert entry.index > (queue[-1].index if queue else self.confirmed)
            births = self._births
            if not queue:
                births.clear()
            if not births or births[-1][1] != now:
                births.append((entry.index, now))
            queue.append(entry)

    def owned(self, entry: Entry) -> None:
        """Change the owner: PROMOTE gives the limbo a new one, DEMOTE none."""
        owner = entry.origin if entry.kind == EntryKind.PROMOTE else Replica(0)
        # One log: owners follow one another in it, and terms do not go back (Raft §5.3).
        assert not self._owners or entry.index > self._owners[-1].index
        assert not self._owners or entry.term >= self._owners[-1].term
        self._owners.append(Owner(entry.index, owner, entry.term))

    def rolled_back_from(self, first: Index, record: Index) -> RolledBackRange | None:
        """Apply a ROLLBACK at `record`: everything pending from `first` on. None if nothing was."""
        earliest: Index | None = None
        while self.queue and self.queue[-1].index >= first:
            earliest = self.queue.pop().index
        if earliest is None:
            return None
        # protocol.md section 4: confirmed entries are decided, and no later ROLLBACK changes that.
        assert self.confirmed < earliest < record
        stretch = RolledBackRange(earliest, record)
        self._stretches.append(stretch)
        return stretch

    # -- deciding

    def confirm(self, index: Index) -> None:
        """Decide everything up to `index`: confirmed, or rolled back by a record up to it."""
        assert index > self.confirmed
        assert self.stretch_at(index) is None
        self.confirmed = index
        queue, decided = self.queue, None
        while queue and queue[0].index <= index:
            entry = queue.popleft()
            if entry.flags & WAIT_ACK:
                decided = entry
        while queue and not queue[0].flags & WAIT_ACK:
            queue.popleft()
        # protocol.md section 3.9: an asynchronous transaction waits only behind a synchronous one.
        assert not queue or queue[0].index > index
        assert not queue or queue[0].flags & WAIT_ACK
        if decided is not None:
            self.last_sync_confirmed = (decided.index, decided.origin, decided.lsn)

    def stretch_at(self, index: int) -> RolledBackRange | None:
        """Return the range around `index`: from the first victim to before the ROLLBACK."""
        at = bisect_right(self._stretches, index, key=lambda stretch: stretch.first) - 1
        if at >= 0 and self._stretches[at].first <= index < self._stretches[at].rollback:
            return self._stretches[at]
        return None

    def clip(self, index: Index) -> Index:
        """Return `index`, or the one just before a rolled-back range that it is inside of."""
        stretch = self.stretch_at(index)
        return Index(stretch.first - 1) if stretch else index

    def clip_carried(self, end: Index) -> Index:
        """Return what a batch that ends at `end` may call confirmed (protocol.md section 3.8)."""
        return self.clip(min(self.confirmed, end))

    def overrule(self, index: Index) -> RolledBackRange:
        """Annul a ROLLBACK beyond `index` that covers it: `index` is confirmed.

        The caller replays the entries above `index` afterwards. Returns the stretch as it was.
        """
        stretch = self.stretch_at(index)
        assert stretch is not None
        assert index > self.confirmed
        self.reset(index)
        return stretch

    def reset(self, confirmed: Index) -> None:
        """Forget everything above `confirmed`: the caller replays it from the log."""
        # protocol.md section 9.6: the confirmed index of a replica never goes back.
        assert confirmed >= self.confirmed
        self.confirmed = confirmed
        self.queue.clear()
        while self._stretches and self._stretches[-1].rollback > confirmed:
            self._stretches.pop()
        while self._owners and self._owners[-1].index > confirmed:
            self._owners.pop()

    def trim(self, upto: Index) -> None:
        """Forget what is before `upto`, where the log begins now: it is not needed any more."""
        self._stretches = [each for each in self._stretches if each.rollback > upto]
        owner = self.owner_at(upto)
        self._owners = [each for each in self._owners if each.index > upto]
        if owner.index:
            self._owners.insert(0, owner)

    def begin_at(self, confirmed: Index, owner: Owner) -> None:
        """Begin at a snapshot: nothing that was pending is in the log any more."""
        self.queue.clear()
        self.confirmed = confirmed
        self._stretches = []
        self._owners = [owner] if owner.index else []

    def stretches_above(self, index: Index) -> list[RolledBackRange]:
        """The stretches whose ROLLBACK is above `index`, in log order."""
        return [stretch for stretch in self._stretches if stretch.rollback > index]

    def recovered_stretch(self, first: Index, record: Index) -> None:
        """Add a rolled-back range that was read back from the log at start; decided long ago."""
        self._stretches.append(RolledBackRange(first, record))
