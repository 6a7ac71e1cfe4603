"""Every byte of a place: parts by their manifests, rows by their sums, the log as one chain."""

from collections.abc import Callable
from dataclasses import dataclass, field

from admin.backup import catalogue, points, reading, sealing
from admin.backup.catalogue import Catalogue
from admin.backup.failures import BackupDamaged
from admin.backup.log_archive import Progress
from admin.backup.manifest import BackupManifest, LogManifest
from admin.backup.rows import RowsCheck


@dataclass(slots=True)
class BackupVerification:
    """What was read, and the problems. `gaps`: ranges of indexes without an archived log."""

    backups: int = 0
    parts: int = 0
    bytes: int = 0
    rows: int = 0
    entries: int = 0
    problems: list[str] = field(default_factory=list)
    gaps: list[tuple[int, int]] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """All that was written can be restored."""
        return self.backups > 0 and not self.problems


def verify(found: Catalogue, progress: Progress) -> BackupVerification:
    """Read all of it. Raises only what keeps it from being read, such as BackupPlaceLost."""
    sealing.check_opens(found.place)
    result = BackupVerification(backups=len(found.backups), problems=list(found.damage))
    all_ = sum(len(each.parts) for each in found.backups) + len(found.log)
    for backup in (each for each in found.backups if each.index not in found.torn):
        try:
            _verify_rows(found, backup, result, lambda: progress("parts", result.parts, all_))
        except BackupDamaged as error:
            result.problems.append(f"backup {backup.index}: {error.message}")
    sums: dict[int, int] = {}
    for part in found.log:
        try:
            _verify_log(found, part, result, sums)
        except BackupDamaged as error:
            result.problems.append(error.message)
        progress("parts", result.parts, all_)
    result.problems += [why for each in found.backups for why in found.short(each)]
    result.gaps = points.gaps(found)
    if not found.backups:
        result.problems.append("there is no finished backup")
    return result


def _verify_rows(
    found: Catalogue, backup: BackupManifest, result: BackupVerification, tick: Callable[[], None]
) -> None:
    start = catalogue.start_of(backup)
    if backup.cluster != found.cluster:
        raise BackupDamaged(f"it is of cluster {backup.cluster}, the place of {found.cluster}")
    if not backup.index:
        return
    check = RowsCheck()
    for part in backup.parts:
        content = reading.read_part(found.place, part)
        check.feed(content)
        result.parts += 1
        result.bytes += len(content)
        tick()
    check.finish()
    if check.head.start != start or check.head.rows != backup.rows:
        raise BackupDamaged("its rows are those of another one")
    result.rows += check.head.rows


def _verify_log(
    found: Catalogue, part: LogManifest, result: BackupVerification, sums: dict[int, int]
) -> None:
    """`sums`: of the entries at which parts begin and end; parts that meet have the same."""
    result.parts += 1
    entries = reading.read_log(found.place, part)
    result.bytes += part.part.size
    result.entries += len(entries)
    if part.cluster != found.cluster:
        raise BackupDamaged(f"{part.part.name} is of cluster {part.cluster}")
    for index, crc in ((part.first - 1, part.before), (part.last, part.crc)):
        if sums.setdefault(index, crc) != crc:
            raise BackupDamaged(f"{part.part.name}: entry {index} is another one than elsewhere")
