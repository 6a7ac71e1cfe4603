"""Backups for programs: each method does what the command of its name does."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from admin.backup import catalogue, keys, places, pruning, restoring, taking, verifying
from admin.backup.log_archive import Progress
from admin.backup.manifest import BackupManifest
from admin.backup.new_cluster import NewNode
from admin.backup.places import BackupPlace
from admin.backup.points import WantedPoint
from admin.backup.pruning import KeptBackups, PrunePlan
from admin.backup.restoring import RestorePlan
from admin.backup.sealing import SealedPlace
from admin.backup.verifying import BackupVerification
from qsync.client import targets
from qsync.config import NodeConfig
from qsync.errors import ConfigError


def _unsaid(_text: str) -> None:
    """The default: lines for people are dropped."""


def _unshown(_what: str, _done: int, _all: int) -> None:
    """The default: progress is not shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedBackup:
    """A backup, and the points to which it can be restored: from `made.index` to `reach`.

    `until`: when the entry at `reach` was made, in seconds since 1970. `missing`: what was there
    when it was made and is not, or is cut short.
    """

    made: BackupManifest
    reach: int
    until: float
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Backups:
    """The backups of one cluster in one place: a folder, or a URL that fsspec reaches.

    `key`: of a place that is sealed, or that is to be; else QSYNC_BACKUP_KEY and
    QSYNC_BACKUP_KEY_FILE are asked. `say` hears in words what happens, `progress` what is done of
    how much. Every method reads the place again and raises BackupPlaceLost where it is not reached,
    BackupKeyRefused where the key is another one, and NoBackup where it holds nothing.
    """

    place: str
    key: str | None = field(default=None, repr=False)
    say: Callable[[str], None] = _unsaid
    progress: Progress = _unshown

    def create(
        self, target: str | Iterable[str], *, node: str | None = None, rate: int | None = None
    ) -> BackupManifest:
        """Make a backup of a running cluster; it is whole when this returns.

        `node`: take it from that one, else from a follower. `rate`: read at most so many bytes a
        second. Raises Unavailable, ForeignBackup and DiskFull; then there is none, and the same
        call goes on from there. ConfigError for a rate below 1.
        """
        if rate is not None and rate < 1:
            raise ConfigError(f"create: a rate of {rate} bytes a second would never end")
        options = taking.TakingOptions(
            node=node, bytes_per_s=rate, say=self.say, progress=self.progress
        )
        return taking.take_backup(self._opened(), targets.parse(target).addresses, options)

    def list(self) -> tuple[ListedBackup, ...]:
        """Return all finished backups, oldest first, and what of each is missing by now."""
        found = catalogue.load(self._opened())
        return tuple(
            ListedBackup(
                made=each,
                reach=found.reach(each),
                until=found.until(each),
                missing=tuple(found.missing(each)),
            )
            for each in found.backups
        )

    def verify(self) -> BackupVerification:
        """Read every byte: parts, rows and the chain of the log; report what is missing."""
        return verifying.verify(catalogue.load(self._opened()), self.progress)

    def prune(self, *, keep_last: int | None = None, keep_within: float | None = None) -> PrunePlan:
        """Remove old backups and the log that only they need; return what was removed.

        A backup stays that either keeps: the newest `keep_last`, and all of the last `keep_within`
        seconds. Raises ConfigError when neither is said.
        """
        if keep_last is None and keep_within is None:
            raise ConfigError("prune: say what is kept: keep_last, keep_within, or both")
        found = catalogue.load(self._opened())
        kept = KeptBackups(last=keep_last, seconds=keep_within)
        plan = pruning.plan(found, kept, now=datetime.now(UTC).timestamp())
        pruning.prune(found, plan, self.progress)
        return plan

    def restore(
        self,
        directory: Path | str,
        *,
        to_index: int | None = None,
        to_time: datetime | None = None,
        backup: int | None = None,
        listen: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> tuple[RestorePlan, NodeConfig]:
        """Make the directory the one node of a new cluster that holds what the old one held.

        The newest point there is, unless `to_index` or `to_time` name another one; without a zone
        that is UTC. `backup`: begin with the one of that index. `options`: of the node, by their
        dotted names, as text. What was restored, and the configuration of the node. Raises
        ConfigError when something is in the directory, BackupGap and BackupDamaged; then the node
        cannot be started, and the same call begins again.
        """
        wanted = self._wanted(to_index, to_time, backup)
        given = {**(options or {}), **({} if listen is None else {"listen": listen})}
        node = NewNode(directory=Path(directory), options=given)
        found = catalogue.load(self._opened())
        return restoring.restore(found, wanted, node, self.progress)

    def plan_restore(
        self,
        *,
        to_index: int | None = None,
        to_time: datetime | None = None,
        backup: int | None = None,
    ) -> RestorePlan:
        """Return what `restore` would make, as its `--dry-run`. Changes nothing."""
        found = catalogue.load(self._opened())
        return restoring.preview(found, self._wanted(to_index, to_time, backup))

    def _opened(self) -> BackupPlace:
        place = places.open_place(self.place)
        secret = keys.of_environment() if self.key is None else self.key
        return place if secret is None else SealedPlace(place, secret)

    def _wanted(self, index: int | None, time: datetime | None, backup: int | None) -> WantedPoint:
        if index is not None and time is not None:
            raise ConfigError("restore: to_index and to_time name two points")
        moment = None if time is None else (time if time.tzinfo else time.replace(tzinfo=UTC))
        return WantedPoint(
            index=index,
            time=None if moment is None else moment.timestamp(),
            backup=None if backup is None else str(backup),
        )
