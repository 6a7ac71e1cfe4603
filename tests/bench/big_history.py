"""A large history of registers, made column by column: five clients write and read every key."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from admin.evidence.arrow import schema
from admin.evidence.manifest import Manifest

KEY_OPERATIONS = 100
CLIENTS = 5
UNKNOWN = 0.02
REACH = 1.9
"""An operation takes effect at its moment, begins at most so much before and ends so much after."""


def make(folder: Path, operations: int) -> Path:
    """Write a bundle of a history and nothing else; return its folder."""
    keys = operations // KEY_OPERATIONS
    dice = np.random.default_rng(1)
    size = keys * KEY_OPERATIONS
    slot, key = np.divmod(np.arange(size), keys)
    write = dice.random(size) < 0.5
    lost = write & (dice.random(size) < UNKNOWN)
    by_key = np.where(write, slot, -1).reshape(KEY_OPERATIONS, keys)
    newest = np.maximum.accumulate(by_key, axis=0).reshape(-1)
    value = newest * keys + key
    # A client without an answer is replaced by another one.
    gone = np.zeros(size, dtype=np.int64)
    for client in range(CLIENTS):
        mine = slot % CLIENTS == client
        per_key = lost[mine].reshape(-1, keys)
        gone[mine] = (np.cumsum(per_key, axis=0) - per_key).reshape(-1)
    process = ((gone * CLIENTS) + slot % CLIENTS) * keys + key
    moment = slot + dice.random(size) * 0.01
    begun, ended = (dice.random(size) * REACH for _ in range(2))
    answered = np.flatnonzero(~lost)
    moments = np.concatenate((moment - begun, (moment + ended)[answered]))
    whose = np.concatenate((np.arange(size), answered))
    is_end = np.concatenate((np.zeros(size, np.bool_), np.ones(len(answered), np.bool_)))
    order = np.argsort(moments)
    at, is_end = whose[order], is_end[order]
    shown = np.where(write, True, newest >= 0)[at] & (write[at] | is_end)
    known = {
        "index": pa.array(np.arange(len(at))),
        "time": pa.array((moments[order] * 1e6).astype(np.int64)),
        "process": pa.array(process[at]),
        "type": _texts(is_end, "ok", "invoke"),
        "f": _texts(write[at], "write", "read"),
        "key": pa.array(key[at]).cast(pa.string()),
        "value": pa.array(value[at], mask=~shown).cast(pa.string()),
    }
    wanted = schema("ops")
    columns = [known.get(f.name, pa.nulls(len(at), f.type)) for f in wanted]
    table = pa.table(columns, schema=wanted)
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        table,
        folder / "ops.parquet",
        compression="zstd",
        row_group_size=1 << 17,
        write_page_checksum=True,
    )
    Manifest(run_id=f"history-{operations}", source="bench", rows={"ops": len(at)}).save(folder)
    return folder


def _texts(which: NDArray[np.bool_], yes: str, no: str) -> pa.Array:
    return pa.array([no, yes]).take(pa.array(which.astype(np.int64)))
