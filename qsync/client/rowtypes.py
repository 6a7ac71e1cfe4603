"""Tuples as values of a class of the caller's: a NamedTuple, a dataclass or a msgspec.Struct."""

import dataclasses
from collections.abc import Sequence
from typing import Generic, TypeVar, cast

from qsync.client.rows import Row
from qsync.errors import ConfigError, Outcome, WrongTuple

R = TypeVar("R")


class RowType(Generic[R]):
    """Fields go by their place, as in the format of the space. Raises ConfigError."""

    def __init__(self, cls: type[R]) -> None:
        self.cls = cls
        self._names = _names(cls)
        self._keys: tuple[str, ...] = getattr(cls, "__struct_encode_fields__", self._names)
        """Their names as `msgspec` reads them: a Struct may rename its fields."""
        config = getattr(cls, "__struct_config__", None)
        self._as_array = issubclass(cls, tuple) or (config is not None and config.array_like)
        self._tags: list[object] = [] if config is None or config.tag is None else [config.tag]

    def __repr__(self) -> str:
        return f"<RowType {self.cls.__name__}>"

    def to_values(self, row: R) -> list[object]:
        """Return the values to be stored. Raises WrongTuple for an object of another class."""
        if not isinstance(row, self.cls):
            raise WrongTuple(f"a row of this space is a {self.cls.__name__}, not {row!r}")
        return [getattr(row, name) for name in self._names]

    def of(self, row: Row) -> R:
        """Return a tuple as an object of the class, its types checked. Raises WrongTuple."""
        import msgspec  # noqa: PLC0415 - slow to load, and only for typed rows

        if len(row) > len(self._names):
            raise WrongTuple(
                f"a tuple of {len(row)} fields is no {self.cls.__name__}",
                hint=f"that has {len(self._names)}; give it the others, with defaults",
            )
        if self._as_array:
            given: object = [*self._tags, *row]
        else:
            given = dict(zip(self._keys, row, strict=False))
        try:
            return msgspec.convert(given, self.cls)
        except msgspec.ValidationError as error:
            raise WrongTuple(f"a tuple that is no {self.cls.__name__}: {error}") from None

    def some(self, row: Row | None) -> R | None:
        """Return a tuple that may be absent as an object, or None."""
        return None if row is None else self.of(row)

    def left(self, row: Row | None) -> R | None:
        """Return the row that a write left or took, as `some`: it is done, whatever its row is."""
        try:
            return self.some(row)
        except WrongTuple as error:
            error.outcome = Outcome.COMMITTED
            raise

    def every(self, rows: Sequence[Row]) -> list[R]:
        """Return many tuples as objects."""
        return [self.of(row) for row in rows]


def _names(cls: type[object]) -> tuple[str, ...]:
    if not isinstance(cls, type):
        raise ConfigError(f"{cls!r} is no class, so it cannot be the class of rows")
    if dataclasses.is_dataclass(cls):
        return tuple(each.name for each in dataclasses.fields(cls))
    names = getattr(cls, "_fields", None) or getattr(cls, "__struct_fields__", None)
    if isinstance(names, tuple):
        return cast("tuple[str, ...]", names)
    raise ConfigError(
        f"{getattr(cls, '__name__', cls)!r} cannot be the class of rows",
        hint="a NamedTuple, a dataclass or a msgspec.Struct can, its fields in the space's order",
    )
