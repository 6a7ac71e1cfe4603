"""Schema changes: rows written to `_space`, `_index`, `_sequence` and `_truncate`."""

from collections.abc import Sequence

from qsync.data import indexes, keys, schema, tuples
from qsync.data.draft import EffectDraft
from qsync.data.formats import (
    check_part,
    first_part,
    flag,
    format_of,
    name_of,
    options_of,
    parts_of,
)
from qsync.data.schema import SpaceDefinition
from qsync.errors import (
    NoSuchSpace,
    SpaceExists,
    WrongOperation,
    WrongSchema,
    WrongTuple,
)

_MAX_ID = "max_id"
_SPACE_OPTIONS = frozenset(
    {"format", "is_sync", "is_local", "if_not_exists", "id", "primary", "engine", "field_count"}
)
_ALTER_OPTIONS = frozenset({"format", "is_sync", "name"})
_INDEX_OPTIONS = frozenset({"unique", "parts", "if_not_exists", "type", "id"})
_SEQUENCE_OPTIONS = frozenset({"start", "step", "min", "max", "cycle", "if_not_exists"})
_INTEGER_TOP = (1 << 63) - 1


def create_space(draft: EffectDraft, name: object, options: object) -> bytes | None:
    """A new space; with the option `primary`, also its primary index."""
    label, given = name_of(name), options_of(options, _SPACE_OPTIONS)
    if draft.schema.find(label) is not None:
        if given.get("if_not_exists"):
            return None
        raise SpaceExists(f'there is a space "{label}"')
    if given.get("is_local"):
        raise WrongSchema("is_local: every space is replicated in this release")
    if given.get("engine", "lmdb") not in ("lmdb", "memtx"):
        raise WrongSchema(f"there is no engine {given['engine']!r}; there is one: lmdb or memtx")
    new = schema.space(
        id=_new_id(draft, given.get("id")),
        name=label,
        fields=format_of(given.get("format", ())),
        is_sync=flag(given, "is_sync", default=False),
    )
    row = _put(draft, schema.SPACE, schema.space_row(new))
    if "primary" in given:
        create_index(draft, new.id, "primary", {"parts": given["primary"]})
    return row


def alter_space(draft: EffectDraft, ref: object, options: object) -> bytes | None:
    """Change name, format or `is_sync` of a space. All tuples must fit the new format."""
    old, given = _user_space(draft, ref), options_of(options, _ALTER_OPTIONS)
    name = name_of(given["name"]) if "name" in given else old.name
    if name != old.name and draft.schema.find(name) is not None:
        raise SpaceExists(f'there is a space "{name}"')
    new = schema.space(
        id=old.id,
        name=name,
        fields=format_of(given["format"]) if "format" in given else old.fields,
        is_sync=flag(given, "is_sync", default=old.is_sync),
    )
    for one in old.indexes:
        for part in one.parts:
            check_part(new.fields, part)
    if new.fields != old.fields and old.indexes:
        for _, data in draft.scan(old.primary.prefix, old.primary.end):
            try:
                new.check(tuples.stored(data))
            except WrongTuple as error:
                raise WrongSchema(
                    f"a tuple does not fit the new format: {error.message}", details=error.details
                ) from None
    return _put(draft, schema.SPACE, schema.space_row(new))


def drop_space(draft: EffectDraft, ref: object) -> None:
    """The space goes, with its indexes and tuples."""
    space = _user_space(draft, ref)
    for one in reversed(space.indexes):
        _delete(draft, schema.INDEX, [space.id, one.id])
    if _get(draft, schema.TRUNCATE, [space.id]) is not None:
        _delete(draft, schema.TRUNCATE, [space.id])
    _delete(draft, schema.SPACE, [space.id])


def truncate(draft: EffectDraft, space: SpaceDefinition) -> None:
    """Remove all tuples of the space, in one effect."""
    if space.system:
        raise WrongSchema(f'"{space.name}" cannot be truncated')
    draft.sync = draft.sync or space.sync
    old = _get(draft, schema.TRUNCATE, [space.id])
    count = 0 if old is None else _integer(tuples.stored(old)[1], "count")
    was = draft.sync
    _put(draft, schema.TRUNCATE, [space.id, count + 1])
    draft.sync = was  # `_truncate` is only how it is said: what counts is the space


def create_index(draft: EffectDraft, ref: object, name: object, options: object) -> bytes | None:
    """A new index, filled from the tuples there are. The first one is the primary one."""
    space, label = _user_space(draft, ref), name_of(name)
    given = options_of(options, _INDEX_OPTIONS)
    if any(one.name == label for one in space.indexes):
        if given.get("if_not_exists"):
            return None
        raise SpaceExists(f'space "{space.name}" has an index "{label}"')
    kind = given.get("type", "tree")
    if not isinstance(kind, str) or kind.lower() != "tree":
        raise WrongSchema(f"an index is a tree, not {kind!r}")
    iid = next(n for n in range(len(space.indexes) + 1) if all(n != i.id for i in space.indexes))
    if iid >= schema.INDEXES_MAX:
        raise WrongSchema(f"a space has at most {schema.INDEXES_MAX} indexes")
    unique = flag(given, "unique", default=True)
    parts = parts_of(space.fields, given.get("parts", first_part(space)))
    if iid == 0 and (not unique or any(part.nullable for part in parts)):
        raise WrongSchema("a primary index is unique and without nil")
    new = indexes.index(space=space.id, id=iid, name=label, unique=unique, parts=parts)
    return _put(draft, schema.INDEX, schema.index_row(new))


