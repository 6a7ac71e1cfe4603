"""Tables of what a node says of itself, made from the definition of the record."""

import types
import typing
from collections.abc import Iterator

from msgspec import Struct

from qsync.status.record import TOLD_AGAIN, BoxInfo, NodeStatus, names

HEAD = ("| field | type | what it is |", "|---|---|---|")
KINDS: dict[object, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "text",
    type(None): "null",
}


def box_info() -> Iterator[str]:
    """The members of `box.info` and all below them."""
    yield from HEAD
    yield from _rows(BoxInfo)


def beyond_box_info() -> Iterator[str]:
    """What a status has more than that."""
    yield from HEAD
    yield from _rows(NodeStatus, without=names(BoxInfo))
    for name in TOLD_AGAIN:
        hints = typing.get_type_hints(getattr(NodeStatus, name).fget, include_extras=True)
        of, same = typing.get_args(hints["return"])
        yield f"| `{name}` | {_word(of)} | the same as {same} |"


def structs(of: object) -> Iterator[type[Struct]]:
    """The structs that a field of a type holds: itself, an item, a value, or nothing."""
    if isinstance(of, type) and issubclass(of, Struct):
        yield of
    for each in typing.get_args(of):
        yield from structs(each)


def _rows(kind: type[Struct], path: str = "", without: tuple[str, ...] = ()) -> Iterator[str]:
    """A row for every field, those of structs after the field that holds them."""
    for name, hint in typing.get_type_hints(kind, include_extras=True).items():
        if name in without or typing.get_origin(hint) is not typing.Annotated:
            continue
        of, about = typing.get_args(hint)
        yield f"| `{path}{name}` | {_word(of)} | {about} |"
        for inner in structs(of):
            yield from _rows(inner, f"{path}{name}{_step(of)}.")


def _step(of: object) -> str:
    """How a path goes on below a field of that type."""
    origin = typing.get_origin(of)
    return "[id]" if origin is dict else "[]" if origin is tuple else ""


def _word(of: object) -> str:
    """What a type is called in JSON."""
    origin = typing.get_origin(of)
    if origin in {typing.Union, types.UnionType}:
        return " or ".join(_word(each) for each in typing.get_args(of))
    named = "map" if origin is dict else "array" if origin is tuple else "object"
    return KINDS.get(of, named)
