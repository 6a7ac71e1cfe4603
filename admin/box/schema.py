"""`box.schema`: which spaces there are and how they change."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict, Unpack

from qsync.client import calls, operations, options
from qsync.client.operations import Operation
from qsync.client.rows import Receipt
from qsync.data.request import Op
from qsync.errors import NoSuchSpace, WrongSchema
from qsync.wire.verbs import Name

if TYPE_CHECKING:
    from admin.box.session import Box
    from admin.box.space import BoxSpace

SYSTEM_ID_MAX = 511
"""Ids up to this are the system's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexShape:
    """How an index is defined. Fields of `parts` count from 1, as people say them."""

    id: int
    name: str
    unique: bool
    parts: tuple[dict[str, object], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How a space is defined."""

    id: int
    name: str
    is_sync: bool
    format: tuple[dict[str, object], ...]
    indexes: tuple[IndexShape, ...]

    @property
    def system(self) -> bool:
        """Does it belong to the system?"""
        return self.id <= SYSTEM_ID_MAX

    def index(self, ref: Name) -> IndexShape | None:
        """An index by name or id."""
        return next((each for each in self.indexes if ref in (each.id, each.name)), None)


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

    def __init__(self, box: "Box") -> None:
        self._box = box

    async def shapes(self) -> dict[str, Shape]:
        """Every space by name, the system's too."""
        found = await self._box.data.schema.spaces()
        return {name: _shape(one) for name, one in found.items()}

    async def find(self, name: Name) -> Shape:
        """One space. Raises NoSuchSpace."""
        shapes = await self.shapes()
        for each in shapes.values():
            if name in (each.name, each.id):
                return each
        known = ", ".join(each.name for each in shapes.values() if not each.system)
        raise NoSuchSpace(f"there is no space {name!r}", hint=f"there are {known or 'none yet'}")

    async def create_space(self, name: str, **given: Unpack[SpaceOptions]) -> "BoxSpace":
        """A space without an index; `create_index` makes its primary one."""
        await self.change([Op.CREATE_SPACE, name, dict(given)])
        return await self._box.space(name)

    async def create_sequence(self, name: str, **given: object) -> None:
        """A sequence of numbers."""
        await self.change(operations.create_sequence(name, **given))

    async def next_value(self, sequence: str) -> int:
        """The next number of a sequence; never given twice."""
        return await self._box.data.schema.next_value(sequence)

    async def change(self, operation: Operation) -> Receipt:
        """Any change of the schema. It is a transaction of its own."""
        if self._box.txn is not None:
            raise WrongSchema(
                "a change of the schema is a transaction of its own",
                hint="commit the open transaction or roll it back first",
            )
        receipt = await self._box.data.run(options.change(operation, {}))
        self._box.last = receipt
        return receipt

    async def dump(self) -> dict[str, object]:
        """All spaces as the node describes them."""
        return await self._box.data.run(calls.schema())


def _shape(answer: object) -> Shape:
    one = answer if isinstance(answer, dict) else {}
    return Shape(
        id=int(one["id"]),
        name=str(one["name"]),
        is_sync=bool(one["is_sync"]),
        format=tuple(dict(each) for each in one["format"]),
        indexes=tuple(_index(each) for each in one["indexes"]),
    )


def _index(one: dict[str, object]) -> IndexShape:
    parts = one["parts"]
    assert isinstance(parts, list)
    return IndexShape(
        id=int(str(one["id"])),
        name=str(one["name"]),
        unique=bool(one["unique"]),
        parts=tuple({**part, "field": part["field"] + 1} for part in parts),
    )
