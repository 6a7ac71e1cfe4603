"""How far the log may be trimmed, which readers hold it, and when a snapshot is due.

All of it in this one place. The node gathers the facts and does what comes of them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from election.messages import Index
from qsync.consumer import Consumer, ConsumerKind
from qsync.core.config import CoreConfig
from qsync.core.logindex import LogIndex
from qsync.core.peers import Peers
from qsync.core.replicated_log import ReplicatedLog
from qsync.member import Member
from qsync.record import instance_text

SHARE: Final = 8
"""The log is trimmed, and the places of members are written, when that frees so large a part of
what the log grows by between two snapshots: often enough, and never while it is short."""


class HoldKind(StrEnum):
    """Holds of the log beside those of consumers."""

    ANONYMOUS = "anonymous"
    CONFIRMED = "confirmed"
    FOLD = "fold"
    SNAPSHOT = "snapshot"
    START = "start"
    TRANSFER = "transfer"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogHold:
    """The log behind `index` is kept for `name`. `why`: as a clause, for people."""

    name: str
    kind: HoldKind | ConsumerKind
    index: Index
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionFacts:
    """The facts that a node has beside its log.

    `folded`: durably so. `snapshots`: indexes of the files, oldest first, and the bytes of the
    newest. `age`: seconds since that was written; since the start of the process without one.
    `transfers`: a snapshot is on its way, and the log behind it is to follow. `anonymous`: replicas
    with a lease that are no members.
    """

    folded: Index
    snapshots: Sequence[Index] = ()
    newest_bytes: int = 0
    age: float = 0.0
    uptime: float = 0.0
    transfers: Sequence[LogHold] = ()
    anonymous: Sequence[LogHold] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerChanges:
    """The rows that a leader writes into `_gc_consumers`; mostly none."""

    moved: Sequence[Consumer] = ()
    let_go: Sequence[Consumer] = ()
    dropped: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.moved or self.let_go or self.dropped)


def placed(
    rows: Iterable[Consumer],
    members: Iterable[Member],
    *,
    log: ReplicatedLog,
    config: CoreConfig,
    followers: Peers | None,
) -> list[Consumer]:
    """Return all that need the log, each at its place now; members without a row, too.

    `followers` is a leader's: it knows better than the rows how far members are. What it does not
    know begins with the log. No position is above the confirmed index, because entries above
    it may be cut. A row of another kind by the name of a member says nothing of that member.
    """
    by_name = {each.name: each for each in rows}
    named = {instance_text(each.instance): each for each in members}
    found = [
        each
        for each in by_name.values()
        if each.kind is not ConsumerKind.REPLICA and each.name not in named
    ]
    for name, member in named.items():
        row = by_name.get(name)
        if row is None or row.kind is not ConsumerKind.REPLICA:
            row = Consumer(name, ConsumerKind.REPLICA, log.log.start.index)
        known = row
        acked = _acked(member, log, config, followers)
        if acked is not None and acked >= log.log.start.index:
            known = replace(known, index=acked)
            back = followers is None or _is_connected(member, followers)
            if known.let_go and back and _is_within(known, log.log, config):
                known = replace(known, let_go=False)
        found.append(known)
    return found


def _is_connected(member: Member, followers: Peers) -> bool:
    progress = followers.get(member.replica)
    return progress is None or progress.connected  # none of ourselves


def _acked(
    member: Member, log: ReplicatedLog, config: CoreConfig, followers: Peers | None
) -> Index | None:
    """Return how far its directory is, if that is known here."""
    if member.replica == config.me and member.instance == config.instance:
        return min(log.written, log.confirmed)
    if followers is None:
        return None
    progress = followers.get(member.replica)
    if progress is None or progress.instance != member.instance or not progress.is_replicating:
        return None
    return min(progress.match, log.confirmed)


def holds(
    log: ReplicatedLog, stored: RetentionFacts, consumers: Iterable[Consumer], config: CoreConfig
) -> list[LogHold]:
    """Return everything that keeps the log, the oldest hold first (membership.md M6 g)."""
    begins = log.log.start.index
    found = [
        # Unconfirmed entries may be cut, and entries that are not durable here may be missing.
        LogHold(
            name="",
            kind=HoldKind.CONFIRMED,
            index=min(log.confirmed, log.written),
            why="what follows is not decided, or not durable here",
        ),
        LogHold(
            name="",
            kind=HoldKind.FOLD,
            index=stored.folded,
            why="what follows is not in the spaces on disk, durably",
        ),
        _snapshot_hold(stored, begins, config.checkpoint_count),
        *stored.transfers,
        *stored.anonymous,
        *(_consumer_hold(each) for each in consumers if not each.let_go),
    ]
    if stored.uptime < config.wal_cleanup_delay:
        left = config.wal_cleanup_delay - stored.uptime
        why = f"store.wal_cleanup_delay lasts {left:.0f} s more"
        found.append(LogHold(name="", kind=HoldKind.START, index=begins, why=why))
    return sorted(found, key=lambda each: each.index)


def _snapshot_hold(stored: RetentionFacts, begins: Index, count: int) -> LogHold:
    """Return the hold of the oldest snapshot that stays: it can replace a newer one that rots."""
    # A snapshot from before the log begins is of no use: what follows it is not there.
    usable = [each for each in stored.snapshots if each >= begins]
    if not usable:
        why = "there is no snapshot on disk from which the rows could be rebuilt"
        return LogHold(name="", kind=HoldKind.SNAPSHOT, index=begins, why=why)
    oldest = usable[-count:][0]
    why = f"the rows can be rebuilt from the snapshot at {oldest}"
    return LogHold(name="", kind=HoldKind.SNAPSHOT, index=oldest, why=why)


def _consumer_hold(consumer: Consumer) -> LogHold:
    why = consumer.about or f"a {consumer.kind.value} has the log up to there"
    return LogHold(name=consumer.name, kind=consumer.kind, index=consumer.index, why=why)


def trim_goal(found: Sequence[LogHold], begins: Index) -> Index:
    """Return the entry up to which the log may be trimmed; where it begins if nothing may be."""
    return max(begins, found[0].index)


def is_worth_trimming(log: LogIndex, goal: Index, config: CoreConfig) -> bool:
    """Return whether trimming frees enough: only whole files go, and it takes a few flushes."""
    return _weighs_enough(log, log.start.index, goal, config)


def foldable(log: ReplicatedLog) -> Index:
    """Return what may be folded: decided, durable here, and durably known as decided."""
    return min(log.confirmed, log.written, log.durable_confirmed)


def consumer_changes(
    rows: Iterable[Consumer],
    consumers: Iterable[Consumer],
    *,
    log: LogIndex,
    found: Sequence[LogHold],
    config: CoreConfig,
    settled: bool,
) -> ConsumerChanges:
    """Return what a leader writes so that all nodes trim: readers let go, and members' places.

    The places of members are written only when it makes a difference to the log, so that a cluster
    with a short one writes none. What is no member and has the name of one is dropped first: the
    row is the member's. `settled`: those that run have had time to say where they are; a
    leader that has just begun lets no member go.
    """
    by_name = {each.name: each for each in rows}
    now = list(consumers)
    named = {each.name for each in now if each.kind is ConsumerKind.REPLICA}
    gone = _misnamed(by_name.values(), named)
    now = [each for each in now if each.name not in gone]
    let_go = [
        each
        for each in now
        if not each.let_go
        and (settled or each.kind is not ConsumerKind.REPLICA)
        and not _is_within(each, log, config)
    ]
    names = {each.name for each in let_go}
    members = [
        each
        for each in now
        if each.kind is ConsumerKind.REPLICA and not each.let_go and each.name not in names
    ]
    back = [each for each in members if (row := by_name.get(each.name)) and row.let_go]
    moved = members if _is_worth_it(members, by_name, log, found, config) else back
    moved = [each for each in moved if by_name.get(each.name) != each]
    return ConsumerChanges(moved=moved, let_go=let_go, dropped=gone)


def _misnamed(rows: Iterable[Consumer], named: Collection[str]) -> list[str]:
    """Return the names of rows of former members, and of others that have a member's name."""
    return [
        each.name
        for each in rows
        if (each.kind is ConsumerKind.REPLICA) is not (each.name in named)
    ]


