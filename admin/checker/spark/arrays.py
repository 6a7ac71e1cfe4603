"""Columns of tables as arrays of numpy: numbers, what is known, texts as places in a list."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from admin.checker.kernels.arrays import NOBODY, Flags, Numbers, Reals


def numbers(table: pa.Table, name: str) -> Numbers:
    """A column; 0 where it is null."""
    column = _one(table, name)
    found: Numbers = (column.fill_null(0) if column.null_count else column).to_numpy()
    return found


def reals(table: pa.Table, name: str) -> Reals:
    """A column of numbers with fractions; 0 where it is null."""
    column = _one(table, name)
    found: Reals = (column.fill_null(0.0) if column.null_count else column).to_numpy()
    return found


def known(table: pa.Table, name: str) -> Flags:
    """Where a column is not null."""
    column = _one(table, name)
    if not column.null_count:
        return np.ones(len(column), dtype=np.bool_)
    found: Flags = column.is_valid().to_numpy(zero_copy_only=False)
    return found


def words(table: pa.Table, name: str) -> tuple[Numbers, list[str]]:
    """Texts as places in a list of them; NOBODY where there is none."""
    column = _one(table, name)
    codes = column.indices.fill_null(NOBODY) if column.null_count else column.indices
    return codes.to_numpy().astype(np.int64), column.dictionary.to_pylist()


def among(table: pa.Table, name: str, wanted: Iterable[str]) -> Flags:
    """Where a text is one of these."""
    codes, texts = words(table, name)
    kept = set(wanted)
    # The last one is for NOBODY.
    found: Flags = np.array([*(text in kept for text in texts), False])[codes]
    return found


def _one(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
