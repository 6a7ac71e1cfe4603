"""The input of tasks, and the encoding of their result rows as Arrow."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from admin.checker.kernels.logs.requests import AskedRequests
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
    """The facts known before logs are read: by log its confirmed index.

    `wanted`: by run, the index of the entry whose checksums decide about a quorum. `requests`: by
    run, what is asked about requests.
    """

    confirmed: dict[Whose, int] = field(default_factory=dict)
    wanted: dict[str, int] = field(default_factory=dict)
    requests: dict[str, AskedRequests] = field(default_factory=dict)


def batch(found: Iterable[FindingRow]) -> pa.RecordBatch:
    """Found rows as columns."""
    columns = list(zip(*found, strict=True)) or [()] * len(_SCHEMA)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, _SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)
