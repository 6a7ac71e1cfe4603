"""Columns of tables as numpy arrays: numbers, null masks, texts as positions in a list."""

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from admin.checker.kernels.arrays import NOBODY, Flags, Numbers, Reals
from admin.evidence.tables import TABLES, ColumnType


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
    """Return where a column is not null."""
    column = _one(table, name)
    if not column.null_count:
        return np.ones(len(column), dtype=np.bool_)
    found: Flags = column.is_valid().to_numpy(zero_copy_only=False)
    return found


def words(table: pa.Table, name: str) -> tuple[Numbers, list[str]]:
    """Texts as positions in a list; NOBODY where it is null."""
    column = _one(table, name)
    codes = column.indices.fill_null(NOBODY) if column.null_count else column.indices
    return codes.to_numpy().astype(np.int64), column.dictionary.to_pylist()


def among(table: pa.Table, name: str, wanted: Iterable[str]) -> Flags:
    """Return where a text is one of these."""
    codes, texts = words(table, name)
    kept = set(wanted)
    # The last one is for NOBODY.
    found: Flags = np.array([*(text in kept for text in texts), False])[codes]
    return found


class ArrowTable:
    """Columns of an evidence table, as kernels read them (see `ColumnTable`)."""

    def __init__(self, table: pa.Table, name: str) -> None:
        self._table = table
        self._name = name

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def filter(self, kept: pa.Array) -> "ArrowTable":
        """Some rows."""
        return ArrowTable(self._table.filter(kept), self._name)

    def numbers(self, name: str) -> Numbers:
        """See `ColumnTable`."""
        return numbers(self._table, name)

    def known(self, name: str) -> Flags:
        """See `ColumnTable`."""
        return known(self._table, name)

    def coded(self, name: str) -> tuple[Numbers, list[Any]]:
        """See `ColumnTable`."""
        column = _one(self._table, name)
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        codes: Numbers = column.indices.fill_null(NOBODY).to_numpy().astype(np.int64)
        return codes, self._values(name, column.dictionary.to_pylist())

    def cells(self, name: str, at: Numbers) -> list[Any]:
        """See `ColumnTable`."""
        return self._values(name, _one(self._table, name).take(pa.array(at)).to_pylist())

    def _values(self, name: str, cells: list[Any]) -> list[Any]:
        if TABLES[self._name].columns[name] is not ColumnType.JSON:
            return cells
        return [None if cell is None else json.loads(cell) for cell in cells]


def _one(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
