"""What a node keeps, in its status: disk, stored rows, memory, cut tails, armed fault points."""

from typing import Annotated

from msgspec import Struct, field

from qsync.histogram import Spread


class DiskStatus(Struct, frozen=True, kw_only=True):
    """How the log is written, and whether that goes well."""

    writer: Annotated[str, "`inline` or `thread`"] = ""
    fsync_us: Annotated[float | None, "microseconds of a flush when the node was started"] = None
    write_us: Annotated[float | None, "microseconds of a durable write, recent median"] = None
    write_us_max: Annotated[float | None, "microseconds of the slowest recent one"] = None
    writes: Annotated[Spread, "durable writes since the start, by the seconds they took"] = field(
        default_factory=Spread
    )
    stalled: Annotated[bool, "whether a write is under way"] = False
    busy_s: Annotated[float, "seconds that this write has taken so far"] = 0.0
    error: Annotated[str | None, "why the log or the rows cannot be written"] = None
    free: Annotated[int | None, "free bytes of the file system; null: cannot be asked"] = None
    total: Annotated[int | None, "all bytes of the file system"] = None

    @property
    def usual_s(self) -> float | None:
        """Return how long a durable write takes: recently, or when the node was started."""
        return _seconds(self.write_us or self.fsync_us)

    @property
    def slowest_s(self) -> float | None:
        """What the slowest of the recent writes took."""
        return _seconds(self.write_us_max)


def _seconds(microseconds: float | None) -> float | None:
    return None if microseconds is None else microseconds / 1e6


class SpacesStatus(Struct, frozen=True, kw_only=True):
    """The rows on disk: are they what the log makes of them?"""

    error: Annotated[str | None, "why they cannot be read and are rebuilt"] = None
    replayed: Annotated[int | None, "index up to which they are rebuilt"] = None
    to_replay: Annotated[int | None, "index up to which they will be"] = None
    rebuilds: Annotated[int, "number of rebuilds since the start"] = 0
    scrubs: Annotated[int, "times that all of them were read and verified since the start"] = 0
    compared: Annotated[int, "index at which they were compared with the leader's last"] = 0
    differs: Annotated[tuple[str, ...], "spaces that were not the leader's then"] = ()


class MemoryStatus(Struct, frozen=True, kw_only=True):
    """What takes room, in bytes."""

    rss: Annotated[int, "largest resident memory of the process so far, in bytes"] = 0
    tx: Annotated[int, "pending transactions, in bytes"] = 0
    overlay_rows: Annotated[int, "row versions in memory that are not folded yet"] = 0
    net: Annotated[int, "what waits to be sent, in bytes"] = 0
    data: Annotated[int, "the spaces on disk, in bytes"] = 0
    log: Annotated[int, "the log on disk, in bytes"] = 0


class CheckpointStatus(Struct, frozen=True, kw_only=True):
    """A snapshot on the disk."""

    signature: Annotated[int, "index of the log at which it holds"] = 0
    vclock: Annotated[dict[int, int], "the last lsn of each origin in it"] = field(
        default_factory=dict
    )
    size: Annotated[int, "bytes of its file"] = 0
    time: Annotated[float, "when it was written, in seconds since 1970"] = 0.0


class ConsumerStatus(Struct, frozen=True, kw_only=True):
    """A consumer of the log."""

    name: Annotated[str, "its name; of a member the uuid of its directory"] = ""
    kind: Annotated[str, "`replica`, `subscriber`, `backup` or `archive`"] = ""
    about: Annotated[str, "what is known of it: the member's name, or what it said itself"] = ""
    signature: Annotated[int, "index up to which it has the log"] = 0
    vclock: Annotated[dict[int, int], "the last lsn of each origin up to there"] = field(
        default_factory=dict
    )
    size: Annotated[int, "bytes of log that are kept behind that"] = 0
    let_go: Annotated[bool, "whether nothing is kept for it any more: it needs a snapshot"] = False
    owner: Annotated[
        str, "the user whom it belongs to; empty of a member, and of one of nobody"
    ] = ""


