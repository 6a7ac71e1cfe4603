"""`box.schema`: which spaces there are and how they change."""

from typing import TypedDict, Unpack

from admin.box import shapes
from admin.box.base import BoxSession
from admin.box.shapes import Shape
from admin.box.space import BoxSpace
from qsync.client import calls, operations
from qsync.client.operations import Operation
from qsync.client.rows import Receipt
from qsync.data.request import Op
from qsync.wire.verbs import Name


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
        """Every space by name, the system's too."""
        return await shapes.every(self._box)

    async def find(self, name: Name) -> Shape:
        """One space. Raises NoSuchSpace."""
        return await shapes.find(self._box, name)

    async def create_space(self, name: str, **given: Unpack[SpaceOptions]) -> BoxSpace:
        """A space without an index; `create_index` makes its primary one."""
        await self.change([Op.CREATE_SPACE, name, dict(given)])
        return BoxSpace(self._box, await self.find(name))

    async def create_sequence(self, name: str, **given: object) -> None:
        """A sequence of numbers."""
        await self.change(operations.create_sequence(name, **given))

    async def next_value(self, sequence: str) -> int:
        """The next number of a sequence; never given twice."""
        return await self._box.data.schema.next_value(sequence)

    async def change(self, operation: Operation) -> Receipt:
        """Any change of the schema. It is a transaction of its own."""
        return await shapes.change(self._box, operation)

    async def dump(self) -> dict[str, object]:
        """All spaces as the node describes them."""
        return await self._box.data.run(calls.schema())
