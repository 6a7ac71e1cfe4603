"""A backup of a running cluster: all rows at an exact index, and the log from there up to now."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from admin.backup import catalogue, manifest, names, nodes
from admin.backup.catalogue import Catalogue
from admin.backup.failures import BackupDamaged, BackupKeyRefused, NoBackup
from admin.backup.log_archive import LogArchive, Progress
from admin.backup.manifest import BackupManifest, Part
from admin.backup.nodes import BackupSource
from admin.backup.places import BackupPlace
from admin.backup.rows import RowsCheck, SnapshotFrames
from admin.backup.throttle import Throttle
from qsync import __version__
from qsync.core.logstart import EMPTY, LogStart
from qsync.errors import Compacted, QsyncError, SnapshotLost
from qsync.record import CHAIN_SEED
from qsync.store.snapshot import decode_head

ROWS_PART_BYTES: Final = 8 << 20
"""A snapshot is kept in parts of this size, the last one excepted."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TakingOptions:
    """`node`: take it from that one. `bytes_per_s`: read no faster. `say`: what happens, in words.

    `part_bytes`: how large the parts of the rows are.
    """

    node: str | None = None
    bytes_per_s: int | None = None
    part_bytes: int = ROWS_PART_BYTES
    say: Say = lambda _: None
    progress: Progress = lambda _what, _done, _all: None
    wall: Callable[[], float] = lambda: datetime.now(UTC).timestamp()


def take_backup(place: BackupPlace, seeds: Sequence[str], options: TakingOptions) -> BackupManifest:
    """Make a backup; whole when this returns. What a stopped one left there is used again.

    Raises Unavailable, ConfigError, ForeignBackup, NoBackup, BackupPlaceLost, DiskFull, and what
    the node refuses; then there is no backup, and the same call goes on from there.
    """
    begun = options.wall()
    able, confirmed = nodes.choose(seeds, node=options.node)
    chosen = able[0]
    with BackupSource(chosen.address) as source:
        source.catch_up(confirmed)
        cluster = source.line.greeting.cluster
        role = "the leader" if chosen.leads else "a follower"
        options.say(f"taken from {chosen.name} at {chosen.address}, {role}")
        found = catalogue.load_or_begin(place, cluster)
        throttle = Throttle(options.bytes_per_s)
        snapshot = _snapshot_of(found, source, options.say)
        rows = _Rows(found, snapshot, options)
        start = rows.start(source)
        log = LogArchive(
            found,
            last=start.index,
            crc=int(start.crc) if start.index else CHAIN_SEED,
            wall=options.wall,
        )
        # What follows the rows comes first: the node may trim it while they are copied.
        _copy_log(log, source, throttle, options)
        try:
            rows.copy_from(source, throttle)
        except BackupDamaged as error:
            _forget(place, snapshot)  # else the next attempt would find the same
            error.hint = "what was copied of it was removed; the same command begins it anew"
            raise
        source.ask_status()
        _copy_log(log, source, throttle, options)
        _check_there(place, rows.parts)
        made = BackupManifest(
            cluster=cluster,
            index=start.index,
            term=start.term,
            crc=start.crc,
            start=start.encode().hex() if start.index else "",
            index_time=_time_at(source, start),
            last=log.last,
            last_term=log.parts[-1].term if log.parts else start.term,
            node=chosen.name,
            instance=chosen.uuid,
            begun=begun,
            ended=options.wall(),
            time=log.parts[-1].latest if log.parts else begun,
            rows=rows.count,
            parts=tuple(rows.parts),
            log=tuple(each.part.name for each in log.parts),
            release=__version__,
            youngest=found.youngest(start.index),
        )
    place.write(names.backup(made.index), manifest.encode(made))
    return made


def _copy_log(
    log: LogArchive, source: BackupSource, throttle: Throttle, options: TakingOptions
) -> None:
    """All that is confirmed by now, or nothing more where it was trimmed: the rows are enough."""
    try:
        log.copy_from(source, max(source.confirmed, log.last), throttle, options.progress)
    except Compacted as error:
        options.say(f"the log is kept up to {log.last} only: {error.message}")


