"""The definitions of spaces as users write them, and all changes of the schema."""

from dataclasses import dataclass

from admin.box.base import BoxSession
from qsync.client import options
from qsync.client.operations import Operation
from qsync.client.rows import Receipt
from qsync.errors import NoSuchSpace, WrongSchema
from qsync.wire.verbs import Name

SYSTEM_ID_MAX = 511
"""Ids up to this one belong to system spaces."""


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
        """Whether it is a system space."""
        return self.id <= SYSTEM_ID_MAX

    def index(self, ref: Name) -> IndexShape | None:
        """Return an index by name or id."""
        return next((each for each in self.indexes if ref in (each.id, each.name)), None)


async def every(box: BoxSession) -> dict[str, Shape]:
    """Return every space by name, including system spaces."""
    found = await box.data.schema.spaces()
    return {name: _shape(one) for name, one in found.items()}


async def find(box: BoxSession, name: Name) -> Shape:
    """Return one space. Raises NoSuchSpace."""
    shapes = await every(box)
    for each in shapes.values():
        if name in (each.name, each.id):
            return each
    known = ", ".join(each.name for each in shapes.values() if not each.system)
    raise NoSuchSpace(f"there is no space {name!r}", hint=f"there are {known or 'none yet'}")


async def change(box: BoxSession, operation: Operation) -> Receipt:
    """Change the schema, in a transaction of its own."""
    if box.txn is not None:
        raise WrongSchema(
            "a change of the schema is a transaction of its own",
            hint="commit the open transaction or roll it back first",
        )
    receipt = await box.data.run(options.change(operation, {}))
    box.last = receipt
    return receipt


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
