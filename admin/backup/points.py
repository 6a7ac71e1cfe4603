"""Finds a point to restore: a backup, the log behind it, an exact index."""

from dataclasses import dataclass
from datetime import UTC, datetime

from admin.backup import catalogue, names, reading
from admin.backup.catalogue import Catalogue
from admin.backup.failures import BackupDamaged, BackupGap, NoBackup
from admin.backup.manifest import BackupManifest, LogManifest
from qsync.core.logstart import LogStart
from qsync.units import how_many


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedPoint:
    """The wanted entry or moment; without either the newest point.

    `time`: seconds since 1970. The first entry that was written later, by the clock of its leader,
    is left out, with all that follows it, also what a clock that went back says is older. So it is
    the same entry whichever backups are there. `backup`: begin with that one.
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
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError):  # before year 1, or behind 9999, once the zone is UTC
        return f"{seconds:.0f} s since 1970"


def find(found: Catalogue, wanted: WantedPoint) -> RestorePoint:
    """Find the newest backup below the point, and the log from there. Raises NoBackup, BackupGap.

    Of a moment it reads the part of the log in which the first younger entry is. Raises
    BackupDamaged, also when the point is the last that the place has and damage may hide more.
    """
    if not found.backups:
        why = f": {found.damage[0]}" if found.damage else ""
        raise NoBackup(f"there is no finished backup at {found.place.url}{why}")
    backups = found.backups if wanted.backup is None else [found.backup(wanted.backup)]
    index = _index(found, wanted)
    fitting = [each for each in backups if index is None or each.index <= index]
    if not fitting:
        _check_older(found, wanted, backups[0].index if index is None else index)
        which = "the oldest backup" if wanted.backup is None else f"backup {wanted.backup}"
        raise BackupGap(
            f"{wanted} is before {which}, which begins at index {backups[0].index}, "
            f"{shown_time(backups[0].index_time)}"
        )
    for each in reversed(fitting):
        reach = found.reach(each)
        if index is None or index <= reach:
            chain = found.settled_chain(each)
            upto = reach if index is None else index
            if wanted.index is None and upto == reach:
                _check_whole(found, wanted, reach)
            return RestorePoint(
                backup=each,
                start=catalogue.start_of(each),
                chain=tuple(_deciding(chain, upto)),
                index=upto,
                reach=reach,
            )
    _check_whole(found, wanted, max(found.reach(each) for each in fitting))
    raise BackupGap(f"{wanted} is not reached: {_end_of(found, fitting[-1])}")


def older(found: Catalogue, point: RestorePoint) -> BackupManifest | None:
    """Find the newest older backup that reaches the point, too."""
    before = [
        each
        for each in found.backups
        if each.index < point.backup.index and each.index not in found.torn
    ]
    return next((each for each in reversed(before) if found.reach(each) >= point.index), None)


def went_back(found: Catalogue, point: RestorePoint, time: float) -> int | None:
    """An entry behind the point that is not younger than the moment: a clock went back there."""
    for part in found.log:
        if part.last > point.index and part.earliest <= time:
            for entry in reading.read_log(found.place, part):
                if entry.index > point.index and entry.time <= time:
                    return entry.index
    return None


def short_of(found: Catalogue, time: float) -> float | None:
    """The time of the youngest entry that is kept, if none is younger than the moment.

    Then the place does not tell whether anything was written between the two.
    """
    youngest = max(
        [*(each.youngest for each in found.backups), *(each.latest for each in found.log)]
    )
    return youngest if youngest <= time else None


def gaps(found: Catalogue) -> list[tuple[int, int]]:
    """Return the ranges of indexes between two backups that cannot be restored, first and last."""
    missing: list[tuple[int, int]] = []
    for before, after in zip(found.backups, found.backups[1:], strict=False):
        reach = found.reach(before)
        if reach < after.index - 1:
            missing.append((reach + 1, after.index - 1))
    return missing


def _check_whole(found: Catalogue, wanted: WantedPoint, reach: int) -> None:
    """Check that no damage hides what was kept behind the last point. Raises BackupDamaged."""
    lost = found.hidden(reach)
    if lost:
        more = f" and {how_many(len(lost) - 1, 'more problem')}" if len(lost) > 1 else ""
        before = f"`--to-index {reach}` restores all before it; " if reach else ""
        raise BackupDamaged(
            f"{wanted} cannot be restored: {lost[0]}{more}",
            hint=f"{before}another copy of the place may have the rest",
        )


def _check_older(found: Catalogue, wanted: WantedPoint, index: int) -> None:
    """Check that no damage hides a backup from before the point. Raises BackupDamaged."""
    for why in (why for at, why in found.unread.items() if at <= index):
        raise BackupDamaged(
            f"{wanted} cannot be restored: {why}",
            hint=f"the oldest backup that can be read begins at index {found.backups[0].index}; "
            "another copy of the place may have the other one",
        )


def _index(found: Catalogue, wanted: WantedPoint) -> int | None:
    """The index before the first younger entry, or the one asked for; None: as far as it goes."""
    if wanted.time is None:
        return wanted.index
    end = max(found.reach(each) for each in found.backups)
    first = _first_younger(found, wanted.time)
    return end if first is None else min(first - 1, end)


def _first_younger(found: Catalogue, time: float) -> int | None:
    """The first entry that was written after that moment, of all that the place tells of.

    Clocks may go back, so neither the newest backup from before that moment nor any later entry
    decides it. Raises BackupGap when it was pruned, BackupDamaged.
    """
    younger = [
        each.index for each in found.backups if each.index_time > time and not _covers(found, each)
    ]
    for part in found.log:
        if part.latest > time and part.first < min(younger, default=names.NEVER):
            entries = reading.read_log(found.place, part)
            younger.append(next(int(each.index) for each in entries if each.time > time))
    first = min(younger, default=None)
    for backup in found.backups:
        if backup.youngest > time and (first is None or backup.index < first):
            raise BackupGap(
                f"{shown_time(time)} is before the oldest backup: an entry that is no longer kept, "
                f"before index {backup.index}, was written at {shown_time(backup.youngest)}",
                hint="--to-index names a later point",
            )
    return first


def _covers(found: Catalogue, backup: BackupManifest) -> bool:
    """The log has the entry itself, with its exact time."""
    return any(each.first <= backup.index <= each.last for each in found.log)


def _end_of(found: Catalogue, backup: BackupManifest) -> str:
    """How far the log behind a backup goes, in words."""
    reach = found.reach(backup)
    after = next((each for each in found.backups if each.index > reach), None)
    if after is None:
        return f"the log behind the backup at index {backup.index} is kept up to {reach}"
    return (
        f"no log is kept of {reach + 1}..{after.index}, which was written up to "
        f"{shown_time(after.index_time)}"
    )


def _deciding(chain: list[LogManifest], index: int) -> list[LogManifest]:
    """Return as much of a chain as decides all up to an index."""
    kept: list[LogManifest] = []
    for each in chain:
        if kept and kept[-1].last >= index and kept[-1].settled:
            break
        kept.append(each)
    return kept
