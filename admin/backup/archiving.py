"""Archives the log of a cluster as it grows: followed on any node, through failovers."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from admin.backup import catalogue, nodes, points, taking
from admin.backup.catalogue import Catalogue
from admin.backup.failures import ForeignBackup
from admin.backup.log_archive import LogArchive
from admin.backup.manifest import BackupManifest
from admin.backup.nodes import BackupSource
from admin.backup.places import BackupPlace
from admin.backup.taking import TakingOptions
from admin.backup.throttle import Throttle
from qsync import connect
from qsync.consumer import NAME_CHARACTERS_MAX, ConsumerKind
from qsync.errors import AccessDenied, Compacted, ProtocolError, QsyncError, Unavailable

EVERY_S: Final = 10.0
"""How often what was confirmed meanwhile is kept: so much may be lost with all nodes."""
RETRY_S: Final = 1.0
"""After this another node is asked, or the same one again."""
ADVANCE_ENTRIES: Final = 1000
"""The cluster hears so seldom how far the archive is: each time is an entry of the log itself."""
_CONNECT_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivingOptions:
    """`every_s`: seconds between two looks. `consumer`: the name that the cluster knows it by."""

    taking: TakingOptions = field(default_factory=TakingOptions)
    every_s: float = EVERY_S
    consumer: str = ""
    sleep: Callable[[float], None] = time.sleep


class Archiver:
    """Archives the log of one cluster at one place. One archiver is enough; two do no harm."""

    def __init__(self, place: BackupPlace, seeds: Sequence[str], options: ArchivingOptions) -> None:
        self.log: LogArchive | None = None
        """The archived part so far; None before it has begun."""
        self.parts = 0
        """Kept by this one."""
        self._place = place
        self._seeds = seeds
        self._options = options
        self._throttle = Throttle(options.taking.bytes_per_s)
        self._tries = 0
        self._trimmed: set[str] = set()
        """The addresses of nodes that do not have the log which follows."""
        self._refusal = ""
        """Why the cluster last refused to register the place; reported once."""
        self._registered: int | None = None
        """The place of the consumer, as the cluster knows it; None: it is to be told."""
        self._id = ""
        """The id of the place."""

    @property
    def name(self) -> str:
        """The name of its consumer; places of the same path on two machines have different names.

        So the log is kept for each of them.
        """
        name, id_ = f"archive {self._place.url}", f" {self._id}" if self._id else ""
        return self._options.consumer or name[: NAME_CHARACTERS_MAX - len(id_)] + id_

    def run(self, *, once: bool = False) -> None:
        """Archive until interrupted; with `once` until all is kept that is confirmed now.

        A node that does not answer is replaced by another one, for as long as it takes. Raises
        ForeignBackup, ConfigError, BackupPlaceLost, DiskFull; with `once` also Unavailable.
        """
        while True:
            try:
                is_done = self._follow(once=once)
            except (Unavailable, ProtocolError) as error:
                if once:
                    raise
                self._tries += 1
                self._options.taking.say(f"{error.message}; another node is asked")
                self._options.sleep(RETRY_S)
            else:
                if is_done:
                    return

    def _follow(self, *, once: bool) -> bool:
        """Archive from one node, as long as it answers; false when it lacks the log that follows.

        Then there is another one that was not asked yet.
        """
        able, confirmed = nodes.choose(self._seeds, node=self._options.taking.node)
        left = [each for each in able if each.address not in self._trimmed] or able
        chosen = left[self._tries % len(left)]
        with BackupSource(chosen.address) as source:
            self._options.taking.say(f"follows {chosen.name} at {chosen.address}")
            log = self._begun(source)
            if once:
                source.catch_up(confirmed)
            while True:
                try:
                    self._keep(source, log)
                except Compacted as error:
                    if self._was_kept(log):
                        log = self._begun(source)
                        continue
                    self._trimmed.add(chosen.address)
                    if any(each.address not in self._trimmed for each in able):
                        self._options.taking.say(f"{error.message}; another node is asked")
                        return False
                    self._back_up_anew(log.next, error)
                    log = self._begun(source)
                    continue
                self._tries = 0
                self._trimmed.clear()
                if once:
                    return True
                self._options.sleep(self._options.every_s)
                source.ask_status()

    def _begun(self, source: BackupSource) -> LogArchive:
        """Return where the archive continues: behind what is there, after a backup."""
        cluster = source.line.greeting.cluster
        if self.log is not None:
            if cluster != self.log.cluster:
                raise ForeignBackup(f"{source.line.address} is of cluster {cluster} now")
            self.log.forget_waiting()
            return self.log
        found = catalogue.load_or_begin(self._place, cluster)
        if not found.backups:
            self._options.taking.say("there is no backup yet to begin with: one is made")
            taking.take_backup(self._place, self._seeds, self._options.taking)
            found = catalogue.load(self._place)
        self._id = found.id
        self.log = _furthest(found, source)
        self._register(self.log.last)
        return self.log

    def _keep(self, source: BackupSource, log: LogArchive) -> None:
        """Archive all that is confirmed by now."""
        if source.confirmed <= log.last:
            return
        before = log.written
        log.copy_from(source, source.confirmed, self._throttle, self._options.taking.progress)
        self.parts += 1
        self._options.taking.say(f"kept up to index {log.last}, {log.written - before} bytes")
        if self._registered is None or log.last - self._registered >= ADVANCE_ENTRIES:
            self._register(log.last)

    def _was_kept(self, log: LogArchive) -> bool:
        """Whether somebody else has kept what follows; then it is begun again behind that."""
        found = catalogue.load(self._place)
        further = LogArchive(found, last=log.last, crc=log.crc).last > log.last
        if further:
            self.log = None
        return further

    def _back_up_anew(self, missing: int, error: Compacted) -> None:
        """Make another backup: no node has the log that follows any more."""
        self._options.taking.say(
            f"{error.message}: no log is kept from {missing} on; another backup is made, and no "
            "point in between can be restored"
        )
        self.log = None
        taking.take_backup(self._place, self._seeds, self._options.taking)

    def _register(self, index: int) -> None:
        """Ask the cluster to keep the log after that entry; the archive needs no answer.

        Without one it asks again when more is kept, unless it was told that it may not.
        """
        self._registered = None
        try:
            with connect(",".join(self._seeds), timeout=_CONNECT_S) as db:
                at = db.consumers.register(
                    self.name, ConsumerKind.ARCHIVE, at=index, about=self._place.url
                )
                if at.index < index:
                    db.consumers.advance(self.name, index)
        except QsyncError as error:
            if error.message != self._refusal:
                self._options.taking.say(
                    "the cluster does not know how far the archive is, and may trim its log: "
                    f"{error.message}"
                )
            self._refusal = error.message
            if isinstance(error, AccessDenied):
                self._registered = index
        else:
            self._registered = index
            self._refusal = ""


def _furthest(found: Catalogue, source: BackupSource) -> LogArchive:
    """Return the furthest entry to which an unbroken log leads from a backup.

    Where a later backup left a stretch without log, behind what is before that stretch, if the node
    still has it.
    """
    newest = max(found.backups, key=lambda each: (found.reach(each), each.index))
    for first, _ in reversed(points.gaps(found)):
        before = next(each for each in found.backups if found.reach(each) == first - 1)
        log = _behind(found, before)
        try:
            source.read_log(log.next, log.next, before=log.crc)
        except Compacted:
            break
        return log
    return _behind(found, newest)


def _behind(found: Catalogue, backup: BackupManifest) -> LogArchive:
    return LogArchive(found, last=backup.index, crc=backup.crc, grows=True)
