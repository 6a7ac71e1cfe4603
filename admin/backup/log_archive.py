"""Copies the log of a cluster, part by part, from a node to the place where it is kept."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from admin.backup import manifest, names
from admin.backup.catalogue import Catalogue
from admin.backup.manifest import LogManifest
from admin.backup.nodes import BackupSource
from admin.backup.throttle import Throttle
from qsync import record
from qsync.record import Entry

PART_BYTES: Final = 8 << 20
"""A part of the log ends with the batch that reaches this size."""

Progress = Callable[[str, int, int], None]
"""What is copied or removed, how much of it is done, and the total."""


class LogArchive:
    """Appends parts behind an entry. A part is there when its manifest is."""

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        last: int,
        crc: int,
        wall: Callable[[], float] = lambda: datetime.now(UTC).timestamp(),
        part_bytes: int = PART_BYTES,
        grows: bool = False,
    ) -> None:
        """Continues behind entry `last`, whose chain checksum is `crc`, or behind what is there.

        `grows`: small parts that follow each other are made one part, so that there are not many.
        """
        self._catalogue = catalogue
        self._wall = wall
        self._part_bytes = part_bytes
        self.parts: list[LogManifest] = catalogue.chain(last, crc)
        """Those that lead on from there, the ones that were there before included."""
        self.last, self.crc = last, crc
        if self.parts:
            self.last, self.crc = self.parts[-1].last, self.parts[-1].crc
        self._grows = grows
        self._growing: tuple[LogManifest, bytes] | None = None
        """The part that was written last, while it is short."""
        self._waiting: list[Entry] = []
        self._size = 0
        self.written = 0
        """Bytes, by this one."""

    @property
    def cluster(self) -> str:
        """The cluster of the log."""
        return self._catalogue.cluster

    def forget_waiting(self) -> None:
        """Forget what was read and is not written yet: it will be read again."""
        self._waiting, self._size = [], 0

    @property
    def next(self) -> int:
        """The first entry that is not here yet."""
        return (self._waiting[-1].index if self._waiting else self.last) + 1

    @property
    def sum_before(self) -> int:
        """The chain checksum before the next entry."""
        return int(self._waiting[-1].crc) if self._waiting else self.crc

    def copy_from(
        self, source: BackupSource, upto: int, throttle: Throttle, progress: Progress
    ) -> None:
        """Copy everything up to a confirmed index of the node. Raises what the node refuses."""
        while self.next <= upto:
            entries = source.read_log(self.next, upto, before=self.sum_before)
            size = sum(len(each.raw) for each in entries)
            self._waiting += entries
            self._size += size
            if self._size >= self._part_bytes:
                self.flush(settled=self.next > upto)
            progress("log", self.next - 1, upto)
            throttle.passed(size)
        self.flush(settled=True)

    def flush(self, *, settled: bool) -> None:
        """Write what waits. `settled`: up to there all is decided."""
        if not self._waiting:
            return
        waiting, before = self._waiting, self.crc
        content = record.encode(waiting)
        self.written += len(content)
        former = self._former(len(content))
        times = [each.time for each in waiting]
        first, follows = int(waiting[0].index), self._before(waiting[0].index)
        if former is not None:
            grown, begins = former
            content = begins + content
            times += [grown.earliest, grown.latest]
            first, follows, before = grown.first, grown.follows, grown.before
        name = names.log_part(first, waiting[-1].index)
        made = LogManifest(
            cluster=self._catalogue.cluster,
            first=first,
            last=waiting[-1].index,
            before=before,
            crc=waiting[-1].crc,
            term=waiting[-1].term,
            earliest=min(times),
            latest=max(times),
            archived=self._wall(),
            settled=settled,
            follows=follows,
            part=manifest.part_of(name, content),
        )
        self._put(made, content, instead=None if former is None else former[0])
        self._growing = (made, content) if self._grows else None
        self.last, self.crc = made.last, made.crc
        self.forget_waiting()

    def _former(self, size: int) -> tuple[LogManifest, bytes] | None:
        """Return the part to which these bytes are added; None for a new part."""
        growing = self._growing
        if growing is None or len(growing[1]) + size > self._part_bytes:
            return None
        return growing

    def _put(self, made: LogManifest, content: bytes, *, instead: LogManifest | None) -> None:
        """Write the new part, then its manifest; then remove the one that it contains."""
        place, log = self._catalogue.place, self._catalogue.log
        place.write(made.part.name, content)
        place.write(names.log_manifest(made.part.name), manifest.encode(made))
        log.append(made)
        self.parts.append(made)
        if instead is not None:
            place.remove(names.log_manifest(instead.part.name))
            place.remove(instead.part.name)
            log.remove(instead)
            self.parts.remove(instead)

    def _before(self, first: int) -> str:
        """Return the part that ends just before an entry."""
        for each in self._catalogue.log:
            if each.last == first - 1 and each.crc == self.crc:
                return each.part.name
        return ""
