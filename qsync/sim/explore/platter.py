"""One node's disk: what is durable, and the one write that is not yet."""

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
    """A write lands as a whole or not at all. Letters that rest on it wait beside it."""

    def __init__(self, me: Replica, spaces: MemorySpaces | None) -> None:
        super().__init__(me)
        self.instance = ONE_INSTANCE
        self.cluster = FIRST
        self.write: Write | None = None
        self.letters: Letters = []
        self.damaged: str | None = None
        """What was found when the log was read, until the node has caught up again."""
        self.superseded = ""
        """The cluster in which the history goes on; written down before the node knows of it."""
        self.spaces = spaces
        """The folded spaces; they outlive the process, not the disk."""
        self.start = EMPTY
        """The log begins behind that entry. The entries before it stay here for the properties."""
        self.snapshot: tuple[Entry, ...] = ()
        """The log that a snapshot stands for, until it is durable."""

    def read(self, first: Index, last: Index) -> list[Entry]:
        """The durable entries `first .. last`."""
        return self.entries[first - 1 : last]

    def stored(self) -> list[bytes]:
        """All of it, as a log gives it at start."""
        return [entry.raw for entry in self.entries[self.start.index :]]

    def past(self, start: LogStart) -> list[Entry]:
        """The entries up to that one, which is where the log of the process begins."""
        found = self.entries[: start.index]
        assert not found or found[-1].crc == start.crc
        return found

    @override
    def wrote(self, write: Write) -> None:
        """It may be the first one behind a snapshot."""
        if write.begins is not None:
            assert self.snapshot
            assert self.snapshot[-1].crc == write.begins.crc
            self.entries, self.start = list(self.snapshot), write.begins
            self.snapshot = ()
        super().wrote(write)

    def begin(self, write: Write, letters: Letters) -> None:
        """From now on a crash loses it."""
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
        """What was not durable is gone."""
        self.write, self.letters = None, []

    def founding(self, voters: Iterable[Replica]) -> Configuration | None:
        """What the directory was founded with; one that came later was not.

        Later: made when a disk was lost, or for who joins.
        """
        founders = tuple(voters)
        is_first = self.instance == ONE_INSTANCE and self.me in founders
        return all_of(founders) if is_first else None

    def wipe(self) -> None:
        """Everything is gone: a new directory, which is another instance."""
        self.crash()
        self.instance = Instance(self.instance + 1)
        self.entries, self.confirmed, self.ballot = [], Index(0), NO_BALLOT
        self.start = EMPTY
        self.superseded = ""
        self.spaces = None if self.spaces is None else MemorySpaces()

    def begin_anew(self, cluster: ExploredCluster, instance: Instance, term: Term) -> None:
        """It is the directory of a cluster of its own, which goes on where its log ends."""
        start = cluster.begins
        self.crash()
        self.cluster, self.instance = cluster, instance
        self.entries = self.entries[: start.index]
        self.start, self.confirmed, self.ballot = start, start.index, first_ballot(term)

    def damage(self) -> None:
        """The log is gone; term, vote and the directory itself are not."""
        self.crash()
        self.damaged = "its log is damaged"
        self.entries, self.confirmed, self.start = [], Index(0), EMPTY
        self.ballot = replace(self.ballot, member=False)
        self.spaces = None if self.spaces is None else MemorySpaces()
