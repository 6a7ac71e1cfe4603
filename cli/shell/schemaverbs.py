"""Verbs about definitions and transactions, bound to the facade."""

from collections.abc import Sequence

from admin.box.session import Box
from cli.shell import arguments
from cli.shell.dataverbs import NOTHING, DataVerbs, Verb, described
from qsync.client import operations
from qsync.data.request import Op
from qsync.errors import NoSuchSpace


class SchemaVerbs:
    """Each gets the session and what Lua passed."""

    def __init__(self, data: DataVerbs) -> None:
        self._data = data

    def verbs(self) -> dict[str, Verb]:
        """By name."""
        return {
            "space": self._space,
            "spaces": self._spaces,
            "space_names": self._space_names,
            "create_space": self._create_space,
            "create_index": self._create_index,
            "alter": self._alter,
            "drop": self._drop,
            "drop_index": self._drop_index,
            "create_sequence": self._create_sequence,
            "next_value": self._next_value,
            "sequences": self._sequences,
            "begin": self._begin,
            "commit": self._commit,
            "rollback": self._rollback,
            "is_in_txn": self._is_in_txn,
        }

    async def _space(self, box: Box, args: Sequence[object]) -> object:
        shape = await self._data.shape(box, arguments.at(args, 0))
        return None if shape is None else described(shape)

    async def _spaces(self, box: Box, _args: Sequence[object]) -> object:
        self._data.forget(box)
        return {
            each.name: {
                "id": each.id,
                "is_sync": each.is_sync,
                "format": [f"{field['name']} {field['type']}" for field in each.format],
                "indexes": [index.name for index in each.indexes],
            }
            for each in (await self._data.shapes(box)).values()
            if not each.system
        }

    async def _space_names(self, box: Box, _args: Sequence[object]) -> object:
        return [each.name for each in (await self._data.shapes(box)).values() if not each.system]

    async def _create_space(self, box: Box, args: Sequence[object]) -> object:
        name = arguments.text(arguments.at(args, 0), "the name of a space")
        given = arguments.creating(arguments.at(args, 1))
        await box.schema.change([Op.CREATE_SPACE, name, given])
        self._data.forget(box)
        return await self._space(box, [name])

    async def _create_index(self, box: Box, args: Sequence[object]) -> object:
        name = arguments.text(arguments.at(args, 1), "the name of an index")
        space = await self._data.space(box, [arguments.at(args, 0), 0])
        given = arguments.indexing(arguments.at(args, 2))
        await box.schema.change([Op.CREATE_INDEX, space.name, name, given])
        self._data.forget(box)
        shape = await self._data.shape(box, space.shape.id)
        if shape is None or shape.index(name) is None:
            raise NoSuchSpace(f"space {space.name} was dropped meanwhile")
        indexes = described(shape)["index"]
        assert isinstance(indexes, list)
        return next(each for each in indexes if each["name"] == name)

    async def _alter(self, box: Box, args: Sequence[object]) -> object:
        space = await self._data.space(box, [arguments.at(args, 0), 0])
        given = arguments.options(arguments.at(args, 1), arguments.ALTER_OPTIONS, "alter")
        await space.alter(**given)
        self._data.forget(box)
        return NOTHING

    async def _drop(self, box: Box, args: Sequence[object]) -> object:
        space = await self._data.space(box, [arguments.at(args, 0), 0])
        await box.schema.change(operations.drop_space(space.name))
        self._data.forget(box)
        return NOTHING

    async def _drop_index(self, box: Box, args: Sequence[object]) -> object:
        await (await self._data.space(box, args)).drop()
        self._data.forget(box)
        return NOTHING

    async def _create_sequence(self, box: Box, args: Sequence[object]) -> object:
        name = arguments.text(arguments.at(args, 0), "the name of a sequence")
        known, of = arguments.SEQUENCE_OPTIONS, "box.schema.sequence.create"
        given = arguments.options(arguments.at(args, 1), known, of)
        await box.schema.create_sequence(name, **given)
        return NOTHING

    async def _next_value(self, box: Box, args: Sequence[object]) -> object:
        return await box.schema.next_value(arguments.text(arguments.at(args, 0), "a sequence"))

    async def _sequences(self, box: Box, _args: Sequence[object]) -> object:
        rows = await box.data.space("_sequence").select()
        return [row[2] for row in rows]

    async def _begin(self, box: Box, args: Sequence[object]) -> object:
        box.begin(**arguments.committing(arguments.at(args, 0), "box.begin"))
        return NOTHING

    async def _commit(self, box: Box, args: Sequence[object]) -> object:
        await box.commit(**arguments.committing(arguments.at(args, 0), "box.commit"))
        return NOTHING

    async def _rollback(self, box: Box, _args: Sequence[object]) -> object:
        box.rollback()
        return NOTHING

    async def _is_in_txn(self, box: Box, _args: Sequence[object]) -> object:
        return box.txn is not None
