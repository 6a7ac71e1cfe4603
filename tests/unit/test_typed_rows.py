"""Rows as values of a class, by their place; what does not fit is refused by name."""

from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import pytest

from qsync.client.rowtypes import RowType
from qsync.errors import ConfigError, WrongTuple


class Named(NamedTuple):
    id: int
    owner: str
    note: str | None = None


@dataclass
class Data:
    id: int
    owner: str
    note: str | None = None


class Struct(msgspec.Struct):
    id: int
    owner: str
    note: str | None = None


class Renamed(msgspec.Struct, rename="camel"):
    id: int
    owner: str = msgspec.field(name="who")
    note: str | None = None


class Listed(msgspec.Struct, array_like=True):
    id: int
    owner: str
    note: str | None = None


class Tagged(msgspec.Struct, tag="row"):
    id: int
    owner: str
    note: str | None = None


class TaggedList(msgspec.Struct, array_like=True, tag="row"):
    id: int
    owner: str
    note: str | None = None


CLASSES = pytest.mark.parametrize("cls", [Named, Data, Struct, Renamed, Listed, Tagged, TaggedList])


@CLASSES
def test_a_row_comes_back_as_it_went(cls: type[Named]) -> None:
    kind = RowType(cls)
    row = cls(1, "ann", "x")
    assert kind.to_values(row) == [1, "ann", "x"]
    assert kind.of([1, "ann", "x"]) == row
    assert kind.every([[1, "ann"], [2, "bob", None]]) == [cls(1, "ann"), cls(2, "bob")]
    assert kind.some(None) is None


@CLASSES
@pytest.mark.parametrize("row", [["1", "ann"], [1], [1, "ann", "x", "more"], [1, None]])
def test_a_tuple_that_does_not_fit_is_refused(cls: type[Named], row: list[object]) -> None:
    with pytest.raises(WrongTuple, match=cls.__name__):
        RowType(cls).of(row)


def test_a_row_of_another_class_is_not_written() -> None:
    with pytest.raises(WrongTuple, match="is a Named, not"):
        RowType(Named).to_values(Data(1, "ann"))  # type: ignore[arg-type]  # the mistake


def test_only_classes_with_fields_are_classes_of_rows() -> None:
    with pytest.raises(ConfigError, match="'dict' cannot be the class of rows"):
        RowType(dict)
    with pytest.raises(ConfigError, match="is no class"):
        RowType(Named(1, "ann"))  # type: ignore[arg-type]  # the mistake
