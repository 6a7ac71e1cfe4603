"""What a node keeps, in its status: disk, stored rows, memory, cut tails, armed fault points."""

from typing import Annotated

from msgspec import Struct, field

from qsync.histogram import Spread


class DiskStatus(Struct, frozen=True, kw_only=True):
    """How the log is written, and whether that goes well."""

    writer: Annotated[str, "`inline` or `thread`"] = ""
    fsync_us: Annotated[float | None, "microseconds of a flush when the node was started"] = None
    write_us: Annotated[float | None, "microseconds of a durable write, median of late"] = None
    write_us_max: Annotated[float | None, "microseconds of the slowest one of late"] = None
    writes: Annotated[Spread, "durable writes since the start, by the seconds they took"] = field(
        default_factory=Spread
    )
    stalled: Annotated[bool, "whether a write is under way"] = False
    busy_s: Annotated[float, "seconds that this write has taken so far"] = 0.0
    error: Annotated[str | None, "why the log cannot be written"] = None
    free: Annotated[int | None, "free bytes of the file system; null: cannot be asked"] = None
    total: Annotated[int | None, "all bytes of the file system"] = None

    @property
    def usual_s(self) -> float | None:
        """What a durable write takes here: of late, or when the node was started."""
        return _seconds(self.write_us or self.fsync_us)

    @property
    def slowest_s(self) -> float | None:
        """What the slowest of the recent writes took."""
        return _seconds(self.write_us_max)


def _seconds(microseconds: float | None) -> float | None:
    return None if microseconds is None else microseconds / 1e6


class SpacesStatus(Struct, frozen=True, kw_only=True):
    """The rows on disk: are they what the log makes of them?"""

    error: Annotated[str | None, "why they cannot be read and are made anew"] = None
    replayed: Annotated[int | None, "index up to which they are made anew"] = None
    to_replay: Annotated[int | None, "index up to which they will be"] = None
    rebuilds: Annotated[int, "times that they were made anew since the start"] = 0
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
    """A state of the spaces that is on disk."""

    signature: Annotated[int, "index up to which the log is in it"] = 0
    vclock: Annotated[dict[int, int], "the last lsn of each origin in it"] = field(
        default_factory=dict
    )


class ConsumerStatus(Struct, frozen=True, kw_only=True):
    """A follower that still needs the log from somewhere on."""

    name: Annotated[str | None, "its name"] = None
    signature: Annotated[int, "index up to which it has acked"] = 0


class GcStatus(Struct, frozen=True, kw_only=True):
    """How far the spaces on disk are, and who still needs the log."""

    vclock: Annotated[dict[int, int], "the last lsn of each origin that is folded"] = field(
        default_factory=dict
    )
    signature: Annotated[int, "index up to which the log is folded into the spaces"] = 0
    checkpoint_is_in_progress: Annotated[bool, "whether folding was asked to hurry"] = False
    is_paused: Annotated[bool, "always false"] = False
    checkpoints: Annotated[tuple[CheckpointStatus, ...], "the one that there is"] = ()
    consumers: Annotated[tuple[ConsumerStatus, ...], "the followers; told by the leader"] = ()


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
    entries: Annotated[int, "all entries of them, also what nobody was told of"] = 0
    tails: Annotated[tuple[CutTail, ...], "the newest of them"] = ()


class FaultStatus(Struct, frozen=True, kw_only=True):
    """A fault point that is armed: the node breaks on purpose."""

    point: Annotated[str, "where it breaks"] = ""
    seconds: Annotated[float, "how long it holds things up"] = 0.0
    left: Annotated[int | None, "how often it will strike; null: until it is disarmed"] = None
    struck: Annotated[int, "how often it has struck"] = 0
