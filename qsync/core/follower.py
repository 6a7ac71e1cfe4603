"""A replica handles its leader's messages: compare, cut, append, confirm, ack."""

from dataclasses import dataclass, replace

from election.messages import Index, Term
from qsync.core.config import CoreConfig
from qsync.core.messages import Append, AppendResponse, Heartbeat, InstallSnapshot
from qsync.core.replicated_log import ReplicatedLog
from qsync.core.trimming import begin_at_snapshot
from qsync.record import Entry, EntryKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmedDiffers:
    """Confirmed data differs: corruption, or two clusters mixed. Never repaired silently."""

    index: Index
    ours: tuple[int, int | None]
    """Its term and checksum; no checksum where it is so old that the term alone was compared."""
    theirs: tuple[int, int]

    def __str__(self) -> str:
        term, crc = self.ours
        return (
            f"entry {self.index} is confirmed here as term {term}"
            f"{'' if crc is None else f' checksum {crc:08x}'}, the leader has "
            f"term {self.theirs[0]} checksum {self.theirs[1]:08x}"
        )


def before_transactions(message: Append) -> Append:
    """Return the batch up to its first transaction, as if the leader had sent no more of it yet.

    A batch may end anywhere, so nothing that rests on acks can tell the difference (protocol.md
    section 3.5). What decides fates goes on coming, and with it a former leader's transactions can
    be decided: so a cluster that needs this follower gets a leader.
    """
    kept: list[Entry] = []
    for entry in message.entries:
        if entry.kind == EntryKind.TXN:
            break
        kept.append(entry)
    last = Index(message.prev_index + len(kept))
    # It was computed for the end of the whole batch. What is the end now may be a victim of a
    # ROLLBACK behind it (protocol.md section 3.8): then nothing is said of what is confirmed.
    confirmed = message.confirmed if message.confirmed <= last else Index(0)
    return replace(message, entries=tuple(kept), last=last, confirmed=confirmed)


