"""Values between Lua and Python, without loss: integers of any size, nil in tuples, empty maps."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from cli.shell.errorcodes import code_of, fields_of
from cli.shell.failures import LuaFailed

if TYPE_CHECKING:
    from qsync.errors import QsyncError

DEPTH_MAX: Final = 64
"""The maximum nesting of a value that is sent or shown."""
_INTEGER_MIN, _INTEGER_MAX = -(1 << 63), (1 << 63) - 1
_EXACT: Final = 2.0**53
"""Whole doubles below this are converted to integers: 10 / 2 is 5."""


Lua = Any
"""A value of Lua's: lupa has no types."""


@dataclass(frozen=True, slots=True)
class NamedRow:
    """A tuple with the names of its fields, for people."""

    fields: list[object]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Double:
    """`box.double(5)`: a number that stays a double."""

    number: float


class Keep:
    """A placeholder of a pasted text, such as `<seconds>`: keep the current value."""


KEEP: Final = Keep()


@dataclass(slots=True)
class Bridge:
    """The runtime's functions: `main` is the result of prelude.lua."""

    main: Mapping[bytes, Lua]
    make: Callable[[], Lua]
    kind_of: Callable[[object], str | None]
    """`table`, `function`... for a Lua value, None for a Python one."""
    errors: "list[QsyncError]" = field(default_factory=list)
    _tuples: dict[tuple[str, ...], object] = field(default_factory=dict)

    # -- Python to Lua

    def to_lua(self, value: object) -> object:
        """A value for Lua, without Python objects."""
        return None if value is None else self._inner(value, 0)

    def _inner(self, value: object, depth: int) -> object:
        if depth > DEPTH_MAX:
            raise LuaFailed(f"a value is nested deeper than {DEPTH_MAX}")
        match value:
            case None:
                return self.main[b"null"]
            case bool() | float():
                return value
            case int():
                return value if _INTEGER_MIN <= value <= _INTEGER_MAX else self._big(value)
            case str():
                return value.encode()
            case bytes():
                return value
            case NamedRow(fields, names):
                return self._tuple(fields, names, depth)
            case Mapping():
                return self._map(value, depth)
            case Sequence():
                return self._mark(self._array(value, depth), "array")
            case _:
                return str(value).encode()

    def callable_map(self, value: Mapping[object, object]) -> object:
        """A map that may also be called, as `box.info.memory()` is."""
        return self._map(value, 0, called=True)

    def _array(self, values: Sequence[object], depth: int) -> Lua:
        table = self.make()
        for at, value in enumerate(values, start=1):
            table[at] = self._inner(value, depth + 1)
        return table

    def _map(self, values: Mapping[Lua, object], depth: int, *, called: bool = False) -> object:
        table, keys = self.make(), self.make()
        place = 0
        for key, value in values.items():
            if value is None:
                continue
            name = key.encode() if isinstance(key, str) else key
            table[name] = (
                self._map(value, depth + 1, called=True)
                if called and isinstance(value, Mapping)
                else self._inner(value, depth + 1)
            )
            place += 1
            keys[place] = name
        return self.main[b"ordered"](table, keys, called)

    def _tuple(self, fields: list[object], names: tuple[str, ...], depth: int) -> object:
        meta = self._tuples.get(names)
        if meta is None:
            listed = self._array(list(names), 0)
            meta = self._tuples[names] = self.main[b"tuple_kind"](listed)
        return self.main[b"with"](self._array(fields, depth), meta)

    def _big(self, value: int) -> object:
        table = self.make()
        table[1] = str(value).encode()
        return self._mark(table, "big")

    def _mark(self, table: object, kind: str) -> object:
        return self.main[b"mark"](table, kind.encode())

    def error(self, error: "QsyncError") -> object:
        """An error as Lua's `pcall` shows it; uncaught, it is raised again as the same object."""
        self.errors.append(error)
        members: dict[object, object] = {
            "code": code_of(error),
            "name": error.code,
            "type": "ClientError",
            "base_type": "ClientError",
            "message": error.message,
            "outcome": error.outcome.value,
            "retryable": error.retryable,
            "number": len(self.errors),
        }
        members |= fields_of(error)
        members |= {"hint": error.hint} if error.hint else {}
        members |= {"leader": error.leader} if error.leader else {}
        table = self._map(members, 0)
        return self._mark(table, "error")

    # -- Lua to Python

    def to_python(self, value: object) -> object:
        """A Python value of a Lua value.

        Raises LuaFailed for one without meaning outside: a function.
        """
        return self._outer(value, 0)

    def _outer(self, value: object, depth: int) -> object:
        if isinstance(value, bytes):
            try:
                return value.decode()
            except UnicodeDecodeError:
                return value
        if isinstance(value, float):
            whole = value.is_integer() and abs(value) < _EXACT
            return int(value) if whole else value
        if value is None or isinstance(value, bool | int):
            return value
        kind = self.kind_of(value)
        if kind == "table":
            return self._table(value, depth)
        raise LuaFailed(f"a {kind or 'value of Python'} cannot be stored or shown")

    def _table(self, table: Lua, depth: int) -> object:
        if depth > DEPTH_MAX:
            raise LuaFailed(f"a table is nested deeper than {DEPTH_MAX}, or holds itself")
        kind, names = _pair(self.main[b"kind_of"](table))
        match kind:
            case b"null":
                return None
            case b"keep":
                return KEEP
            case b"big":
                return int(table[1])
            case b"double":
                return Double(float(table[1]))
            case b"tuple":
                return NamedRow(self._list(table, depth), _names(names))
            case _:
                return self._plain_table(table, depth, kind, names)

    def _plain_table(self, table: Lua, depth: int, kind: object, order: Lua) -> object:
        members = dict(table.items())
        if order is not None:
            known = {name: None for name in order.values() if name in members}
            members = {name: members[name] for name in (*known, *members)}
        if kind == b"array" or (kind is None and _is_list(members)):
            return self._list(table, depth)
        return {
            self._key(key): self._outer(value, depth + 1)
            for key, value in members.items()
            if self.kind_of(value) != "function"
        }

    def _key(self, key: object) -> object:
        found = self._outer(key, DEPTH_MAX)
        return tuple(found) if isinstance(found, list) else found

    def _list(self, table: Lua, depth: int) -> list[object]:
        members = {key: value for key, value in table.items() if isinstance(key, int)}
        size = max(members, default=0)
        if size > 2 * len(members) + DEPTH_MAX:
            raise LuaFailed("a list with more holes than values")
        return [self._outer(members.get(at), depth + 1) for at in range(1, size + 1)]


def plain(value: object) -> object:
    """The value to send, without the wrappers for people."""
    match value:
        case NamedRow(fields, _):
            return [plain(each) for each in fields]
        case Double(number):
            return number
        case list():
            return [plain(each) for each in value]
        case dict():
            return {key: plain(each) for key, each in value.items()}
        case _:
            return value


def _is_list(members: Mapping[object, object]) -> bool:
    return bool(members) and all(isinstance(key, int) and key > 0 for key in members)


def _pair(found: object) -> tuple[object, object]:
    if isinstance(found, tuple):
        return found[0], found[1]
    return found, None


def _names(names: Lua) -> tuple[str, ...]:
    return () if names is None else tuple(each.decode() for each in names.values())
