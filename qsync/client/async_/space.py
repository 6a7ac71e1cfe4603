"""One space as an object: insert, replace, update, upsert, delete, get, select, count."""

from collections.abc import Iterable
from typing import Unpack

from qsync.client import calls, operations, options
from qsync.client.async_.runner import AsyncManyRunner
from qsync.client.options import (
    WINDOW,
    Changes,
    CountOptions,
    ManyWritesOptions,
    RangeOptions,
    ReadOptions,
    WriteOptions,
)
from qsync.client.rows import Key, Receipt, Row, Values, named
from qsync.wire.verbs import Name


class AsyncSpace:
    """A space of the cluster: reads, and writes that are a transaction each."""

    def __init__(self, runner: AsyncManyRunner, name: Name) -> None:
        self.name = named(name)
        self._runner = runner

    def __repr__(self) -> str:
        return f"<AsyncSpace {self.name}>"

    async def insert(self, row: Values, **given: Unpack[WriteOptions]) -> Receipt:
        """A new tuple; DuplicateKey if its key is taken."""
        return await self._write(operations.insert(self.name, row), given)

    async def replace(self, row: Values, **given: Unpack[WriteOptions]) -> Receipt:
        """Insert a tuple, or replace the one with its key."""
        return await self._write(operations.replace(self.name, row), given)

    async def update(
        self, key: Key, changes: Changes, *, index: Name = 0, **given: Unpack[WriteOptions]
    ) -> Receipt:
        """Change fields of one tuple; `receipt.row` is the tuple after it, None if absent."""
        return await self._write(operations.update(self.name, key, changes, index), given)

    async def upsert(self, row: Values, changes: Changes, **given: Unpack[WriteOptions]) -> Receipt:
        """Insert the tuple, or change the one that is there."""
        return await self._write(operations.upsert(self.name, row, changes), given)

    async def delete(self, key: Key, *, index: Name = 0, **given: Unpack[WriteOptions]) -> Receipt:
        """Take one tuple away; `receipt.row` is what it was."""
        return await self._write(operations.delete(self.name, key, index), given)

    async def truncate(self, **given: Unpack[WriteOptions]) -> Receipt:
        """Take all tuples away."""
        return await self._write(operations.truncate(self.name), given)

    async def replace_many(
        self, rows: Iterable[Values], *, window: int = WINDOW, **given: Unpack[ManyWritesOptions]
    ) -> list[Receipt]:
        """Many tuples, a transaction each, pipelined.

        When some do not succeed, the first error is raised after all are settled.
        """
        asked = options.writes(operations.replace_each(self.name, rows), given)
        return await self._runner.run_many(asked, window=window, timeout=given.get("timeout"))

    async def get(self, key: Key, *, index: Name = 0, **given: Unpack[ReadOptions]) -> Row | None:
        """One tuple by a unique index, or None."""
        call = calls.get(self.name, key, options.level(given), index)
        return await self._runner.run(call, timeout=given.get("timeout"))

    async def select(self, key: Key = None, **given: Unpack[RangeOptions]) -> list[Row]:
        """Tuples in index order: those equal to `key`, or as `iterator` says; all without key."""
        level = options.level(given, options.RANGE)
        call = calls.select(self.name, options.which(key, given), level)
        return await self._runner.run(call, timeout=given.get("timeout"))

    async def count(self, key: Key = None, **given: Unpack[CountOptions]) -> int:
        """How many tuples `select` would give without a limit."""
        level = options.level(given, options.COUNT)
        call = calls.count(self.name, options.counted(key, given), level)
        return await self._runner.run(call, timeout=given.get("timeout"))

    # |def __len__(self) -> int:
    # |    return self.count()

    # |def __bool__(self) -> bool:
    # |    return True

    async def _write(self, operation: operations.Operation, given: WriteOptions) -> Receipt:
        call = options.write([operation], given)
        return await self._runner.run(call, timeout=given.get("timeout"))