def drop_index(draft: EffectDraft, ref: object, name: object) -> None:
    """An index goes. The primary one goes last and takes the tuples with it."""
    space = _user_space(draft, ref)
    gone = space.index(name)
    if gone.id == 0 and space.secondary:
        raise WrongSchema(f'space "{space.name}": drop its other indexes before the primary one')
    _delete(draft, schema.INDEX, [space.id, gone.id])


def create_sequence(draft: EffectDraft, name: object, options: object) -> bytes | None:
    """A new sequence; its first value is `start`."""
    label, given = name_of(name), options_of(options, _SEQUENCE_OPTIONS)
    if _sequence(draft, label) is not None:
        if given.get("if_not_exists"):
            return None
        raise SpaceExists(f'there is a sequence "{label}"')
    step = _integer(given.get("step", 1), "step")
    low = _integer(given.get("min", 1 if step > 0 else keys.INTEGER_MIN), "min")
    high = _integer(given.get("max", _INTEGER_TOP if step > 0 else -1), "max")
    start = _integer(given.get("start", low if step > 0 else high), "start")
    if step == 0 or not low <= start <= high:
        raise WrongSchema(
            "a sequence has a step other than 0, and min <= start <= max; here the step is "
            f"{step}, and {low} <= {start} <= {high}"
        )
    space = draft.schema.space(schema.SEQUENCE)
    draft.count_change()
    last = next(draft.scan(space.primary.prefix, space.primary.end, reverse=True), None)
    id_ = 1 if last is None else _integer(tuples.stored(last[1])[0], "id") + 1
    cycle = flag(given, "cycle", default=False)
    return _put(draft, schema.SEQUENCE, [id_, 1, label, step, low, high, start, 0, cycle])


def next_value(draft: EffectDraft, name: object) -> bytes:
    """Advance a sequence. The result is its row, `[id, value]`."""
    row = _sequence(draft, name_of(name))
    if row is None:
        raise NoSuchSpace(
            f'there is no sequence "{name}"', hint="`qsync select _sequence` lists those there are"
        )
    id_, _, _, step, low, high, start, _, cycle = row
    low, high, step = _integer(low, "min"), _integer(high, "max"), _integer(step, "step")
    held = _get(draft, schema.SEQUENCE_DATA, [id_])
    if held is None:
        value = _integer(start, "start")
    else:
        value = _integer(tuples.stored(held)[1], "value") + step
        if not low <= value <= high:
            if not cycle:
                raise WrongOperation(f'sequence "{name}" is used up')
            value = low if step > 0 else high
    return _put(draft, schema.SEQUENCE_DATA, [id_, value])


def _sequence(draft: EffectDraft, name: str) -> list[object] | None:
    space = draft.schema.space(schema.SEQUENCE)
    key = draft.get(space.index("name").key([name]))
    row = None if key is None else draft.get(space.primary.prefix + key)
    return None if row is None else tuples.stored(row)


def _get(draft: EffectDraft, space_id: int, key: Sequence[object]) -> bytes | None:
    return draft.get(draft.schema.space(space_id).primary.key(key))


def _put(draft: EffectDraft, space_id: int, fields: list[object]) -> bytes:
    space = draft.schema.space(space_id)
    space.check(fields)
    key = space.primary.prefix + space.primary.extract(fields)
    row = tuples.encode(fields)
    draft.put(space, key, draft.get(key), row)
    return row


def _delete(draft: EffectDraft, space_id: int, values: Sequence[object]) -> None:
    space = draft.schema.space(space_id)
    key = space.primary.key(values)
    draft.put(space, key, draft.get(key), None)


def _user_space(draft: EffectDraft, ref: object) -> SpaceDefinition:
    space = draft.schema.space(ref)
    if space.system:
        raise WrongSchema(f'"{space.name}" belongs to the system')
    return space


def _new_id(draft: EffectDraft, wanted: object) -> int:
    """Ids are never used twice, unless asked for by number."""
    held = _get(draft, schema.SCHEMA, [_MAX_ID])
    last = schema.USER_SPACE_MIN - 1
    if held is not None:
        last = _integer(tuples.stored(held)[1], _MAX_ID)
    id_ = last + 1 if wanted is None else _integer(wanted, "id")
    if not schema.USER_SPACE_MIN <= id_ <= schema.SPACE_ID_MAX:
        raise WrongSchema(
            f"a space's id is from {schema.USER_SPACE_MIN} to {schema.SPACE_ID_MAX}, not {id_}"
        )
    if draft.schema.find(id_) is not None:
        raise SpaceExists(f"there is a space with id {id_}")
    if id_ > last:
        _put(draft, schema.SCHEMA, [_MAX_ID, id_])
    return id_


def _integer(value: object, what: str) -> int:
    if (
        isinstance(value, int)
        and not isinstance(value, bool)
        and keys.INTEGER_MIN <= value <= keys.INTEGER_MAX
    ):
        return value
    raise WrongSchema(f"{what} is an integer, not {value!r}")
