"""The zone test for all registers of a partition at once, without Python code per row.

It finds the keys that certainly have an order. All other keys, and objects that are not registers
with distinct written values, are left to the exact check of one key.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from admin.checker.kernels.arrays import Flags, Numbers
from admin.checker.operation import FOREVER

SIMPLE = r'^(-?[0-9]+|"[^"\\]*")$'
"""Values that are equal exactly if their texts are equal."""
_NULL = -1


@dataclass(frozen=True, slots=True)
class OperationColumns:
    """Operations that took effect or may have, by key. A value is a number, _NULL what is unset."""

    key: Numbers
    write: Flags
    value: Numbers
    begun: Numbers
    ended: Numbers
    unknown: Flags


def decided(table: pa.Table, key: Numbers, keys: int) -> tuple[Flags, Numbers]:
    """Return, by key, whether it certainly passes, and how many operations may have effect.

    `table` has the operations of some keys, `key` the key of each operation.
    """
    f, kind = table.column("f"), table.column("kind")
    read, write = (pc.equal(f, name).to_numpy() for name in ("read", "write"))
    info, ok = (pc.equal(kind, name).to_numpy() for name in ("info", "ok"))
    plain = pc.fill_null(pc.match_substring_regex(table.column("value"), SIMPLE), True)  # noqa: FBT003 - Arrow's
    unset = table.column("value").is_null().to_numpy()
    other = ~(read | write) | ~plain.to_numpy(zero_copy_only=False) | (write & unset)
    takes = ok | (info & ~read)
    counts = np.bincount(key[takes], minlength=keys)
    passes = np.bincount(key[other], minlength=keys) == 0
    codes = table.column("value").combine_chunks().dictionary_encode().indices
    ended = table.column("ended")
    columns = OperationColumns(
        key=key[takes],
        write=write[takes],
        value=pc.fill_null(codes, _NULL).to_numpy().astype(np.int64)[takes],
        begun=table.column("number").to_numpy()[takes],
        ended=pc.fill_null(ended, FOREVER).to_numpy()[takes],
        unknown=info[takes],
    )
    passes &= ~_clashes(columns, keys)
    return passes, counts


def _clashes(all_: OperationColumns, keys: int) -> Flags:
    """Return, by key, whether values or zones clash: written twice, read too early, overlapping."""
    odd: Flags = np.zeros(keys, dtype=np.bool_)
    if not len(all_.key):
        return odd
    order = np.lexsort((all_.value, all_.key))
    key, value, write = all_.key[order], all_.value[order], all_.write[order]
    begun, ended = all_.begun[order], all_.ended[order]
    unknown = all_.unknown[order]
    starts = np.concatenate(([0], np.flatnonzero(np.diff(key) | np.diff(value)) + 1))
    whose, what = key[starts], value[starts]
    writes = np.add.reduceat(write.astype(np.int64), starts)
    reads = np.diff(np.append(starts, len(key))) - writes
    first = np.minimum.reduceat(ended, starts)
    last = np.maximum.reduceat(begun, starts)
    written = np.maximum.reduceat(np.where(write, begun, -1), starts)
    read_end = np.minimum.reduceat(np.where(write, FOREVER, ended), starts)
    initial = what == _NULL
    odd[whose[(writes > 1) | ((writes == 0) & ~initial)]] = True
    odd[whose[~initial & (read_end < written)]] = True
    # An unknown write that no read returned need not have happened.
    idle = (np.add.reduceat((unknown & write).astype(np.int64), starts) > 0) & (reads == 0)
    first = np.where(initial, -FOREVER, first)
    odd |= _zones(whose[~idle], first[~idle], last[~idle], keys)
    return odd


def _zones(key: Numbers, end: Numbers, begin: Numbers, keys: int) -> Flags:
    """Return, by key, whether forward zones overlap, or one holds a backward one."""
    odd: Flags = np.zeros(keys, dtype=np.bool_)
    order = np.lexsort((begin, end, key))
    key, end, begin = key[order], end[order], begin[order]
    forward = end < begin
    keys_f, end_f, begin_f = key[forward], end[forward], begin[forward]
    if not len(keys_f):
        return odd
    overlap = (np.diff(keys_f) == 0) & (end_f[1:] < begin_f[:-1])
    odd[keys_f[1:][overlap]] = True
    keys_b, end_b, begin_b = key[~forward], end[~forward], begin[~forward]
    # They are disjoint if no key is odd yet, so only the last one that starts before can contain
    # it.
    at = _last_before(keys_f, end_f, keys_b, begin_b)
    held = (at >= 0) & (keys_f[at] == keys_b) & (end_b < begin_f[at])
    odd[keys_b[held]] = True
    return odd


def _last_before(
    keys: Numbers, starts: Numbers, wanted: Numbers, limits: Numbers
) -> NDArray[np.int64]:
    """For each wanted key and limit the last position below it, of that key or an earlier one."""
    both_keys = np.concatenate((keys, wanted))
    both = np.concatenate((starts, limits))
    is_limit = np.concatenate((np.zeros(len(keys), np.int8), np.ones(len(wanted), np.int8)))
    # At the same position the limit comes first: a zone that starts there does not start before.
    order = np.lexsort((1 - is_limit, both, both_keys))
    seen = np.cumsum(is_limit[order] == 0) - 1
    found = np.empty(len(order), dtype=np.int64)
    found[order] = seen
    return found[len(keys) :]