class HoldStatus(Struct, frozen=True, kw_only=True):
    """What keeps the log from being trimmed further."""

    kind: Annotated[
        str, "a kind of consumer, or `confirmed`, `fold`, `snapshot`, `start`, `transfer`"
    ] = ""
    name: Annotated[str, "the consumer's name; empty for what is the node's own"] = ""
    signature: Annotated[int, "index behind which the log is kept for it"] = 0
    why: Annotated[str, "why, as a clause"] = ""


class SnapshotReaderStatus(Struct, frozen=True, kw_only=True):
    """A reader of a snapshot of this node, such as a backup."""

    signature: Annotated[int, "index of the log at which the snapshot holds"] = 0
    address: Annotated[str, "the host that reads it"] = ""
    bytes: Annotated[int, "how far it has read"] = 0
    bytes_in_all: Annotated[int, "size of the file"] = 0

    @property
    def share(self) -> float:
        """How much of it was read, 0 to 1."""
        return self.bytes / self.bytes_in_all if self.bytes_in_all else 0.0


class GcStatus(Struct, frozen=True, kw_only=True):
    """Where the log begins, which snapshots there are, and who still needs the log."""

    vclock: Annotated[dict[int, int], "the last lsn of each origin before the log begins"] = field(
        default_factory=dict
    )
    signature: Annotated[int, "index of the entry before the log begins; 0: it is all there"] = 0
    checkpoint_is_in_progress: Annotated[bool, "whether a snapshot is written"] = False
    checkpoint_error: Annotated[str | None, "why the last one could not be written"] = None
    checkpoint_interval: Annotated[float, "seconds after which the next one is due; 0: none"] = 0.0
    is_paused: Annotated[bool, "always false"] = False
    checkpoints: Annotated[tuple[CheckpointStatus, ...], "the snapshots, oldest first"] = ()
    consumers: Annotated[tuple[ConsumerStatus, ...], "who needs the log, largest holder first"] = ()
    held_by: Annotated[
        HoldStatus | None, "what holds most of it; null while the rows are rebuilt"
    ] = None
    retention: Annotated[int, "bytes of log that are kept for a consumer at most"] = 0
    readers: Annotated[
        tuple[SnapshotReaderStatus, ...], "who reads a snapshot of this node, such as a backup"
    ] = ()
    trim_error: Annotated[str | None, "why the log on disk could not be trimmed"] = None

    def overdue(self, *, now: float | None, confirmed: int) -> float:
        """How many intervals old the newest snapshot is; 0 if nothing came since, or none is due.

        `now`: the node's wall clock, in seconds since 1970.
        """
        newest = self.checkpoints[-1] if self.checkpoints else None
        if newest is None or now is None or self.checkpoint_interval <= 0:
            return 0.0
        if confirmed <= newest.signature:
            return 0.0
        return max(0.0, now - newest.time) / self.checkpoint_interval


class CutTail(Struct, frozen=True, kw_only=True):
    """Entries that were cut from the end of the log and are kept in the archive."""

    number: Annotated[int, "its number in the archive"] = 0
    first: Annotated[int, "index of its first entry"] = 0
    last: Annotated[int, "index of its last entry"] = 0
    term: Annotated[int, "the term of the leader that had others"] = 0
    time: Annotated[float, "when it was cut, in seconds since 1970"] = 0.0
    reason: Annotated[str, "why"] = ""
    asynchronous: Annotated[int, "transactions of it that had been answered"] = 0


class LostStatus(Struct, frozen=True, kw_only=True):
    """Tails that were cut off this node, and are kept in its archive."""

    count: Annotated[int, "asynchronous transactions of them that had been answered"] = 0
    entries: Annotated[int, "all entries of them, also those that no client was told of"] = 0
    tails: Annotated[tuple[CutTail, ...], "the newest of them"] = ()


class FaultStatus(Struct, frozen=True, kw_only=True):
    """A fault point that is armed: the node breaks on purpose."""

    point: Annotated[str, "where it breaks"] = ""
    seconds: Annotated[float, "how long it holds things up"] = 0.0
    left: Annotated[int | None, "how often it will strike; null: until it is disarmed"] = None
    struck: Annotated[int, "how often it has struck"] = 0
