"""What tasks are given and asked, and how found rows travel home as Arrow."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from admin.checker.spark.columns import Whose
from admin.checker.spark.found import Found

Batches = Iterator[pa.RecordBatch]

_SCHEMA = pa.schema(
    [
        ("run_id", pa.string()),
        ("what", pa.string()),
        ("invariant", pa.string()),
        ("node", pa.int64()),
        ("generation", pa.int64()),
        ("index", pa.int64()),
        ("term", pa.int64()),
        ("amount", pa.int64()),
        ("message", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Given:
    """What is known before logs are looked at: confirmed by log, failed requests, and quorums.

    `wanted`: by run, the index of the entry whose checksums decide about a quorum.
    """

    confirmed: dict[Whose, int]
    failed: dict[str, frozenset[tuple[str, int]]]
    quorum: dict[str, int]
    wanted: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Asked:
    """What the driver still wants to know of one log: around entries, and of requests."""

    points: set[int] = field(default_factory=set)
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def anything(self) -> bool:
        """It is worth another look."""
        return bool(self.points or self.spans)


def batch(found: Iterable[Found]) -> pa.RecordBatch:
    """Found rows as columns."""
    columns = list(zip(*found, strict=True)) or [()] * len(_SCHEMA)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, _SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)
