"""Removes old backups, and the log that no remaining backup needs."""

from dataclasses import dataclass

from admin.backup import names
from admin.backup.catalogue import Catalogue
from admin.backup.failures import BackupDamaged, NoBackup
from admin.backup.log_archive import Progress
from admin.backup.manifest import BackupManifest, LogManifest


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptBackups:
    """Which are kept: the newest `last` ones, and those that ended `seconds` ago or later.

    Either of them alone, or both: then a backup is kept by either. The newest one always is.
    """

    last: int | None = None
    seconds: float | None = None

    def admits(self, backup: BackupManifest, *, rank: int, now: float) -> bool:
        """`rank`: how many are newer than it. `now`: in seconds since 1970."""
        by_age = self.seconds is not None and now - backup.ended <= self.seconds
        return rank == 0 or by_age or (self.last is not None and rank < self.last)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunePlan:
    """What goes, oldest first. `unfinished`: backups that were never finished, by their index.

    Of the log everything goes that the oldest kept backup has in its rows: `log`, and `orphans`,
    files that a prune or an archive that was stopped has left: parts or manifests alone.
    """

    kept: tuple[BackupManifest, ...]
    backups: tuple[BackupManifest, ...]
    unfinished: tuple[int, ...]
    log: tuple[LogManifest, ...]
    orphans: tuple[str, ...]

    @property
    def bytes(self) -> int:
        """The sizes of backups and log, by their manifests."""
        rows = sum(part.size for each in self.backups for part in each.parts)
        return rows + sum(each.part.size for each in self.log)

    @property
    def begins(self) -> int:
        """The first index that can be restored afterwards."""
        return self.kept[0].index


def plan(found: Catalogue, kept: KeptBackups, *, now: float) -> PrunePlan:
    """What would go. Raises NoBackup, BackupDamaged.

    Where something that is kept does not lead as far as it should, an older backup may be the one
    that does: nothing goes then.
    """
    if not found.backups:
        raise NoBackup(f"there is no finished backup at {found.place.url}: nothing is pruned")
    ranked = list(enumerate(reversed(found.backups)))
    stays = [each for rank, each in ranked if kept.admits(each, rank=rank, now=now)]
    oldest = min(stays, key=lambda each: each.index)
    # In between nothing goes: what an older one is kept for leads over the newer ones.
    remaining = [each for each in found.backups if each.index >= oldest.index]
    _check(found, remaining)
    parts = {each.part.name for each in found.log}
    whole = parts | {names.log_manifest(each) for each in parts}
    files = (f"{names.LOG}/{name}" for name in found.place.names(names.LOG))
    return PrunePlan(
        kept=tuple(remaining),
        backups=tuple(each for each in found.backups if each.index < oldest.index),
        unfinished=tuple(each for each in found.unfinished if each < oldest.index),
        log=tuple(each for each in found.log if each.last <= oldest.index),
        orphans=tuple(
            name for name in files if name not in whole and names.log_last(name) <= oldest.index
        ),
    )


def prune(found: Catalogue, made: PrunePlan, progress: Progress) -> None:
    """Remove it. Raises BackupPlaceLost; the same command goes on from what is left.

    Manifests go first: what has none is no backup, and no part of the log.
    """
    place = found.place
    for index in made.unfinished:
        place.remove_folder(names.base(index))
    for number, backup in enumerate(made.backups, start=1):
        place.remove(names.backup(backup.index))
        place.remove_folder(names.base(backup.index))
        progress("backups", number, len(made.backups))
    for number, each in enumerate(made.log, start=1):
        place.remove(names.log_manifest(each.part.name))
        place.remove(each.part.name)
        progress("log", number, len(made.log))
    for name in made.orphans:
        place.remove(name)


def _check(found: Catalogue, remaining: list[BackupManifest]) -> None:
    hint = "`qsync backup verify` reads all of it; make a new backup, then prune"
    if found.damage:
        raise BackupDamaged(f"{found.damage[0]}: nothing is pruned", hint=hint)
    for each in remaining:
        for why in found.missing(each):
            raise BackupDamaged(f"{why}: nothing is pruned", hint=hint)
