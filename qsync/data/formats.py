"""Formats of spaces and parts of indexes, as clients write them; what is not known is refused."""

from collections.abc import Mapping, Sequence

from qsync.data import schema
from qsync.data.keys import ENCODERS, FieldType, KeyPart
from qsync.data.schema import SpaceDefinition
from qsync.data.tuples import Field
from qsync.errors import WrongSchema

FORMAT_FIELDS_MAX = 10_000
"""The maximum number of named fields; a tuple may have more."""
PARTS_MAX = 255
"""The maximum number of parts of an index."""
_FIELD_OPTIONS = frozenset({"name", "type", "is_nullable"})
_PLACES = (1, 2)
_PART_OPTIONS = frozenset({"field", "type", "is_nullable"})


def name_of(name: object) -> str:
    """Return a name of the schema. Raises WrongSchema."""
    if isinstance(name, str) and 0 < len(name) <= schema.NAME_CHARACTERS_MAX:
        return name
    raise WrongSchema(
        f"a name is text of 1 to {schema.NAME_CHARACTERS_MAX} characters, not {name!r}"
    )


def options_of(options: object, known: frozenset[str]) -> Mapping[str, object]:
    """Return options, all of which are known. Raises WrongSchema."""
    if options is None or options == []:
        return {}
    if not isinstance(options, dict):
        raise WrongSchema("options come as a map")
    for option in options:
        if option not in known:
            raise WrongSchema(f"there is no option {option!r}; known: {', '.join(sorted(known))}")
    return options


def flag(options: Mapping[str, object], name: str, *, default: bool) -> bool:
    """Return an option that is true or false. Raises WrongSchema."""
    value = options.get(name, default)
    if isinstance(value, bool):
        return value
    raise WrongSchema(f"{name} is true or false, not {value!r}")


def _type(value: object) -> FieldType:
    alias = {"str": "string", "uint": "unsigned", "int": "integer", "num": "unsigned", "*": "any"}
    word = value.lower() if isinstance(value, str) else value
    try:
        return FieldType(alias.get(str(word), str(word)))
    except ValueError:
        known = ", ".join(FieldType)
        raise WrongSchema(f"there is no type {value!r}; known: {known}") from None


def format_of(value: object) -> list[Field]:
    """Read `[[name, type], ...]`, `[{name, type, is_nullable}, ...]` or only names."""
    if not isinstance(value, list | tuple):
        raise WrongSchema("a format is an array of fields")
    if len(value) > FORMAT_FIELDS_MAX:
        raise WrongSchema(f"a format has at most {FORMAT_FIELDS_MAX} fields, not {len(value)}")
    fields = [_field(one) for one in value]
    seen: set[str] = set()
    for field in fields:
        if field.name in seen:
            raise WrongSchema(f'two fields are named "{field.name}"')
        seen.add(field.name)
    return fields


def _field(value: object) -> Field:
    match _listed(value):
        case str(name):
            return Field(name=name_of(name), type=FieldType.ANY, nullable=True)
        case dict() as options if "name" in options:
            return _make_field(options["name"], options)
        case [name]:
            return _make_field(name, {})
        case [name, str(type_)]:
            return _make_field(name, {"type": type_})
        case [name, dict(options)]:
            return _make_field(name, options)
        case [name, str(type_), bool(nullable)]:
            return _make_field(name, {"type": type_, "is_nullable": nullable})
        case [name, str(type_), dict(options)]:
            return _make_field(name, {"type": type_} | options)
        case _:
            raise WrongSchema(f"{value!r} is not a field: [name, type] or a map with both")


def _listed(value: object) -> object:
    """Return `{'id', 'string', is_nullable = true}` of Lua, a map from 1 on, as a list."""
    if not isinstance(value, dict) or 1 not in value:
        return value
    options = {key: one for key, one in value.items() if key not in _PLACES}
    return [*(value[place] for place in _PLACES if place in value), options]


