"""The log of a cluster, a part after the other, from a node to the place where it is kept."""

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
"""A part of the log ends with the batch that makes it so long."""

Progress = Callable[[str, int, int], None]
"""What is being copied, how far it is, and how much there is."""


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
    ) -> None:
        """Goes on behind entry `last`, whose chain checksum is `crc`, or behind what is there."""
        self._catalogue = catalogue
        self._wall = wall
        self._part_bytes = part_bytes
        self.parts: list[LogManifest] = catalogue.chain(last, crc)
        """Those that lead on from there, the ones that were there before included."""
        self.last, self.crc = last, crc
        if self.parts:
            self.last, self.crc = self.parts[-1].last, self.parts[-1].crc
        self._waiting: list[Entry] = []
        self._size = 0
        self.written = 0
        """Bytes, by this one."""

    @property
    def next(self) -> int:
        """The first entry that is not here yet."""
        return (self._waiting[-1].index if self._waiting else self.last) + 1

    @property
    def sum_before(self) -> int:
        """The checksum which the next entry follows."""
        return int(self._waiting[-1].crc) if self._waiting else self.crc

    def copy_from(
        self, source: BackupSource, upto: int, throttle: Throttle, progress: Progress
    ) -> None:
        """Everything up to a confirmed index of the node. Raises what the node refuses."""
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
        """Write down what waits. `settled`: up to there all is decided."""
        if not self._waiting:
            return
        waiting = self._waiting
        content = record.encode(waiting)
        name = names.log_part(waiting[0].index, waiting[-1].index)
        times = [each.time for each in waiting]
        made = LogManifest(
            cluster=self._catalogue.cluster,
            first=waiting[0].index,
            last=waiting[-1].index,
            before=self.crc,
            crc=waiting[-1].crc,
            term=waiting[-1].term,
            earliest=min(times),
            latest=max(times),
            archived=self._wall(),
            settled=settled,
            follows=self._before(waiting[0].index),
            part=manifest.part_of(name, content),
        )
        place = self._catalogue.place
        place.write(name, content)
        place.write(names.log_manifest(name), manifest.encode(made))
        self._catalogue.log.append(made)
        self.parts.append(made)
        self.last, self.crc = made.last, made.crc
        self.written += len(content)
        self._waiting, self._size = [], 0

    def _before(self, first: int) -> str:
        """The part that ends just before an entry."""
        for each in self._catalogue.log:
            if each.last == first - 1 and each.crc == self.crc:
                return each.part.name
        return ""
