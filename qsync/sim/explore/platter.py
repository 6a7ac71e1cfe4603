"""One node's disk: the durable state, and the one pending write."""

from collections.abc import Iterable
from dataclasses import replace

from typing_extensions import override

from election.messages import Index, Replica, Term
from qsync.core.configuration import Configuration, all_of
from qsync.core.generation import first_ballot
from qsync.core.logstart import EMPTY, LogStart
from qsync.core.messages import Message
from qsync.core.ready import Write
from qsync.record import ONE_INSTANCE, Entry, Instance
from qsync.sim.generations import FIRST, ExploredCluster
from qsync.sim.lives import DurableLog
from qsync.store.contract import NO_BALLOT
from qsync.store.memory import MemorySpaces

Letters = list[tuple[Replica, Message]]


class WriteDisk(DurableLog):
    """A write is atomic. Letters that depend on it wait for it."""

    def __init__(self, me: Replica, spaces: MemorySpaces | None) -> None:
        super().__init__(me)
        self.instance = ONE_INSTANCE
        self.cluster = FIRST
        self.write: Write | None = None
        self.letters: Letters = []
        self.damaged: str | None = None
        """The damage found in the log, until the node has caught up again."""
        self.superseded = ""
        """The superseding cluster; recorded before the node knows it."""
        self.spaces = spaces
        """The folded spaces; they outlive the process, not the disk."""
        self.start = EMPTY
        """The log begins after that entry. The entries before it stay here for the properties."""
        self.snapshot: tuple[Entry, ...] = ()
        """The log that a snapshot represents, until it is durable."""

    def read(self, first: Index, last: Index) -> list[Entry]:
        """The durable entries `first .. last`."""
        return self.entries[first - 1 : last]

    def stored(self) -> list[bytes]:
        """The whole content, as a log returns it at the start."""
        return [entry.raw for entry in self.entries[self.start.index :]]

    def past(self, start: LogStart) -> list[Entry]:
        """The entries up to that one, after which the log of the process begins."""
        found = self.entries[: start.index]
        assert not found or found[-1].crc == start.crc
        return found

    @override
    def wrote(self, write: Write) -> None:
        """Append an entry; it may be the first one after a snapshot."""
        if write.begins is not None:
            assert self.snapshot
            assert self.snapshot[-1].crc == write.begins.crc
            self.entries, self.start = list(self.snapshot), write.begins
            self.snapshot = ()
        super().wrote(write)

    def begin(self, write: Write, letters: Letters) -> None:
        """Begin a write: until it is durable, a crash loses it."""
        assert self.write is None
        self.write, self.letters = write, letters

    def land(self) -> tuple[Write, Letters]:
        """The write is durable."""
        write, letters = self.write, self.letters
        assert write is not None
        self.write, self.letters = None, []
        self.wrote(write)
        if self.ballot.member:
            self.damaged = None
        return write, letters

    def crash(self) -> None:
        """A crash: the pending write is lost."""
        self.write, self.letters = None, []

    def founding(self, voters: Iterable[Replica]) -> Configuration | None:
        """The founding configuration of the directory; a later directory has none.

        Later: made after a disk was lost, or for a joining node.
        """
        founders = tuple(voters)
        is_first = self.instance == ONE_INSTANCE and self.me in founders
        return all_of(founders) if is_first else None

    def wipe(self) -> None:
        """Wipe everything: a new directory, which is another instance."""
        self.crash()
        self.instance = Instance(self.instance + 1)
        self.entries, self.confirmed, self.ballot = [], Index(0), NO_BALLOT
        self.start = EMPTY
        self.superseded = ""
        self.spaces = None if self.spaces is None else MemorySpaces()

    def begin_anew(self, cluster: ExploredCluster, instance: Instance, term: Term) -> None:
        """It becomes the directory of a recovered cluster, which continues where its log ends."""
        start = cluster.begins
        self.crash()
        self.cluster, self.instance = cluster, instance
        self.entries = self.entries[: start.index]
        self.start, self.confirmed, self.ballot = start, start.index, first_ballot(term)

    def damage(self) -> None:
        """The log is lost; term, vote and the directory itself are not."""
        self.crash()
        self.damaged = "its log is damaged"
        self.entries, self.confirmed, self.start = [], Index(0), EMPTY
        self.ballot = replace(self.ballot, member=False)
        self.spaces = None if self.spaces is None else MemorySpaces()