def _is_within(consumer: Consumer, log: LogIndex, config: CoreConfig) -> bool:
    """Return whether what follows its place is still here, and not more than one may hold."""
    if consumer.index < log.start.index:
        return False
    return log.bytes_between(consumer.index, log.last) <= config.wal_retention_size


def _is_worth_it(
    members: Sequence[Consumer],
    rows: Mapping[str, Consumer],
    log: LogIndex,
    found: Sequence[LogHold],
    config: CoreConfig,
) -> bool:
    if not members:
        return False
    begins = log.start.index
    written = [rows[each.name].index if each.name in rows else begins for each in members]
    others = [each.index for each in found if each.kind is not ConsumerKind.REPLICA]
    upto = min(*others, *(each.index for each in members))
    return _weighs_enough(log, min(written), upto, config)


def _weighs_enough(log: LogIndex, after: Index, upto: Index, config: CoreConfig) -> bool:
    freed = log.bytes_between(after, upto)
    return upto > after and freed * SHARE >= config.checkpoint_wal_threshold


def snapshot_due(log: ReplicatedLog, stored: RetentionFacts, config: CoreConfig) -> str | None:
    """Return why a snapshot is due now; None when none is.

    By the clock if anything came since, by what the log has grown, and if the log alone cannot
    rebuild the rows. A snapshot larger than the threshold waits for as much log as it takes itself:
    so no more than half of what is written to the disk is snapshots.
    """
    begins, upto = log.log.start.index, foldable(log)
    newest = stored.snapshots[-1] if stored.snapshots else Index(0)
    if newest < begins:
        return f"the log begins behind {begins}, and there is no snapshot of that"
    if upto <= newest:
        return None
    grown = log.log.bytes_between(newest, upto)
    if grown >= max(config.checkpoint_wal_threshold, stored.newest_bytes):
        return f"the log grew by {grown} bytes since the last one"
    if 0 < config.checkpoint_interval <= stored.age:
        return f"the last one is {stored.age:.0f} s old"
    return None
