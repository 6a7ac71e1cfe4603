"""A large bundle of evidence, made column by column: what a long run of a healthy cluster leaves.

`.venv/bin/python -m tests.bench.big_bundle FOLDER ROWS [--whole]`: rows of all logs of three nodes
together; `--whole` adds what nodes and clients did (see `big_around`), and some rollbacks.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from admin.checker.kernels.arrays import Numbers
from admin.checker.kernels.logs.crc import ChecksumColumns, checksums
from admin.evidence.arrow import schema
from admin.evidence.bundle import PARQUET, log_part
from admin.evidence.manifest import PART_ENTRIES, Manifest, NodeFacts
from tests.bench.big_around import BATCH, VICTIMS, Around

NODES = 3
TERM_ENTRIES = 700_000
"""A new leader after so many entries."""
ROLLBACK_AT = 40_032
"""In every part, if there are any."""
CLIENTS = 256
TXN, CONFIRM, PROMOTE, ROLLBACK = 0, 1, 2, 3
KINDS = pa.array(["TXN", "CONFIRM", "PROMOTE", "ROLLBACK"])
USER_SPACE = 512


def make(folder: Path, rows: int, *, whole: bool = False) -> Path:
    """Write the bundle and return its folder; `whole`: with every table, of a run at rest."""
    size = rows // NODES // BATCH * BATCH
    nodes = tuple(
        NodeFacts(node=n, confirmed=size, last=size, recorded=True) for n in range(1, NODES + 1)
    )
    folder.mkdir(parents=True, exist_ok=True)
    around = Around(folder) if whole else None
    for first, last, table in _parts(size, rollbacks=whole):
        if around is not None:
            around.part(table)
        for node in range(1, NODES + 1):
            place = log_part(folder, node, 1, first, last).with_suffix(PARQUET)
            place.parent.mkdir(parents=True, exist_ok=True)
            column = pa.array(np.full(table.num_rows, node, dtype=np.int64))
            at = table.schema.get_field_index("node")
            pq.write_table(
                table.set_column(at, "node", column),
                place,
                compression="zstd",
                write_page_checksum=True,
            )
    counts = {"wal": size * NODES} | ({} if around is None else around.close())
    Manifest(
        run_id=f"{'whole' if whole else 'big'}-{rows}",
        source="bench",
        quorum=2,
        voters=NODES,
        nodes=nodes,
        rows=counts,
        whole=whole,
        faults=whole,
        settings={"fence_seconds": 1.0},
    ).save(folder)
    return folder


def _parts(size: int, *, rollbacks: bool) -> Iterator[tuple[int, int, pa.Table]]:
    """All parts of one log; the checksums chain, since whatever body they need is made up."""
    dice = np.random.default_rng(1)
    previous = 0
    for first in range(1, size + 1, PART_ENTRIES):
        last = min(first + PART_ENTRIES - 1, size)
        index = np.arange(first, last + 1, dtype=np.int64)
        crc = dice.integers(0, 1 << 32, len(index))
        yield first, last, _table(dice, index, crc, previous, rollbacks=rollbacks)
        previous = int(crc[-1])


def _table(
    dice: np.random.Generator, index: Numbers, crc: Numbers, previous: int, *, rollbacks: bool
) -> pa.Table:
    term = (index - 1) // TERM_ENTRIES + 1
    first = (term - 1) * TERM_ENTRIES + 1
    origin = term % NODES + 1
    # An origin leads every third term, all of them as long.
    lsn = index - first + 1 + (term - 1) // NODES * TERM_ENTRIES
    kind = np.where(index % BATCH == 0, CONFIRM, TXN)
    kind = np.where(index == first, PROMOTE, kind)
    if rollbacks:
        kind = np.where(index % PART_ENTRIES == ROLLBACK_AT, ROLLBACK, kind)
    length = dice.integers(80, 240, len(index))
    time = 1.8e9 + index / 20_000
    sealed = ChecksumColumns(
        index=index,
        term=term,
        origin=origin,
        lsn=lsn,
        kind=np.array([1, 2, 4, 3])[kind],
        flags=((kind == TXN) | (kind == PROMOTE)).astype(np.int64),
        time=time,
        body_crc=np.zeros(len(index), dtype=np.int64),
        body_len=length,
        previous=np.concatenate(([previous], crc[:-1])),
    )
    control = kind != TXN
    owner, named = _names(kind, term, lsn)
    known = {
        "generation": pa.array(np.ones(len(index), dtype=np.int64)),
        "index": pa.array(index),
        "term": pa.array(term),
        "kind": pa.DictionaryArray.from_arrays(pa.array(kind), KINDS).cast(pa.string()),
        "origin": pa.array(origin),
        "lsn": pa.array(lsn),
        "flags": pa.array(sealed.flags),
        "crc": pa.array(crc),
        "ref_owner": pa.array(owner, mask=~control),
        "ref_lsn": pa.array(named, mask=~control),
        "space": pa.array(np.full(len(index), USER_SPACE), mask=control),
        "session": pa.array([f"{n:032x}" for n in range(CLIENTS)]).take(
            pa.array(index % CLIENTS, mask=control)
        ),
        "seq": pa.array(index // CLIENTS + 1, mask=control),
        "time": pa.array(time),
        "body_crc": pa.array(checksums(sealed) ^ crc),
        "body_len": pa.array(length),
    }
    wanted = schema("wal")
    columns = [known.get(f.name, pa.nulls(len(index), f.type)) for f in wanted]
    return pa.table(columns, schema=wanted)


def _names(kind: Numbers, term: Numbers, lsn: Numbers) -> tuple[Numbers, Numbers]:
    """What control entries name: the entry before, the first victim, the end of the term before."""
    before = term - 1
    owner = np.where(kind == PROMOTE, np.where(before > 0, before % NODES + 1, 0), term % NODES + 1)
    ended = ((before - 1) // NODES + 1) * TERM_ENTRIES
    named = np.where(kind == ROLLBACK, lsn - VICTIMS, lsn - 1)
    return owner, np.where(kind == PROMOTE, np.where(before > 0, ended, 0), named)


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("folder", type=Path)
    asked.add_argument("rows", type=int)
    asked.add_argument("--whole", action="store_true")
    wanted = asked.parse_args()
    print(json.dumps({"bundle": str(make(wanted.folder, wanted.rows, whole=wanted.whole))}))
