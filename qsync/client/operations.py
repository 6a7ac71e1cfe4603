"""Operations of transactions, as they travel: a number, a space, and what it is about."""

from collections.abc import Iterable, Mapping
from typing import Final

from qsync.client.rows import Key, Values, changes_of, encode_row, key_of
from qsync.wire.verbs import Name

Operation = list[object]


def insert(space: Name, row: Values) -> Operation:
    """A new tuple; its key must be free."""
    return [1, space, encode_row(row)]


def replace(space: Name, row: Values) -> Operation:
    """A tuple, in the place of the one with its key."""
    return [2, space, encode_row(row)]


def update(space: Name, key: Key, changes: Iterable[Values], index: Name = 0) -> Operation:
    """Change fields of one tuple."""
    return [3, space, index, key_of(key), changes_of(changes)]


def upsert(space: Name, row: Values, changes: Iterable[Values]) -> Operation:
    """Insert the tuple, or change the one that is there."""
    return [4, space, encode_row(row), changes_of(changes)]


def delete(space: Name, key: Key, index: Name = 0) -> Operation:
    """Take one tuple away."""
    return [5, space, index, key_of(key)]


def require(space: Name, key: Key, row: Values | None, index: Name = 0) -> Operation:
    """The tuple must be this one (None: must not be there), else Conflict."""
    wanted = None if row is None else encode_row(row)
    return [20, space, index, key_of(key), wanted]


def require_exists(space: Name, key: Key, *, exists: bool, index: Name = 0) -> Operation:
    """A tuple must (not) be there, else Conflict."""
    return [21, space, index, key_of(key), exists]


def truncate(space: Name) -> Operation:
    """Take all tuples away."""
    return [6, space]


def change_settings(settings: Mapping[str, str | None]) -> Operation:
    """Settings of the whole cluster, by their names in the configuration; None takes one back."""
    return [17, dict(settings)]


def give_up() -> Operation:
    """See that the request of this number, if nobody has done it, never takes effect."""
    return [32]


def expire_session(session: bytes) -> Operation:
    """End a session: no request of it takes effect behind this."""
    return [31, session]


# -- schema

Parts = str | int | Iterable[object]
"""Fields of an index: one name or number, or a list of `name` or `[name, type]`."""
_FIRST_FIELD: Final = [[1]]
_FIRST_UNSIGNED: Final = [[1, "unsigned"]]


def create_space(
    name: str,
    *,
    format: Iterable[object] | None,
    primary: Parts | None,
    **options: object,
) -> Operation:
    """A space with its primary index: on the first field if nothing is said, none for `()`."""
    columns = None if format is None else [_plain(field) for field in format]
    default = _FIRST_FIELD if columns else _FIRST_UNSIGNED
    parts = default if primary is None else parts_of(primary)
    return [10, name, _given(format=columns, primary=parts or None, **options)]


def alter_space(space: str, /, *, format: Iterable[object] | None, **options: object) -> Operation:
    """Another name, format or `is_sync`."""
    columns = None if format is None else [_plain(field) for field in format]
    return [11, space, _given(format=columns, **options)]


def drop_space(name: str) -> Operation:
    """The space and all that is in it."""
    return [12, name]


def create_index(space: str, name: str, parts: Parts, **options: object) -> Operation:
    """A secondary index (or the primary one of a space that has none)."""
    return [13, space, name, _given(parts=parts_of(parts), **options)]


def drop_index(space: str, name: str) -> Operation:
    """The index; tuples stay."""
    return [14, space, name]


def next_value(sequence: str) -> Operation:
    """The next number of a sequence."""
    return [15, sequence]


def create_sequence(name: str, **options: object) -> Operation:
    """A sequence of numbers."""
    return [16, name, _given(**options)]


def parts_of(parts: Parts) -> list[object]:
    """A list of parts, each a list or a map."""
    if isinstance(parts, str | int):
        return [[parts]]
    return [_plain(part) if isinstance(part, list | tuple | dict) else [part] for part in parts]


def _plain(value: object) -> object:
    """Tuples as lists, maps as dicts: what CBOR has words for."""
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    return value


def _given(**options: object) -> dict[str, object]:
    return {name: value for name, value in options.items() if value is not None}
