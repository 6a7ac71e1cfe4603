"""What tasks are given and asked, and how found rows travel home as Arrow."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from admin.checker.kernels.arrays import Numbers
from admin.checker.kernels.logs.slices import Whose
from admin.checker.spark.job_schema import FindingRow

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
class ScanContext:
    """What is known before logs are looked at: confirmed by log, failed requests, and quorums.

    `wanted`: by run, the index of the entry whose checksums decide about a quorum. `requests`: by
    run and session the numbers, in order, that somebody asks for: failed and unknown ones.
    """

    confirmed: dict[Whose, int]
    failed: dict[str, frozenset[tuple[str, int]]]
    quorum: dict[str, int]
    wanted: dict[str, int] = field(default_factory=dict)
    requests: dict[str, dict[str, Numbers]] = field(default_factory=dict)


@dataclass(slots=True)
class ScanQuestions:
    """What the driver still wants to know of one log: of which requests, by session."""

    spans: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def anything(self) -> bool:
        """It is worth another look."""
        return bool(self.spans)


def by_session(requests: Iterable[tuple[str, int]]) -> dict[str, Numbers]:
    """Numbers by session, in order."""
    found: dict[str, set[int]] = defaultdict(set)
    for session, seq in requests:
        found[session].add(seq)
    return {name: np.array(sorted(seqs), dtype=np.int64) for name, seqs in found.items()}


def batch(found: Iterable[FindingRow]) -> pa.RecordBatch:
    """Found rows as columns."""
    columns = list(zip(*found, strict=True)) or [()] * len(_SCHEMA)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, _SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)
