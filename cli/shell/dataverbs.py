"""Verbs about spaces, their schema and tuples, bound to the facade."""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from admin.box.session import Box
from admin.box.shapes import Shape
from admin.box.space import BoxSpace
from cli.shell import arguments
from cli.shell.implied import implied_rows, joined
from cli.shell.refused import REFUSED, refusal_of
from cli.shell.runtime import MultipleValues
from cli.shell.values import NamedRow
from qsync.client import operations
from qsync.data.operation_kinds import Op
from qsync.errors import NoSuchSpace, WrongOperation

NOTHING: Final = MultipleValues()
SHAPES_KEPT_S: Final = 1.0
"""How long a definition is cached; changes of this shell are visible at once."""

VIEWS: Final = {
    "_vspace": "_space",
    "_vindex": "_index",
    "_vsequence": "_sequence",
    "_vuser": "_user",
    "_vpriv": "_priv",
}
"""Tarantool's views of accessible spaces: here the spaces themselves are filtered by rights."""

Verb = Callable[[Box, Sequence[object]], Awaitable[object]]


class DataVerbs:
    """Each gets the session and the arguments from Lua."""

    def __init__(self) -> None:
        self._shapes: dict[int, tuple[float, dict[str, Shape]]] = {}

    def verbs(self) -> dict[str, Verb]:
        """Return the verbs by name."""
        return {
            "get": self._get,
            "select": self._select,
            "count": self._count,
            "len": self._count,
            "min": self._min,
            "max": self._max,
            "insert": self._insert,
            "replace": self._replace,
            "put": self._replace,
            "update": self._update,
            "upsert": self._upsert,
            "delete": self._delete,
            "truncate": self._truncate,
        }

    async def shapes(self, box: Box) -> dict[str, Shape]:
        """Return all definitions, possibly from the cache."""
        kept = self._shapes.get(id(box))
        if kept is None or kept[0] < time.monotonic():
            kept = (time.monotonic() + SHAPES_KEPT_S, await box.schema.shapes())
            self._shapes[id(box)] = kept
        return kept[1]

    async def shape(self, box: Box, ref: object) -> Shape | None:
        """Return one definition by name or id; requested again before it counts as missing."""
        for _ in range(2):
            for each in (await self.shapes(box)).values():
                if ref in (each.name, each.id):
                    return each
            self.forget(box)
        return None

    def forget(self, box: Box) -> None:
        """Clear the cache: definitions have changed."""
        self._shapes.pop(id(box), None)

    async def space(self, box: Box, args: Sequence[object]) -> BoxSpace:
        """The space and index that the first two arguments name."""
        ref, index = arguments.at(args, 0), arguments.number(arguments.at(args, 1), "index")
        shape = await self.shape(box, ref)
        if shape is None:
            raise WrongOperation(f"space {ref} does not exist any more")
        found = shape.index(index)
        return BoxSpace(box, shape, found)

    async def _get(self, box: Box, args: Sequence[object]) -> object:
        space = await self.space(box, args)
        given, key = arguments.getting(arguments.at(args, 3)), arguments.key(arguments.at(args, 2))
        found: Sequence[object] | None = await space.get(key, **given)
        if found is None:
            wanted = key if isinstance(key, list) else [key]
            more = await implied_rows(box, space.name)
            found = next((row for row in more if row[:1] == wanted), None)
        return by_field_names(space, found)

    async def _select(self, box: Box, args: Sequence[object]) -> object:
        space = await self.space(box, args)
        given = arguments.reading(arguments.at(args, 3))
        key = arguments.key(arguments.at(args, 2))
        found = [list(row) for row in await space.select(key, **given)]
        if key is None and "after" not in given:
            found = joined(found, await implied_rows(box, space.name))[: given.get("limit")]
        return [by_field_names(space, each) for each in found]

    async def _count(self, box: Box, args: Sequence[object]) -> object:
        space = await self.space(box, args)
        given, key = arguments.counting(arguments.at(args, 3)), arguments.key(arguments.at(args, 2))
        implied = await implied_rows(box, space.name) if key is None else []
        if implied:
            return len(joined([list(row) for row in await space.select(key, **given)], implied))
        return await space.count(key, **given)

    async def _min(self, box: Box, args: Sequence[object]) -> object:
        return await self._end(box, args, "ge")

    async def _max(self, box: Box, args: Sequence[object]) -> object:
        return await self._end(box, args, "le")

    async def _end(self, box: Box, args: Sequence[object], iterator: str) -> object:
        space = await self.space(box, args)
        key = arguments.key(arguments.at(args, 2))
        found = await space.select(key, iterator=iterator, limit=1)
        return by_field_names(space, found[0]) if found else None

    async def _insert(self, box: Box, args: Sequence[object]) -> object:
        arguments.no_options(arguments.at(args, 3), "insert")
        space = await self.space(box, args)
        return by_field_names(space, await space.insert(arguments.row(arguments.at(args, 2))))

    async def _replace(self, box: Box, args: Sequence[object]) -> object:
        arguments.no_options(arguments.at(args, 3), "replace")
        space = await self.space(box, args)
        return by_field_names(space, await space.replace(arguments.row(arguments.at(args, 2))))

    async def _update(self, box: Box, args: Sequence[object]) -> object:
        arguments.no_options(arguments.at(args, 4), "update")
        space = await self.space(box, args)
        key, given = arguments.key(arguments.at(args, 2)), arguments.at(args, 3)
        return by_field_names(space, await space.update(key, arguments.changes(given)))

    async def _upsert(self, box: Box, args: Sequence[object]) -> object:
        arguments.no_options(arguments.at(args, 4), "upsert")
        space = await self.space(box, args)
        row, given = arguments.row(arguments.at(args, 2)), arguments.at(args, 3)
        await space.upsert(row, arguments.changes(given))
        return NOTHING

    async def _delete(self, box: Box, args: Sequence[object]) -> object:
        arguments.no_options(arguments.at(args, 3), "delete")
        space = await self.space(box, args)
        return by_field_names(space, await space.delete(arguments.key(arguments.at(args, 2))))

    async def _truncate(self, box: Box, args: Sequence[object]) -> object:
        await (await self.space(box, args)).truncate()
        return NOTHING


def by_field_names(space: BoxSpace, row: Sequence[object] | None) -> NamedRow | None:
    """A tuple with the names of its fields."""
    if row is None:
        return None
    return NamedRow(list(row), tuple(str(each["name"]) for each in space.shape.format))


def described(shape: Shape) -> dict[str, object]:
    """A definition as Lua sees it."""
    return {
        "id": shape.id,
        "name": shape.name,
        "engine": "lmdb",
        "is_sync": shape.is_sync,
        "field_count": 0,
        "enabled": bool(shape.indexes),
        "is_local": False,
        "temporary": False,
        "state": {"is_sync": shape.is_sync},
        "format": list(shape.format),
        "index": [
            {
                "id": each.id,
                "name": each.name,
                "type": "TREE",
                "unique": each.unique,
                "space_id": shape.id,
                "parts": list(each.parts),
            }
            for each in shape.indexes
        ],
    }


class SchemaVerbs:
    """Each gets the session and the arguments from Lua."""

    def __init__(self, data: DataVerbs) -> None:
        self._data = data

    def verbs(self) -> dict[str, Verb]:
        """Return the verbs by name."""
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
        ref = arguments.at(args, 0)
        shape = await self._data.shape(box, VIEWS.get(str(ref), ref))
        if shape is None and f"box.space.{ref}" in REFUSED:
            raise refusal_of(f"box.space.{ref}")
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