def _make_field(name: object, options: Mapping[str, object]) -> Field:
    """A type may end with `?`, which makes the field nullable."""
    options_of(options, _FIELD_OPTIONS)
    type_ = options.get("type", "any")
    optional = isinstance(type_, str) and type_.endswith("?")
    word = str(type_).rstrip("?") if optional else type_
    nullable = optional or flag(options, "is_nullable", default=False)
    return Field(name=name_of(name), type=_type(word), nullable=nullable)


def first_part(space: SpaceDefinition) -> list[object]:
    """Return the parts of an index for which none are given: the first field."""
    if space.fields and space.fields[0].type in ENCODERS:
        return [[1, str(space.fields[0].type)]]
    return [[1, "unsigned"]]


def parts_of(fields: Sequence[Field], value: object) -> list[KeyPart]:
    """Read `[[field, type], ...]`, `[{field, type}, ...]`, `[field, type, ...]` or only fields."""
    if not isinstance(value, list | tuple) or not value:
        raise WrongSchema("parts of an index are an array: [[field, type], ...]")
    if len(value) > PARTS_MAX:
        raise WrongSchema(f"an index has at most {PARTS_MAX} parts, not {len(value)}")
    items = list(value)
    if not any(isinstance(one, list | tuple | dict) for one in items):
        typed = len(items) % 2 == 0 and all(
            isinstance(one, str) and _place(fields, one) is None for one in items[1::2]
        )
        step = 2 if typed else 1
        items = [items[n : n + step] for n in range(0, len(items), step)]
    return [_part(fields, one) for one in items]


def _part(fields: Sequence[Field], value: object) -> KeyPart:
    ref, options = _part_words(value)
    options_of(options, _PART_OPTIONS)
    at = _place(fields, ref)
    if at is None:
        raise WrongSchema(f"there is no field {ref!r}: fields are numbered from 1, or named")
    field = fields[at] if at < len(fields) else Field(name=str(ref))
    type_ = options.get("type")
    part = KeyPart(
        field=at,
        type=field.type if type_ is None else _type(type_),
        nullable=flag(options, "is_nullable", default=field.nullable),
    )
    check_part(fields, part)
    return part


def _part_words(value: object) -> tuple[object, Mapping[str, object]]:
    """The field and the options of a part, however it is written."""
    match _listed(value):
        case dict() as options if "field" in options:
            return options["field"], options
        case [ref]:
            return ref, {}
        case [ref, str(type_)]:
            return ref, {"type": type_}
        case [ref, dict(options)]:
            return ref, options
        case [ref, str(type_), dict(options)]:
            return ref, {"type": type_} | options
        case _:
            raise WrongSchema(f"{value!r} is not a part: [field, type] or a map with both")


def _place(fields: Sequence[Field], ref: object) -> int | None:
    if isinstance(ref, str):
        return next((at for at, field in enumerate(fields) if field.name == ref), None)
    if isinstance(ref, int) and not isinstance(ref, bool) and 0 < ref <= 1 << 16:
        return ref - 1
    return None


_WIDER: Mapping[FieldType, frozenset[FieldType]] = {
    FieldType.UNSIGNED: frozenset({FieldType.INTEGER, FieldType.NUMBER}),
    FieldType.DOUBLE: frozenset({FieldType.NUMBER}),
}
# Values of these may or may not fit the part; every tuple is looked at.
_BROAD = frozenset({FieldType.ANY, FieldType.SCALAR, FieldType.NUMBER, FieldType.INTEGER})


def check_part(fields: Sequence[Field], part: KeyPart) -> None:
    """A part may be wider than its field (integer over unsigned), never another type."""
    if part.type not in ENCODERS:
        raise WrongSchema(f"a field of type {part.type} cannot be part of an index")
    if part.field >= len(fields):
        return
    field = fields[part.field]
    fits = (
        field.type is part.type
        or part.type is FieldType.SCALAR
        or field.type in _BROAD
        or part.type in _WIDER.get(field.type, ())
    )
    if not fits:
        raise WrongSchema(
            f'field "{field.name}" is {field.type}, the index wants it to be {part.type}'
        )