class Follower:
    """One term under one leader, with the index up to which both logs are known to be equal."""

    def __init__(self, config: CoreConfig, replicated_log: ReplicatedLog, *, term: Term) -> None:
        self.config = config
        self.replicated_log = replicated_log
        self.term = term
        self.matched = Index(0)
        self.leader_last = Index(0)
        """How long the leader said its log is; for people only."""
        self.split: ConfirmedDiffers | None = None
        self._epoch = 0
        self._acked = Index(0)
        self._ack_due = False
        # Nothing is known of this term's log. What was shown stays so, until it is cut.
        replicated_log.leaders = replicated_log.visible

    def append(self, message: Append) -> AppendResponse | None:
        """Take a batch. Returns a refusal, if it is one; an ack comes later, from `ack`."""
        log = self.replicated_log.log
        self._connected(message.epoch)
        hint = self._hint(message)
        if hint is not None:
            return self._refuse(hint)
        fresh = self._fresh(message)
        if self.split is not None:
            return None
        if fresh:
            if fresh[0].index <= log.last:
                above = Index(fresh[0].index - 1)
                self.replicated_log.cut(
                    above, f"the leader of term {message.term} has another entry {above + 1}"
                )
            self.replicated_log.extend(fresh)
        self._match(message.last)
        assert self.matched <= self.replicated_log.log.last
        self.learn(message.confirmed)
        self._ack_due = True
        return None

    def _match(self, index: Index) -> None:
        """Note that our log is the leader's up to there.

        Where that is before our log it is the leader's up to its beginning as well: that is
        confirmed, and every leader of a later term has it (Raft §5.4, membership.md M6 e).
        """
        log = self.replicated_log
        self.matched = max(self.matched, index, log.log.start.index)
        log.leaders = max(log.leaders, self.matched)

    def _connected(self, epoch: int) -> None:
        if epoch != self._epoch:
            self._epoch, self._acked = epoch, Index(0)

    def offered(self, message: InstallSnapshot) -> bool:
        """Return whether the rows of an offered snapshot are wanted; else `ack` makes an ack."""
        self._connected(message.epoch)
        start, replicated_log = message.start, self.replicated_log
        if not replicated_log.log.agrees(start.index, start.term, start.crc):
            if start.index > replicated_log.confirmed:
                return True
            self._split_at(start.index, start.term, start.crc)
            return False
        # membership.md M6 c: its entry is in the log, and all that is behind it is kept.
        self._match(start.index)
        self.learn(start.index)
        self._ack_due = True
        return False

    def install(self, message: InstallSnapshot) -> bool:
        """Begin the log at the snapshot, whose rows are here. False if the log has gone on."""
        wanted = self.offered(message)
        if wanted:
            begin_at_snapshot(self.replicated_log, message.start)
            self.matched = message.start.index
            self._ack_due = True
        return wanted

    def _hint(self, message: Append) -> Index | None:
        """Return where the leader should try next; None if the entry before is ours, too."""
        log, prev = self.replicated_log.log, message.prev_index
        if prev > log.last:
            return log.last
        if log.agrees(prev, message.prev_term, message.prev_crc):
            return None
        if prev <= self.replicated_log.confirmed:
            self._split_at(prev, message.prev_term, message.prev_crc)
            return self.replicated_log.confirmed
        return Index(max(self.replicated_log.confirmed, log.first_of_run(prev) - 1))

    def _fresh(self, message: Append) -> list[Entry]:
        """Return the entries that are not in our log yet; the first one may conflict with it."""
        log, entries = self.replicated_log.log, message.entries
        for at, entry in enumerate(entries):
            if entry.index > log.last:
                return list(entries[at:])
            if not log.agrees(entry.index, entry.term, entry.crc):
                if entry.index <= self.replicated_log.confirmed:
                    self._split_at(entry.index, entry.term, entry.crc)
                return list(entries[at:])
        return []

    def _split_at(self, index: Index, term: int, crc: int) -> None:
        log = self.replicated_log.log
        index = max(index, log.start.index)  # before it nothing is known
        ours = log.crc_at(index) if log.knows(index) else None
        self.split = ConfirmedDiffers(
            index=index, ours=(log.term_at(index), ours), theirs=(term, crc)
        )

    def _refuse(self, hint: Index) -> AppendResponse:
        # The leader continues from there: the confirmed logs agree, otherwise it is a split.
        assert hint <= self.replicated_log.log.last
        return AppendResponse(
            term=self.term,
            follower=self.config.me,
            epoch=self._epoch,
            ok=False,
            index=hint,
            index_term=self.replicated_log.log.term_at(hint),
            recruit=False,
        )

    def heartbeat(self, message: Heartbeat) -> None:
        """Take a heartbeat: its confirmed index holds for `matched`, if we know we have it."""
        self.leader_last = message.last
        if message.matched <= self.matched:
            self.learn(message.confirmed)

    def learn(self, confirmed: Index) -> None:
        """Take the confirmed index as the leader computed it (protocol.md 3.8)."""
        if self.replicated_log.confirmed < confirmed <= self.matched:
            self.replicated_log.confirm(confirmed)

    def ack(self) -> AppendResponse | None:
        """Return the ack of what is durable and equal to the leader's log, if new or asked for."""
        index = min(self.replicated_log.written, self.matched)
        if index < self.replicated_log.log.start.index:
            return None  # nothing of a log that begins at a snapshot is durable yet
        waiting = index < self.matched
        if index == self._acked and (waiting or not self._ack_due):
            return None
        if self._ack_due and not waiting:
            self._ack_due = False
        # protocol.md section 3.5: an ack is of what is durable here, and equal to the leader's log.
        assert index <= self.replicated_log.log.last
        self._acked = index
        return AppendResponse(
            term=self.term,
            follower=self.config.me,
            epoch=self._epoch,
            ok=True,
            index=index,
            index_term=self.replicated_log.log.term_at(index),
            recruit=False,
        )
