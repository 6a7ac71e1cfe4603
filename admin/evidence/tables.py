"""The tables of a bundle of evidence: their columns and types."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

Cell: TypeAlias = object
"""A cell: null, a bool, an integer, a float, a text, or (type json) JSON."""
Row: TypeAlias = dict[str, Cell]

RUN = "run_id"
"""In every table; a row that does not have it belongs to the run of the manifest."""


class ColumnType(StrEnum):
    """`json`: any JSON value; in Parquet its text."""

    INT = "int"
    REAL = "real"
    TEXT = "text"
    BOOL = "bool"
    JSON = "json"


FITS: dict[ColumnType, type | tuple[type, ...]] = {
    ColumnType.INT: int,
    ColumnType.REAL: (int, float),
    ColumnType.TEXT: str,
    ColumnType.BOOL: bool,
    ColumnType.JSON: object,
}
"""The types of a cell in a line of JSON, besides null."""


@dataclass(frozen=True, slots=True)
class Table:
    """Columns in order. Everything but `needed` may be null or left out."""

    name: str
    columns: dict[str, ColumnType]
    needed: frozenset[str]


def _table(name: str, needed: str, **columns: str) -> Table:
    found = {RUN: ColumnType.TEXT}
    for type_, names in columns.items():
        found |= dict.fromkeys(names.split(), ColumnType(type_.removesuffix("_")))
    order = [RUN, *needed.split(), *(each for each in found if each not in needed.split())]
    return Table(name, {each: found[each] for each in order}, frozenset(needed.split()))


WAL = _table(
    "wal",
    "node generation index term kind origin lsn flags crc",
    int="node generation index term origin lsn flags crc ref_owner ref_lsn space key_hash effects "
    "seq body_crc body_len",
    text="kind session",
    real="time",
)
"""One row an entry of a node's log. `crc`: its chain checksum; `body_crc`: CRC-32 of its body."""

STATUS = _table(
    "status",
    "node generation life sample time_mono role term",
    int="node generation life sample time_mono term vote leader last crc written confirmed visible "
    "folded limbo_owner limbo_term limbo_len quorum voters",
    text="name role ro_reason state",
    bool="ro",
    real="time_wall",
    json="vclock",
)
"""What nodes said of themselves. `life` counts starts of the process, `time_mono` is in ns.

`crc`: the chain checksum of the entry `last`, which tells whether a log of later begins the same.
`voters`: how many voters the node counts by; 0 of one without a configuration.
"""

OPS = _table(
    "ops",
    "index time process type f",
    int="index time process term lsn seq floor floor_term log_index key_hash",
    text="type f node error",
    json="key value session",
)
"""The history of the clients: the lines of history.jsonl."""

EVENTS = _table(
    "events",
    "node generation life number time_mono name",
    int="node generation life number time_mono term index peer crc floor",
    text="name",
)
"""Events of nodes, numbered in one order: see EVENT_NAMES."""

UNSEEN = "confirmed-unseen"
"""The event of what was confirmed by disks of which some have no events."""

EVENT_NAMES = {
    "started": "the process began; its log on disk reaches to `index`",
    "ballot": "`term` and the vote for `peer` are on disk",
    "durable": "entry `index` of `term` and `crc` is on its disk, and nothing above it",
    "cut": "nothing above `index` is on its disk any more",
    "begins": "its log begins behind entry `index` of `term` and `crc`: all up to there is in its "
    "snapshot",
    "vote": "it granted `peer` its vote in `term`",
    "ack": "it answered `peer` in `term` that it has everything up to `index`, of checksum `crc`",
    "leads": "it leads `term`",
    "promised": "it promised `peer`, leader of `term`: no vote for another one before `floor` (ns, "
    "with the time in which its machine was suspended)",
    "released": "what it promised to `peer` is over, by the word of `peer`",
    "opened": "its directory is inode `index` of device `peer`; `floor` stands for its instance",
    "served": "it answered a read at `index`, an entry of `term`; it had to show at least `floor`",
    "confirmed": "its confirmed index is `index`, an entry of `term` and `crc`; its quorum `floor`",
    UNSEEN: "the same, by voters of which some have no events here",
    "configured": "it counts by the configuration of entry `index`; its `floor` voters follow",
    "voter": "of that configuration: `peer` on the directory that `floor` stands for",
    "log-opened": "the file of its log is inode `index` of device `peer`",
    "slept": "its machine had been suspended for `floor` ns since it was booted",
}

DIGESTS = _table(
    "digests",
    "node generation index space digest",
    int="node generation index bucket",
    text="space digest made",
)
"""Hashes of the visible rows of a space (of a `bucket` of it, if it is parted) at an index.

`made` is null of what a node shows; `snapshot` of the rows that are stored, `replay` of what its
log makes of them."""

SNAPSHOT, REPLAY = "snapshot", "replay"
"""How a digest was made: of the stored rows, or of the effects in the log up to there."""

NEMESIS = _table(
    "nemesis",
    "number f",
    int="number time_mono",
    text="f type",
    json="value",
)
"""The faults that were made, in order."""

FEEDS = _table(
    "feeds",
    "reader number after upto",
    int="reader number node after upto",
    json="places",
)
"""Answers of a feed of changes, in order: of the log above `after` and up to `upto`, a reader was
given the transactions at these `places`, each an index and its term."""

TABLES: dict[str, Table] = {
    each.name: each for each in (WAL, STATUS, OPS, EVENTS, DIGESTS, NEMESIS, FEEDS)
}
