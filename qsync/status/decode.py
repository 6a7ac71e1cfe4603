"""Decodes a node's answer into the record; missing or invalid members keep their defaults."""

from collections.abc import Mapping
from types import UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from qsync.status.record import BoxInfo, NodeStatus, names

T = TypeVar("T", bound=BoxInfo)
UNTOLD: Final = "the node does not tell it"


def status(answer: Mapping[str, object]) -> NodeStatus:
    """Decode the answer to STATUS. Never fails, whatever the node answered."""
    return read(NodeStatus, answer)


def box_info(answer: Mapping[str, object]) -> BoxInfo:
    """Decode the answer to INFO. Never fails."""
    return read(BoxInfo, answer)


def read(kind: type[T], answer: Mapping[str, object]) -> T:
    """Decode an answer; `errors` has what is missing, what the node could not provide, what is odd.

    Members that are not known are left out: a newer node has more of them.
    """
    errors = {name: UNTOLD for name in names(kind) if name not in answer}
    given: dict[str, object] = {}
    for name, value in answer.items():
        failure = _failure(kind, name, value)
        if failure is not None:
            errors[name] = failure
        else:
            given[name] = value
    given.pop("errors", None)
    try:
        found = msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError:
        found = _lenient(kind, given, "", errors)
    return msgspec.structs.replace(found, errors=errors)


def _failure(kind: type[BoxInfo], name: str, value: object) -> str | None:
    """Return why the node could not provide this: `{"error": ...}` in place of a value."""
    if not isinstance(value, Mapping) or set(value) != {"error"}:
        return None
    inner = _struct_of(_kinds(kind).get(name))
    own = inner is not None and "error" in inner.__struct_fields__
    return None if own else str(value["error"])


def _lenient(
    kind: type[Any], given: Mapping[str, object], path: str, errors: dict[str, str]
) -> Any:  # noqa: ANN401 - of that kind
    """Field by field, into the structs below too."""
    kept: dict[str, object] = {}
    for name, wanted in _kinds(kind).items():
        if name not in given:
            continue
        value, at = given[name], f"{path}.{name}" if path else name
        try:
            kept[name] = msgspec.convert(value, wanted, strict=False)
        except msgspec.ValidationError as error:
            inner = _struct_of(wanted)
            if inner is not None and isinstance(value, Mapping):
                kept[name] = _lenient(inner, value, at, errors)
            else:
                errors[at] = str(error)
    return kind(**kept)


def _kinds(kind: type[Any]) -> dict[str, Any]:
    return {
        name: each for name, each in get_type_hints(kind).items() if name != "__struct_fields__"
    }


def _struct_of(kind: Any) -> type[msgspec.Struct] | None:  # noqa: ANN401 - a type or a form of it
    """Return the struct type of a field, also of an optional one."""
    among = get_args(kind) if get_origin(kind) in {Union, UnionType} else (kind,)
    for each in among:
        if isinstance(each, type) and issubclass(each, msgspec.Struct):
            return each
    return None
