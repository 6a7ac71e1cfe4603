"""A table whose rows stay out of Python: kernels read columns as arrays, by name."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from admin.checker.kernels.arrays import NOBODY, Flags, Numbers


class ColumnTable(Protocol):
    """Some columns of rows, of a file or in memory."""

    def __len__(self) -> int:
        """How many rows."""
        ...

    def numbers(self, name: str) -> Numbers:
        """A column; 0 where it is null."""
        ...

    def known(self, name: str) -> Flags:
        """Return where a column is not null."""
        ...

    def coded(self, name: str) -> tuple[Numbers, list[Any]]:
        """Positions in a list of the column's values, NOBODY where it is null; JSON is decoded.

        A value may be in the list more than once.
        """
        ...

    def cells(self, name: str, at: Numbers) -> list[Any]:
        """The cells of some rows; JSON is decoded."""
        ...


class MemoryTable:
    """Lists of cells by column. A missing column is null in every row."""

    def __init__(self, columns: Mapping[str, Sequence[Any]], size: int) -> None:
        self._columns = columns
        self._size = size

    @classmethod
    def of_rows(cls, rows: Sequence[Mapping[str, Any]], names: Iterable[str]) -> "MemoryTable":
        """These columns of rows, in their order."""
        return cls({name: [row.get(name) for row in rows] for name in names}, len(rows))

    def __len__(self) -> int:
        return self._size

    def numbers(self, name: str) -> Numbers:
        """See `ColumnTable`."""
        return np.array([cell or 0 for cell in self._column(name)], dtype=np.int64)

    def known(self, name: str) -> Flags:
        """See `ColumnTable`."""
        return np.array([cell is not None for cell in self._column(name)], dtype=np.bool_)

    def coded(self, name: str) -> tuple[Numbers, list[Any]]:
        """See `ColumnTable`."""
        codes: dict[str, int] = {}
        values: list[Any] = []
        places = []
        for cell in self._column(name):
            if cell is None:
                places.append(NOBODY)
                continue
            shown = repr(cell)
            if shown not in codes:
                codes[shown] = len(values)
                values.append(cell)
            places.append(codes[shown])
        return np.array(places, dtype=np.int64), values

    def cells(self, name: str, at: Numbers) -> list[Any]:
        """See `ColumnTable`."""
        column = self._column(name)
        return [column[place] for place in at.tolist()]

    def _column(self, name: str) -> Sequence[Any]:
        return self._columns.get(name) or [None] * self._size


def among(table: ColumnTable, name: str, wanted: Iterable[str]) -> Flags:
    """Return where a column, as text, is one of these."""
    codes, values = table.coded(name)
    kept = set(wanted)
    # The last one is for NOBODY.
    found: Flags = np.array([*(str(value) in kept for value in values), False], dtype=np.bool_)
    return found[codes]
