"""The rules of trimmed logs and snapshots, checked against the log that they represent (M6)."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Generic, TypeVar

from election.messages import Index, Replica
from qsync.core.configuration import Codec, Configuration, Configurations, configuration_of
from qsync.core.logindex import LogIndex
from qsync.core.logstart import EMPTY, LogStart
from qsync.record import Entry, EntryKind, Instance
from qsync.sim.canon import PropertyViolation, ReferenceLog
from qsync.sim.configurations import ConfigurationRules
from qsync.sim.lives import DurableLog
from qsync.sim.properties import DECIDED

Directory = TypeVar("Directory", bound=DurableLog)


class LogStarts(Generic[Directory]):
    """Checks every one."""

    def __init__(self, canon: ReferenceLog, rules: ConfigurationRules) -> None:
        self.directories: dict[tuple[Replica, Instance], Directory] = {}
        """The current and past entries of each, including trimmed ones."""
        self.base = EMPTY
        """The base that represents all entries that are no longer listed."""
        self._canon = canon
        self._rules = rules

    def begin(
        self, start: LogStart, codec: Codec, kept: Collection[tuple[Replica, Instance]]
    ) -> None:
        """All logs begin there or later, and only those directories are there any more.

        It was held against all that was before it, as whatever is held against it from now on.
        """
        self.check("what stands for older entries", start, codec)
        self.directories = {pair: self.directories[pair] for pair in kept}
        for pair, directory in self.directories.items():
            if not directory.holds(start.index, start.crc):
                raise PropertyViolation(7, f"at rest node {pair[0]} has another {start.index}")
            directory.forget(start.index, start.crc)
        self.base = start

    def begin_anew(
        self,
        ended: LogStart,
        begins: LogStart,
        codec: Codec,
        kept: Collection[tuple[Replica, Instance]],
    ) -> None:
        """A recovered cluster begins where a log `ended`, with one non-empty directory."""
        self.check("the log of a survivor", ended, codec)
        self.directories = {pair: self.directories[pair] for pair in kept}
        for directory in self.directories.values():
            if directory.holds(begins.index, begins.crc):
                directory.forget(begins.index, begins.crc)
        self.base = begins

    def past_of(self, start: LogStart) -> tuple[list[Entry], Index, int]:
        """The log up to there, as far as it is listed; and what that begins behind."""
        return self.past(start), self.base.index, self.base.crc

    def past(self, start: LogStart) -> list[Entry]:
        """Property 7: the entries that a snapshot represents are on some disk.

        The log from `base` up to it.
        """
        if start.index < self.base.index:
            raise PropertyViolation(7, f"a snapshot stands for {start.index}, long trimmed")
        for each in self.directories.values():
            if each.holds(start.index, start.crc):
                return each.entries[: start.index - each.base]
        raise PropertyViolation(7, f"a snapshot stands for {start.index}, which no disk has")

    def check(self, who: str, start: LogStart, codec: Codec) -> None:
        """It equals the state of the confirmed log at that entry (M6 a, f), computed again.

        `who` begins there: the log of a node, or the log after a snapshot.
        """
        index, canon = start.index, self._canon
        known = index <= canon.last
        if not known or (canon.terms[index], canon.crc_at(index)) != (start.term, start.crc):
            raise PropertyViolation(2, f"{who} begins behind {index}, not confirmed")
        if canon.out_of_stretch(index) != index:
            raise PropertyViolation(2, f"{who} begins behind {index}, in a stretch")
        history = self.past(start)
        counts = Counter({int(origin): int(lsn) for origin, lsn in self.base.vclock})
        counts.update(int(each.origin) for each in history)
        vclock = tuple(sorted(counts.items()))
        if tuple((int(origin), int(lsn)) for origin, lsn in start.vclock) != vclock:
            raise PropertyViolation(2, f"{who} begins at {start.vclock}, which is {vclock}")
        takes = (EntryKind.PROMOTE, EntryKind.DEMOTE)
        owns = [each.index for each in history if each.kind in takes] or [self.base.owner.index]
        if owns[-1] and start.owner.index != owns[-1]:
            raise PropertyViolation(
                2, f"{who} begins with the limbo of {start.owner}, not that of {owns[-1]}"
            )
        self._check_past(who, start, history)
        founding = self._rules.founding
        mine = configuration_of(start.configuration, codec)
        wanted = self._voters(history, codec)
        # Who came later was not told of the first voters, and counts nothing before it knows any.
        if mine != wanted and not (mine is None and wanted == founding):
            raise PropertyViolation(
                14, f"{who} begins behind {index} with {mine}; that has {wanted}"
            )

    def _voters(self, history: Sequence[Entry], codec: Codec) -> Configuration | None:
        log, fold = LogIndex(self.base), Configurations(self._rules.founding, codec)
        if self.base.index:
            fold.begin_at(self.base.configuration)
        for entry in history:
            log.push(entry)
            fold.took(entry, log)
        return fold.in_force

    def _check_past(self, who: str, start: LogStart, history: Sequence[Entry]) -> None:
        """What it tells of older entries is so: receipts and waits are judged by it."""
        for entry in history:
            term = start.term_at(entry.index)
            if term is None:
                continue
            gone = self._canon.rolled_back[entry.index]
            fits = entry.kind not in DECIDED or start.took_back(entry.index) == gone
            if term != entry.term or not fits:
                raise PropertyViolation(2, f"{who} begins behind {start}, {entry} is another")


def keeps_what_follows(me: int, start: LogStart, *, dropped: int) -> None:
    """Property 7: a node with the entry of a snapshot keeps its acked later entries (M6 c)."""
    if dropped:
        raise PropertyViolation(
            7, f"disk {me} has {start.index}, and drops {dropped} entries behind it for a snapshot"
        )
