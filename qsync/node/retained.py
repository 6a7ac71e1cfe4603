"""The kept part of a node's log, and its readers, for the status."""

from collections.abc import Sequence
from dataclasses import dataclass

from qsync.consumer import Consumer
from qsync.core.retention import LogHold
from qsync.node.checkpoints import Checkpoint
from qsync.status.storage import SnapshotReaderStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Retained:
    """`holds`: what keeps the log, most of it first; none while the rows are rebuilt."""

    consumers: Sequence[Consumer] = ()
    holds: Sequence[LogHold] = ()
    checkpoints: Sequence[Checkpoint] = ()
    readers: Sequence[SnapshotReaderStatus] = ()
    """The reader of a snapshot, such as a backup."""
    is_writing: bool = False
    """A snapshot is being written."""
    snapshot_error: str | None = None
    """Why the last one could not be written."""
    trim_error: str | None = None
    """Why the log on disk could not be trimmed."""