def _snapshot_of(found: Catalogue, source: BackupSource, say: Say) -> int:
    """The snapshot that a stopped backup began with, if the node still has it; else a new one."""
    for index in reversed(found.unfinished):
        try:
            source.read_snapshot(index, 0)
        except SnapshotLost:
            say(f"the backup at index {index} was never finished, and its snapshot is gone")
            _forget(found.place, index)
        else:
            say(f"goes on with the backup at index {index}")
            return index
    return source.make_snapshot()


def _check_there(place: BackupPlace, parts: Sequence[Part]) -> None:
    """Check that no other backup has removed these parts as leftovers. Raises BackupDamaged."""
    for folder in {each.name.rpartition("/")[0] for each in parts}:
        there = {f"{folder}/{name}" for name in place.names(folder)}
        gone = [each.name for each in parts if each.name not in there]
        if gone:
            raise BackupDamaged(
                f"{gone[0]} was removed while the backup was made",
                hint="make one backup at a time to a place, and begin this one again",
            )


def _forget(place: BackupPlace, index: int) -> None:
    place.remove(names.backup(index))
    place.remove_folder(names.base(index))


class _Rows:
    """The parts of a snapshot, verified as they come."""

    def __init__(self, found: Catalogue, snapshot: int, options: TakingOptions) -> None:
        self.parts: list[Part] = []
        self._place = found.place
        self._snapshot = snapshot
        self._options = options
        self._check = RowsCheck()
        self._there = set(found.place.names(names.base(snapshot)))

    @property
    def count(self) -> int:
        """How many rows there are."""
        return self._check.head.rows if self._snapshot else 0

    def start(self, source: BackupSource) -> LogStart:
        """Where the log goes on behind them, by their head."""
        if not self._snapshot:
            return EMPTY
        frames, offset = SnapshotFrames(), 0
        while True:
            size, piece = source.read_snapshot(self._snapshot, offset)
            head = next(frames.feed(piece), None)
            if head is not None:
                return decode_head(head).start
            offset += len(piece)
            if offset >= size or not piece:
                raise BackupDamaged(f"the snapshot at {self._snapshot} ends within its head")

    def copy_from(self, source: BackupSource, throttle: Throttle) -> None:
        """Copy all parts."""
        if not self._snapshot:
            return
        size, done, number = 1, 0, 0
        while done < size:
            number += 1
            size, content = self._part(source, number, done, throttle)
            done += len(content)
            self._check.feed(content)
            name = names.rows_part(self._snapshot, number)
            self.parts.append(manifest.part_of(name, content))
            self._options.progress("rows", done, size)
        self._check.finish()

    def _part(
        self, source: BackupSource, number: int, offset: int, throttle: Throttle
    ) -> tuple[int, bytes]:
        """A part that is there already, or from the node; and the size of all of them."""
        name = names.rows_part(self._snapshot, number)
        size, piece = source.read_snapshot(self._snapshot, offset)
        wanted = min(self._options.part_bytes, size - offset)
        if name.rpartition("/")[2] in self._there:
            kept = self._kept(name, piece[:wanted], wanted)
            if kept is not None:
                return size, kept
        pieces, got = [piece], len(piece)
        throttle.passed(got)
        while got < wanted and piece:
            _, piece = source.read_snapshot(self._snapshot, offset + got)
            pieces.append(piece)
            got += len(piece)
            throttle.passed(len(piece))
        content = b"".join(pieces)[:wanted]
        if len(content) < wanted:
            raise BackupDamaged(f"the snapshot at {self._snapshot} ends before its {size} bytes")
        self._place.write(name, content)
        return size, content

    def _kept(self, name: str, begins: bytes, size: int) -> bytes | None:
        """What a stopped backup left; None when it is not whole. Its rows are verified as all.

        A sealing key does not open it: it is copied again.
        """
        try:
            content = self._place.read(name)
        except (NoBackup, BackupDamaged, BackupKeyRefused):
            return None
        return content if len(content) == size and content.startswith(begins) else None


def _time_at(source: BackupSource, start: LogStart) -> float:
    """When the last entry below the rows was written; 0 where nothing is below them."""
    if not start.index:
        return 0.0
    try:
        (entry,) = source.read_log(start.index, start.index, before=None)
    except QsyncError:
        return source.status.time or 0.0  # it was trimmed meanwhile: later than it was
    return entry.time
