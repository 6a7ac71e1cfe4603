"""Finds a point to restore: a backup, the log behind it, an exact index."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from admin.backup import catalogue
from admin.backup.catalogue import Catalogue
from admin.backup.failures import BackupGap, NoBackup
from admin.backup.manifest import BackupManifest, LogManifest
from qsync.core.logstart import LogStart
from qsync.record import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedPoint:
    """The wanted entry or moment; without either the newest point.

    `time`: seconds since 1970. What was written later, by the clock of the leader of that time, is
    left out, with all that follows it. `backup`: begin with that one.
    """

    index: int | None = None
    time: float | None = None
    backup: str | None = None

    def __str__(self) -> str:
        if self.index is not None:
            return f"index {self.index}"
        return "the end" if self.time is None else shown_time(self.time)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestorePoint:
    """The way to a point. `index`: as asked for; a fold stops before a rolled-back range.

    `chain`: parts of the log behind the backup's rows, up to the first one that has decided
    whatever is at or below `index`. `reach`: the last index that can be restored from it.
    """

    backup: BackupManifest
    start: LogStart
    chain: tuple[LogManifest, ...]
    index: int
    reach: int

    @property
    def upto(self) -> int:
        """The last entry of the chain."""
        return max([self.backup.index, *(each.last for each in self.chain)])


def shown_time(seconds: float) -> str:
    """Return a time as people write it, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def find(found: Catalogue, wanted: WantedPoint) -> RestorePoint:
    """Find the newest backup below the point, and the log from there. Raises NoBackup, BackupGap.

    Of a moment it reads the part of the log in which that lies. Raises BackupDamaged.
    """
    if not found.backups:
        why = f": {found.damage[0]}" if found.damage else ""
        raise NoBackup(f"there is no finished backup at {found.place.url}{why}")
    backups = found.backups if wanted.backup is None else [found.backup(wanted.backup)]
    fitting = [each for each in backups if _is_before(each, wanted)]
    if not fitting:
        oldest = backups[0]
        raise BackupGap(
            f"{wanted} is before the oldest backup, which begins at index {oldest.index}, "
            f"{shown_time(oldest.index_time)}"
        )
    for each in reversed(fitting):
        chain = found.settled_chain(each)
        reach = found.reach(each)
        index = _index(found, each, chain, wanted)
        if index <= reach:
            kept = _deciding(chain, index)
            return RestorePoint(
                backup=each,
                start=catalogue.start_of(each),
                chain=tuple(kept),
                index=index,
                reach=reach,
            )
    newest = fitting[-1]
    raise BackupGap(
        f"{wanted} is not reached: the log behind the backup at index {newest.index} is kept up "
        f"to {found.reach(newest)}"
    )


def gaps(found: Catalogue) -> list[tuple[int, int]]:
    """Return the ranges of indexes between two backups that cannot be restored, first and last."""
    missing: list[tuple[int, int]] = []
    for before, after in zip(found.backups, found.backups[1:], strict=False):
        reach = found.reach(before)
        if reach < after.index - 1:
            missing.append((reach + 1, after.index - 1))
    return missing


def _is_before(backup: BackupManifest, wanted: WantedPoint) -> bool:
    if wanted.index is not None:
        return backup.index <= wanted.index
    return wanted.time is None or backup.index_time <= wanted.time


def _index(
    found: Catalogue, backup: BackupManifest, chain: list[LogManifest], wanted: WantedPoint
) -> int:
    if wanted.index is not None:
        return wanted.index
    if wanted.time is not None:
        for entry in _later(found, backup, chain, wanted.time):
            return entry.index - 1
        _check_no_gap(found, backup, wanted.time)
    return found.reach(backup)


def _check_no_gap(found: Catalogue, backup: BackupManifest, time: float) -> None:
    """Nothing that is known to be missing was written before that moment. Raises BackupGap."""
    reach = found.reach(backup)
    after = next((each for each in found.backups if each.index > reach), None)
    if after is None or (after.index == reach + 1 and after.index_time > time):
        return
    raise BackupGap(
        f"{shown_time(time)} is not reached: no log is kept of {reach + 1}..{after.index}, which "
        f"was written up to {shown_time(after.index_time)}"
    )


def _later(
    found: Catalogue, backup: BackupManifest, chain: list[LogManifest], time: float
) -> Iterator[Entry]:
    """Return entries that were written after that moment, beginning with the first."""
    for each in chain:
        if each.latest > time:
            for entry in catalogue.read_log(found.place, each):
                if entry.time > time and entry.index > backup.index:
                    yield entry


def _deciding(chain: list[LogManifest], index: int) -> list[LogManifest]:
    """Return as much of a chain as decides all up to an index."""
    kept: list[LogManifest] = []
    for each in chain:
        if kept and kept[-1].last >= index and kept[-1].settled:
            break
        kept.append(each)
    return kept
