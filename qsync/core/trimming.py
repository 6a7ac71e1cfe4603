"""Trims the log, keeps the part that the fold needs, and restarts it at a snapshot."""

from election.messages import Index, Term
from election.ready import Note
from qsync.core.entry_cache import EntryCache
from qsync.core.limbo import RolledBackRange
from qsync.core.logindex import LogIndex
from qsync.core.logstart import EMPTY, ROLLED_BACK_MAX, TERMS_MAX, LogStart
from qsync.core.replicated_log import ReplicatedLog


def start_at(replicated_log: ReplicatedLog, upto: Index) -> LogStart:
    """Return the start of a log that has nothing up to `upto`, or the nearest possible below.

    `upto` is confirmed. Not within a rolled-back stretch (membership.md M6 a): its ROLLBACK would
    reach back. Reads one entry of the log where its checksum is not at hand.
    """
    assert upto <= replicated_log.confirmed
    index = replicated_log.limbo.clip(upto)
    if not index:
        return EMPTY
    log = replicated_log.log
    known = log.knows(index)
    crc = log.crc_at(index) if known else replicated_log.entries(index, index)[0].crc
    terms, stretches, forgotten = _past(replicated_log, index)
    return LogStart(
        index=index,
        term=log.term_at(index),
        crc=crc,
        origin=log.run_at(index).origin,
        vclock=log.vclock_at(index),
        owner=replicated_log.limbo.owner_at(index),
        configuration=replicated_log.configurations.body_at(index),
        terms=terms,
        rolled_back=stretches,
        forgotten=forgotten,
    )


def _past(
    replicated_log: ReplicatedLog, index: Index
) -> tuple[tuple[tuple[Index, Term], ...], tuple[tuple[Index, Index], ...], Index]:
    """Return terms and rolled-back ranges up to there, and from where on they are known."""
    start = replicated_log.log.start
    terms = replicated_log.log.terms_upto(index)
    behind = replicated_log.limbo.stretches_above(start.index)
    stretches = [RolledBackRange(*each) for each in start.rolled_back]
    stretches += [each for each in behind if each.rollback <= index]
    forgotten = start.unknown_upto
    if len(terms) > TERMS_MAX:
        terms = terms[-TERMS_MAX:]
        forgotten = max(forgotten, Index(terms[0][0] - 1))
    if len(stretches) > ROLLED_BACK_MAX:
        forgotten = max(forgotten, stretches[-ROLLED_BACK_MAX - 1].rollback)
        stretches = stretches[-ROLLED_BACK_MAX:]
    return terms, tuple((each.first, each.rollback) for each in stretches), forgotten


def carried(replicated_log: ReplicatedLog, end: Index) -> Index:
    """What is said to be confirmed to who has this log up to `end` (protocol.md section 3.8).

    Nothing to who ends before the log begins: it may end inside a rolled-back stretch that was
    trimmed with it, and is to be sent a snapshot.
    """
    if end < replicated_log.log.start.index:
        return Index(0)
    return replicated_log.limbo.clip_carried(end)


def trim_log(replicated_log: ReplicatedLog, start: LogStart) -> None:
    """Trim the log up to that entry of it (`start_at`), as the disk will.

    Later entries can be read as before. A follower that lacks trimmed ones needs a snapshot.
    """
    # membership.md M6 g: never beyond what is confirmed; and that is durable here, too.
    assert start.index <= min(replicated_log.confirmed, replicated_log.written)
    replicated_log.configurations.trim(start.index)
    replicated_log.limbo.trim(start.index)
    replicated_log.log.begin_at(start)


def begin_at_snapshot(replicated_log: ReplicatedLog, start: LogStart) -> None:
    """Begin the log behind a snapshot that is ahead of all that is known to be confirmed here.

    Nothing of the log is kept (membership.md M6 c: the caller has seen that it lacks that entry).
    What follows from an entry of it is the snapshot's: it is as if all of the leader's log up to
    there had come, and were confirmed (M6 e).
    """
    # membership.md M6 b: the confirmed index of a replica never goes back.
    assert start.index > replicated_log.confirmed
    fields: dict[str, object] = {
        "index": start.index,
        "term": start.term,
        "instead": replicated_log.log.last,
    }
    log = replicated_log.log
    replicated_log.pending_writes.begin_at(start)
    replicated_log.log = LogIndex(start, window=log.window, step=log.step)
    replicated_log.limbo.begin_at(start.index, start.owner)
    replicated_log.limbo.moved_at = replicated_log.now
    replicated_log.configurations.begin_at(start.configuration)
    cache = replicated_log.entry_cache
    replicated_log.entry_cache = EntryCache(base=start.index, bytes_max=cache.bytes_max)
    replicated_log.leaders = start.index
    # The mirrors of the log get the new one, too.
    replicated_log.events = []
    replicated_log.cuts += 1
    replicated_log.notes.append(Note("snapshot_installed", fields))
