"""Operations of transactions in wire form: a number, a space, and arguments."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from qsync.client.arguments import each_of, table_of
from qsync.client.rows import Key, Values, changes_of, encode_row, key_of
from qsync.data.operation_kinds import Op
from qsync.wire.verbs import Name

Operation = list[object]


def insert(space: Name, row: Values) -> Operation:
    """A new tuple; its key must be free."""
    return [Op.INSERT, space, encode_row(row)]


def replace(space: Name, row: Values) -> Operation:
    """Insert a tuple, or replace the one with its key."""
    return [Op.REPLACE, space, encode_row(row)]


def replace_each(space: Name, rows: Iterable[Values]) -> Iterator[Operation]:
    """The same for each of many tuples. Raises ConfigError."""
    return (replace(space, row) for row in each_of("rows", rows, "a list of tuples"))


def update(space: Name, key: Key, changes: Iterable[Values], index: Name = 0) -> Operation:
    """Change fields of one tuple."""
    return [Op.UPDATE, space, index, key_of(key), changes_of(changes)]


def upsert(space: Name, row: Values, changes: Iterable[Values]) -> Operation:
    """Insert the tuple, or change the one that is there."""
    return [Op.UPSERT, space, encode_row(row), changes_of(changes)]


def delete(space: Name, key: Key, index: Name = 0) -> Operation:
    """Take one tuple away."""
    return [Op.DELETE, space, index, key_of(key)]


def require(space: Name, key: Key, row: Values | None, index: Name = 0) -> Operation:
    """The tuple must be this one (None: must not be there), else Conflict."""
    wanted = None if row is None else encode_row(row)
    return [Op.REQUIRE_EQUAL, space, index, key_of(key), wanted]


def require_exists(space: Name, key: Key, *, exists: bool, index: Name = 0) -> Operation:
    """A tuple must (not) be there, else Conflict."""
    return [Op.REQUIRE_EXISTENCE, space, index, key_of(key), exists]


def truncate(space: Name) -> Operation:
    """Take all tuples away."""
    return [Op.TRUNCATE, space]


def change_settings(settings: Mapping[str, str | None]) -> Operation:
    """Change settings of the cluster, by their configuration names; None takes one back."""
    return [Op.CHANGE_SETTINGS, table_of("settings", settings)]


def give_up() -> Operation:
    """Make sure that the request of this number never takes effect, unless it has already."""
    return [Op.GIVE_UP]


def open_session(session: bytes) -> Operation:
    """Begin a session, whose id starts with these bytes."""
    return [Op.OPEN_SESSION, session]


def expire_session(session: bytes) -> Operation:
    """End a session: no request of it takes effect behind this."""
    return [Op.EXPIRE_SESSION, session]


def register_consumer(name: str, kind: str, index: int | None, about: str) -> Operation:
    """Keep the log behind `index` for this consumer; from here on with None."""
    return [Op.REGISTER_CONSUMER, name, kind, index, about]


def advance_consumer(name: str, index: int) -> Operation:
    """Note that the consumer has the log up to there."""
    return [Op.ADVANCE_CONSUMER, name, index]


def let_go_consumer(name: str) -> Operation:
    """Stop keeping the log for the consumer; it needs a snapshot then."""
    return [Op.LET_GO_CONSUMER, name]


def drop_consumer(name: str) -> Operation:
    """Forget the consumer."""
    return [Op.DROP_CONSUMER, name]


# -- schema

Parts = str | int | Iterable[object]
"""Fields of an index: one name or number, or a list of `name` or `[name, type]`."""
_FIRST: Final = 1
_FIRST_FIELD: Final = [[_FIRST]]
_FIRST_UNSIGNED: Final = [[_FIRST, "unsigned"]]


def create_space(
    name: str,
    *,
    format: Iterable[object] | None,
    primary: Parts | None,
    **options: object,
) -> Operation:
    """Create a space with its primary index: on the first field by default, none for `()`."""
    columns = _columns(format)
    default = _FIRST_FIELD if columns else _FIRST_UNSIGNED
    parts = default if primary is None else parts_of(primary)
    return [Op.CREATE_SPACE, name, _given(format=columns, primary=parts or None, **options)]


def alter_space(space: str, /, *, format: Iterable[object] | None, **options: object) -> Operation:
    """Change name, format or `is_sync` of a space."""
    columns = _columns(format)
    return [Op.ALTER_SPACE, space, _given(format=columns, **options)]


def drop_space(name: str) -> Operation:
    """Drop a space and all that is in it."""
    return [Op.DROP_SPACE, name]


def create_index(space: str, name: str, parts: Parts, **options: object) -> Operation:
    """Create a secondary index (or the primary one of a space without)."""
    return [Op.CREATE_INDEX, space, name, _given(parts=parts_of(parts), **options)]


def drop_index(space: str, name: str) -> Operation:
    """Drop an index; tuples stay."""
    return [Op.DROP_INDEX, space, name]


def next_value(sequence: str) -> Operation:
    """Take the next number of a sequence."""
    return [Op.NEXT_VALUE, sequence]


def create_sequence(name: str, **options: object) -> Operation:
    """Create a sequence of numbers."""
    return [Op.CREATE_SEQUENCE, name, _given(**options)]


def parts_of(parts: Parts) -> list[object]:
    """Return a list of parts, each a list or a map."""
    if isinstance(parts, str | int):
        return [[parts]]
    each = each_of("parts", parts, "a field, or a list of fields")
    return [_plain(part) if isinstance(part, list | tuple | dict) else [part] for part in each]


def _columns(format: Iterable[object] | None) -> list[object] | None:
    """Return the fields of a format. Raises ConfigError."""
    if format is None:
        return None
    return [_plain(field) for field in each_of("format", format, "a list of fields")]


def _plain(value: object) -> object:
    """Return tuples as lists and maps as dicts, which CBOR can encode."""
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    return value


def _given(**options: object) -> dict[str, object]:
    return {name: value for name, value in options.items() if value is not None}
