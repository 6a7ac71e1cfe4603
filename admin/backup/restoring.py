"""A new cluster of one node from a backup: its directory, as of one index of the old one.

It is never the old cluster again (membership.md M7 b, M8 i): another cluster id, another instance,
terms that the old one did not come to, no sessions, and one member. So nothing that still runs or
comes back of the old one can meet it, no receipt of the old one names an entry of it, and no late
request of an old session is applied. What was written behind the index stays in the backup.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from admin.backup import points, reading, sealing
from admin.backup.catalogue import Catalogue
from admin.backup.failures import BackupDamaged, BackupGap
from admin.backup.log_archive import Progress
from admin.backup.new_cluster import AuditNote, NewNode, found_cluster
from admin.backup.points import RestorePoint, WantedPoint
from admin.backup.rows import frames_of
from election.messages import Term
from qsync.config import NodeConfig
from qsync.core.generation import first_term_of, generation_of
from qsync.data import schema
from qsync.data.founding import unfit_settings
from qsync.decided import DecidedLog
from qsync.errors import Damaged
from qsync.record import CHAIN_SEED, Entry
from qsync.store import longkeys, seals
from qsync.store.contract import Spaces
from qsync.store.snapshot import SnapshotHead, decode_chunk, decode_head


@dataclass(frozen=True, slots=True, kw_only=True)
class RestorePlan:
    """What a restore makes. `index`: up to which entry; `clipped`: what was asked for, and why not.

    `went_back`: an entry behind it that is not younger than the moment that was asked for, by a
    clock that went back. `short_of`: the time of the youngest entry that is kept, if that moment is
    not before it: what was written since then was not archived. `term` and `generation`: in which
    the new cluster begins. `left_out`: entries that are kept behind that index. `dropped`: settings
    that do not fit a single node.
    """

    point: RestorePoint
    index: int
    clipped: str
    went_back: int | None
    short_of: float | None
    term: int
    generation: int
    left_out: int
    origin: str
    rows: int = 0
    dropped: tuple[str, ...] = ()


def plan(found: Catalogue, wanted: WantedPoint) -> tuple[RestorePlan, DecidedLog]:
    """Which index, of what; reads the log that decides it. Changes nothing.

    For a damaged part others are taken that have its entries; without them it counts as lost.
    Raises NoBackup, BackupGap, BackupDamaged.
    """
    try:
        return _plan(found, wanted)
    except BackupDamaged as error:
        part = error.details.get("part")
        if part is None:
            raise
        left = found.without(str(part), error.message)
    return plan(left, wanted)


def _plan(found: Catalogue, wanted: WantedPoint) -> tuple[RestorePlan, DecidedLog]:
    point = points.find(found, wanted)
    backup = point.backup
    for why in found.torn.get(backup.index, []):
        raise _hinted(BackupDamaged(f"the rows of backup {backup.index}: {why}"), found, point)

    def batches() -> Iterator[list[Entry]]:
        return reading.batches(
            found.place,
            list(point.chain),
            after=backup.index,
            crc=backup.crc if backup.index else CHAIN_SEED,
        )

    log = DecidedLog(point.start, batches, upto=point.upto, index=point.index)
    if not log.last:
        raise BackupGap(f"nothing was confirmed up to {wanted}: there is nothing to restore")
    stretch, clipped = log.stretch, ""
    if stretch is not None:
        clipped = (
            f"index {point.index} lies in a stretch that was rolled back, "
            f"{stretch.first}..{stretch.rollback}: restored is what was before it"
        )
    generation = generation_of(Term(max(log.last_term, _newest_term(found)))) + 1
    made = RestorePlan(
        point=point,
        index=log.last,
        clipped=clipped,
        went_back=None if wanted.time is None else points.went_back(found, point, wanted.time),
        short_of=None if wanted.time is None else points.short_of(found, wanted.time),
        term=first_term_of(generation),
        generation=generation,
        left_out=max(0, point.reach - log.last),
        origin=backup.cluster,
    )
    return made, log


def preview(found: Catalogue, wanted: WantedPoint) -> RestorePlan:
    """What `restore` would make and say. Changes nothing. Raises what that raises of a backup."""
    sealing.check_opens(found.place)
    made, log = plan(found, wanted)
    settings = dict(_stored_settings(found, made.point))
    for key, row in log.written_to(schema.SETTINGS):
        if row is None:
            settings.pop(key, None)
        else:
            settings[key] = row
    dropped = tuple(text for _, text in unfit_settings(sorted(settings.items())))
    return replace(made, dropped=dropped)


def restore(
    found: Catalogue, wanted: WantedPoint, node: NewNode, progress: Progress
) -> tuple[RestorePlan, NodeConfig]:
    """Make the directory of the new cluster's one node; whole when this returns.

    Raises ConfigError when something is in the directory, NoBackup, BackupGap, BackupDamaged,
    StoreError; then it cannot be started, and the same call begins again. BackupKeyRefused for a
    key that only seals.
    """
    sealing.check_opens(found.place)
    made, log = plan(found, wanted)
    backup = made.point.backup
    founded = found_cluster(
        node,
        log,
        Term(made.term),
        lambda spaces: _take_rows_or_say(found, made.point, spaces, progress),
        lambda at: progress("log", at - backup.index, made.index - backup.index),
        noted=AuditNote(
            "restored",
            {
                "cluster": made.origin,
                "from": found.place.url,
                "backup": backup.index,
                "index": made.index,
                "left_out": made.left_out,
            },
        ),
    )
    return replace(made, rows=founded.rows, dropped=founded.dropped), founded.config


def _take_rows_or_say(
    found: Catalogue, point: RestorePoint, spaces: Spaces, progress: Progress
) -> None:
    try:
        take_rows(found, point, spaces, progress)
    except BackupDamaged as error:
        raise _hinted(error, found, point) from error.__cause__


def _hinted(error: BackupDamaged, found: Catalogue, point: RestorePoint) -> BackupDamaged:
    """Add a hint to an error of rows: the older backup that reaches as far, if there is one."""
    older = points.older(found, point)
    if older is not None:
        error.hint = f"`--backup {older.index}` begins with an older one, and leads as far"
    return error


def _newest_term(found: Catalogue) -> int:
    """The newest term of the backup: entries behind the index may have been answered, too."""
    return max([0, *(each.term for each in found.log), *(each.term for each in found.backups)])


def take_rows(found: Catalogue, point: RestorePoint, spaces: Spaces, progress: Progress) -> None:
    """The rows of the backup itself. Raises BackupDamaged, StoreError."""
    backup = point.backup
    if not backup.index:
        return
    try:
        head, frames = _rows_of(found, point, progress)
        rows = spaces.importing(head)
        try:
            for frame in frames:
                rows.take_chunk(frame)
            rows.finish()
        finally:
            rows.close()
        spaces.install(rows)
    except Damaged as error:
        raise BackupDamaged(f"the rows of backup {backup.index}: {error.message}") from error


def _rows_of(
    found: Catalogue, point: RestorePoint, progress: Progress
) -> tuple[SnapshotHead, Iterator[bytes]]:
    """The head of the backup's rows, and their unverified chunks. Raises BackupDamaged, Damaged."""
    backup = point.backup

    def pieces() -> Iterator[bytes]:
        done, all_ = 0, sum(each.size for each in backup.parts)
        for each in backup.parts:
            yield reading.read_part(found.place, each)
            done += each.size
            progress("rows", done, all_)

    frames = frames_of(pieces())
    head = decode_head(next(frames, b""))
    if head.start != point.start:
        raise BackupDamaged(f"the rows of backup {backup.index} are those of another one")
    return head, frames


def _stored_settings(found: Catalogue, point: RestorePoint) -> Iterator[tuple[bytes, bytes]]:
    """The rows of `_settings` in the backup; they are in order, and the rest is not read."""
    if not point.backup.index:
        return
    begin, end = schema.keys_of(schema.SETTINGS)
    try:
        _, frames = _rows_of(found, point, lambda *_: None)
        for frame in frames:
            for stored, value in decode_chunk(frame).rows:
                key, row = longkeys.read((stored, value[: -seals.SEAL_SIZE]))
                if key >= end:
                    return
                if key >= begin:
                    yield key, row
    except Damaged as error:
        raise BackupDamaged(f"the rows of backup {point.backup.index}: {error.message}") from error
