"""Operations are shuffled by key in boxes of columns: Spark moves blobs, not millions of rows."""

import zlib
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from admin.checker.spark.scan_context import Batches

BOX_DDL = "box bigint, data binary"
_SCHEMA = pa.schema([("box", pa.int64()), ("data", pa.binary())])


def boxed(table: pa.Table, boxes: int) -> Batches:
    """Put all operations of one run and part into the same box, of this number of boxes."""
    numbers = np.zeros(table.num_rows, dtype=np.int64)
    for name in ("run_id", "part"):
        coded = table.column(name).combine_chunks().dictionary_encode()
        hashes = [zlib.crc32(each.encode()) for each in coded.dictionary.to_pylist()]
        codes = coded.indices.fill_null(len(hashes)).to_numpy()
        numbers = numbers * 31 + np.array([*hashes, 0], dtype=np.int64)[codes]
    numbers %= boxes
    order = np.argsort(numbers, kind="stable")
    table, numbers = table.take(pa.array(order)), numbers[order]
    ends = np.searchsorted(numbers, np.arange(boxes), side="right").tolist()
    start = 0
    for box, end in enumerate(ends):
        if end > start:
            data = _packed(table.slice(start, end - start))
            yield pa.RecordBatch.from_pydict({"box": [box], "data": [data]}, schema=_SCHEMA)
        start = end


def unboxed(batches: Batches) -> Iterator[pa.Table]:
    """Read each box completely."""
    found: dict[int, list[pa.Table]] = defaultdict(list)
    for each in batches:
        for box, data in zip(*(column.to_pylist() for column in each.columns), strict=True):
            found[box].append(pa.ipc.open_stream(data).read_all())
    while found:
        yield pa.concat_tables(found.popitem()[1]).combine_chunks()


def _packed(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed
