"""`box.space.NAME` and its indexes, and `box.schema`, which creates them.

Reads and writes are done inside of an open transaction or without one.

An index can be written to like its space. That is what people who chain
`create_space(...):create_index(...)` mean.
"""

from typing import Final, TypedDict, Unpack

from admin.box import shapes
from admin.box.base import BoxSession
from admin.box.shapes import IndexShape, Shape
from qsync.client import calls, operations, options
from qsync.client.operations import Operation
from qsync.client.options import Changes, CountOptions, PageOptions, RangeOptions, ReadOptions
from qsync.client.rows import Key, Receipt, Row, Values
from qsync.data.operation_kinds import Op
from qsync.errors import NoSuchIndex
from qsync.wire.verbs import Name

_NONE: Final = frozenset[str]()


class BoxSpace:
    """A space as it was defined when it was asked for, perhaps seen through one of its indexes."""

    def __init__(self, box: BoxSession, shape: Shape, index: IndexShape | None = None) -> None:
        self.shape = shape
        self._box = box
        self._index = index

    def __repr__(self) -> str:
        index = f".index.{self._index.name}" if self._index is not None else ""
        return f"<box.space.{self.shape.name}{index}>"

    @property
    def name(self) -> str:
        """The name of the space."""
        return self.shape.name

    def index(self, ref: Name) -> "BoxSpace":
        """The space seen through one of its indexes. Raises NoSuchIndex."""
        found = self.shape.index(ref)
        if found is None:
            known = ", ".join(each.name for each in self.shape.indexes)
            raise NoSuchIndex(
                f"space {self.name} has no index {ref!r}", hint=f"it has {known or 'none'}"
            )
        return BoxSpace(self._box, self.shape, found)

    @property
    def _by(self) -> int:
        return 0 if self._index is None else self._index.id

    # -- reading

    async def get(self, key: Key, **given: Unpack[ReadOptions]) -> Row | None:
        """Return one tuple by a complete key of a unique index, or None."""
        txn = self._box.txn
        if txn is not None:
            options.check(given, _NONE)
            return await txn.space(self.name).get(key, index=self._by)
        given.setdefault("consistency", self._box.consistency)
        return await self._box.data.space(self.name).get(key, index=self._by, **given)

    async def select(self, key: Key = None, **given: Unpack[RangeOptions]) -> list[Row]:
        """Return tuples in index order: those equal to `key`, or as `iterator` says."""
        given.setdefault("index", self._by)
        txn = self._box.txn
        if txn is not None:
            return await txn.space(self.name).select(key, **_page_of(given))
        given.setdefault("consistency", self._box.consistency)
        return await self._box.data.space(self.name).select(key, **given)

    async def count(self, key: Key = None, **given: Unpack[CountOptions]) -> int:
        """Return how many tuples `select` would return without a limit."""
        if self._box.txn is not None:
            return len(await self.select(key, **given))
        given.setdefault("index", self._by)
        given.setdefault("consistency", self._box.consistency)
        return await self._box.data.space(self.name).count(key, **given)

    # -- writing

    async def insert(self, row: Values) -> Row:
        """Insert a tuple. Raises DuplicateKey if its key exists."""
        await self._write(operations.insert(self.name, row))
        return list(row)

    async def replace(self, row: Values) -> Row:
        """Insert a tuple, or replace the one with its key."""
        await self._write(operations.replace(self.name, row))
        return list(row)

    async def update(self, key: Key, changes: Changes) -> Row | None:
        """Change fields of one tuple. Returns the new tuple, or None if there is none."""
        operation = operations.update(self.name, key, changes, self._by)
        done = await self._write(operation)
        if self._box.txn is not None:
            return await self.get(key)
        return done

    async def upsert(self, row: Values, changes: Changes) -> None:
        """Insert the tuple, or change the existing one."""
        await self._write(operations.upsert(self.name, row, changes))

    async def delete(self, key: Key) -> Row | None:
        """Delete one tuple, and return it."""
        was = await self.get(key) if self._box.txn is not None else None
        done = await self._write(operations.delete(self.name, key, self._by))
        return was if self._box.txn is not None else done

    async def truncate(self) -> None:
        """Delete all tuples."""
        await self._write(operations.truncate(self.name))

    async def _write(self, operation: Operation) -> Row | None:
        box = self._box
        if box.txn is not None:
            await box.txn.try_write(operation)
            return None
        receipt = await box.data.run(options.write([operation], {}))
        box.last = receipt
        return receipt.row

    # -- the definition

    async def create_index(self, name: str, **given: object) -> "BoxSpace":
        """Create an index; the first is the primary one. Returns the space seen through it."""
        await shapes.change(self._box, [Op.CREATE_INDEX, self.name, name, given])
        return (await self._again()).index(name)

    async def alter(self, **given: object) -> "BoxSpace":
        """Change `name`, `format` or `is_sync`."""
        await shapes.change(self._box, [Op.ALTER_SPACE, self.shape.id, given])
        return await self._again()

    async def drop(self) -> None:
        """Drop the space and all its tuples; of a space seen through an index, only that index."""
        if self._index is not None:
            await shapes.change(self._box, operations.drop_index(self.name, self._index.name))
        else:
            await shapes.change(self._box, operations.drop_space(self.name))

    async def _again(self) -> "BoxSpace":
        """Return the space as it is defined now."""
        return BoxSpace(self._box, await shapes.find(self._box, self.shape.id))


class SpaceOptions(TypedDict, total=False):
    """As `box.schema.create_space` takes them. `engine` may be named and makes no difference."""

    format: object
    is_sync: bool
    is_local: bool
    if_not_exists: bool
    id: int
    engine: str
    field_count: int


class BoxSchema:
    """Spaces and sequences, as they are now."""

    def __init__(self, box: BoxSession) -> None:
        self._box = box

    async def shapes(self) -> dict[str, Shape]:
        """Return every space by name, including system spaces."""
        return await shapes.every(self._box)

    async def find(self, name: Name) -> Shape:
        """Return one space. Raises NoSuchSpace."""
        return await shapes.find(self._box, name)

    async def create_space(self, name: str, **given: Unpack[SpaceOptions]) -> BoxSpace:
        """Create a space without an index; `create_index` makes its primary one."""
        await self.change([Op.CREATE_SPACE, name, dict(given)])
        return BoxSpace(self._box, await self.find(name))

    async def create_sequence(self, name: str, **given: object) -> None:
        """Create a sequence of numbers."""
        await self.change(operations.create_sequence(name, **given))

    async def next_value(self, sequence: str) -> int:
        """Return the next number of a sequence; never the same twice."""
        return await self._box.data.schema.next_value(sequence)

    async def change(self, operation: Operation) -> Receipt:
        """Change the schema, in a transaction of its own."""
        return await shapes.change(self._box, operation)

    async def dump(self) -> dict[str, object]:
        """Return all spaces as the node describes them."""
        return await self._box.data.run(calls.schema())


def _page_of(given: RangeOptions) -> PageOptions:
    """Return the options of a read in a transaction, which says itself how fresh it is."""
    options.check(given, options.PAGE)
    return {
        "index": given.get("index", 0),
        "iterator": given.get("iterator"),
        "limit": given.get("limit"),
        "offset": given.get("offset", 0),
        "after": given.get("after"),
    }
