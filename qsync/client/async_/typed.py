"""Spaces whose rows are values of a class: `db.space("accounts", row=Account)`."""

from collections.abc import Iterable
from typing import Generic, TypeVar, Unpack

from qsync.client.async_.runner import AsyncManyRunner
from qsync.client.async_.space import AsyncSpace
from qsync.client.options import (
    WINDOW,
    Changes,
    CountOptions,
    ManyWritesOptions,
    RangeOptions,
    ReadOptions,
    WriteOptions,
)
from qsync.client.rows import Key, Receipt
from qsync.client.rowtypes import RowType
from qsync.wire.verbs import Name

R = TypeVar("R")


class AsyncTypedSpace(Generic[R]):
    """A space of the cluster whose rows are `R`. `plain` is the same space with lists as rows."""

    def __init__(self, runner: AsyncManyRunner, name: Name, row: type[R]) -> None:
        self.name = name
        self.plain = AsyncSpace(runner, name)
        self._type = RowType(row)

    def __repr__(self) -> str:
        return f"<AsyncTypedSpace {self.name} of {self._type.cls.__name__}>"

    async def insert(self, row: R, **given: Unpack[WriteOptions]) -> Receipt:
        """A new row; DuplicateKey if its key is taken."""
        return await self.plain.insert(self._type.to_values(row), **given)

    async def replace(self, row: R, **given: Unpack[WriteOptions]) -> Receipt:
        """Insert a row, or replace the one with its key."""
        return await self.plain.replace(self._type.to_values(row), **given)

    async def replace_many(
        self, rows: Iterable[R], *, window: int = WINDOW, **given: Unpack[ManyWritesOptions]
    ) -> list[Receipt]:
        """Many rows, a transaction each, pipelined; see the plain space."""
        values = (self._type.to_values(row) for row in rows)
        return await self.plain.replace_many(values, window=window, **given)

    async def update(
        self, key: Key, changes: Changes, *, index: Name = 0, **given: Unpack[WriteOptions]
    ) -> R | None:
        """Change fields of one row; return the new row, or None if the key does not exist.

        Raises WrongTuple, with the outcome `committed`, for a new row that does not fit the class.
        """
        receipt = await self.plain.update(key, changes, index=index, **given)
        return self._type.left(receipt.row)

    async def upsert(self, row: R, changes: Changes, **given: Unpack[WriteOptions]) -> Receipt:
        """Insert the row, or change the one that is there."""
        return await self.plain.upsert(self._type.to_values(row), changes, **given)

    async def delete(self, key: Key, *, index: Name = 0, **given: Unpack[WriteOptions]) -> R | None:
        """Take one row away: what it was, None if there was none."""
        return self._type.left((await self.plain.delete(key, index=index, **given)).row)

    async def get(self, key: Key, *, index: Name = 0, **given: Unpack[ReadOptions]) -> R | None:
        """One row by a unique index, or None."""
        return self._type.some(await self.plain.get(key, index=index, **given))

    async def select(self, key: Key = None, **given: Unpack[RangeOptions]) -> list[R]:
        """Rows in index order: those equal to `key`, or as `iterator` says; all without key."""
        return self._type.every(await self.plain.select(key, **given))

    async def count(self, key: Key = None, **given: Unpack[CountOptions]) -> int:
        """How many rows `select` would give without a limit."""
        return await self.plain.count(key, **given)
