"""Copy a replica with all mutable state; immutable objects are shared."""

from array import array
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import is_dataclass
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, NoneType
from typing import TypeVar

from sortedcontainers import SortedDict, SortedList

from qsync.record import Entry

Memo = dict[int, object]
"""Copies by the identity of the original: shared objects stay shared."""
_Copier = Callable[[object, Memo], object]
_T = TypeVar("_T")


def clone(whole: _T) -> _T:
    """A copy that is independent of `whole`.

    Entries, dataclasses with a hash, named tuples and enumerations are values, and shared. Methods
    and closures stored in an object are bound again, to the copies of their objects.
    """
    copied = _copy(whole, {})
    assert type(copied) is type(whole)
    return copied


def _copy(value: _T, memo: Memo) -> _T:
    kind = type(value)
    if kind in _ATOMS:
        return value
    known = memo.get(id(value))
    if known is None:
        known = _COPIERS.get(kind, _first_seen)(value, memo)
        memo[id(value)] = known
    assert isinstance(known, kind)
    return known


def _first_seen(value: object, memo: Memo) -> object:
    """Decide once for every class."""
    kind = type(value)
    if _is_value(kind):
        _ATOMS.add(kind)
        return value
    _COPIERS[kind] = _instance
    return _instance(value, memo)


def _is_value(kind: type) -> bool:
    if is_dataclass(kind):
        parameters = getattr(kind, "__dataclass_params__")  # noqa: B009 - typed nowhere
        return bool(parameters.frozen or parameters.unsafe_hash)
    named_tuple = issubclass(kind, tuple) and hasattr(kind, "_fields")
    return named_tuple or issubclass(kind, int | str | bytes | Enum | type)


def _instance(value: object, memo: Memo) -> object:
    kind = type(value)
    twin = object.__new__(kind)
    memo[id(value)] = twin
    for name in _slots(kind):
        if hasattr(value, name):
            object.__setattr__(twin, name, _copy(getattr(value, name), memo))
    inside: dict[str, object] | None = getattr(value, "__dict__", None)
    if inside is not None:
        twin.__dict__.update({
            name: each if type(each) in _ATOMS else _copy(each, memo)
            for name, each in inside.items()
        })  # fmt: skip
    return twin


def _slots(kind: type) -> list[str]:
    found = _SLOTS.get(kind)
    if found is None:
        named = [getattr(base, "__slots__", ()) for base in kind.__mro__]
        found = _SLOTS[kind] = [name for each in named for name in each if name != "__weakref__"]
    return found


def _list(value: object, memo: Memo) -> object:
    assert isinstance(value, list)
    twin: list[object] = []
    memo[id(value)] = twin
    twin.extend([each if type(each) in _ATOMS else _copy(each, memo) for each in value])
    return twin


def _dict(value: object, memo: Memo) -> object:
    assert isinstance(value, dict)
    twin = type(value)()
    memo[id(value)] = twin
    twin.update({
        _copy(key, memo): each if type(each) in _ATOMS else _copy(each, memo)
        for key, each in value.items()
    })  # fmt: skip
    return twin


def _deque(value: object, memo: Memo) -> object:
    assert isinstance(value, deque)
    return deque([_copy(each, memo) for each in value], value.maxlen)


def _tuple(value: object, memo: Memo) -> object:
    assert isinstance(value, tuple)
    return tuple([_copy(each, memo) for each in value])


def _set(value: object, memo: Memo) -> object:
    assert isinstance(value, set | frozenset)
    return type(value)(_copy(each, memo) for each in value)


def _sorted_list(value: object, memo: Memo) -> object:
    assert isinstance(value, SortedList)
    return SortedList([_copy(each, memo) for each in value])


def _array(value: object, _memo: Memo) -> object:
    assert isinstance(value, array)
    return value[:]


def _method(value: object, memo: Memo) -> object:
    assert isinstance(value, MethodType)
    return MethodType(value.__func__, _copy(value.__self__, memo))


def _partial(value: object, memo: Memo) -> object:
    assert isinstance(value, partial)
    args = [_copy(each, memo) for each in value.args]
    named = {name: _copy(each, memo) for name, each in value.keywords.items()}
    return partial(_copy(value.func, memo), *args, **named)


def _function(value: object, memo: Memo) -> object:
    """A closure refers to captured objects: its copy must refer to the copies."""
    assert isinstance(value, FunctionType)
    if value.__closure__ is None:
        return value
    cells = [CellType() for _ in value.__closure__]
    twin = FunctionType(
        value.__code__, value.__globals__, value.__name__, value.__defaults__, tuple(cells)
    )
    twin.__kwdefaults__ = value.__kwdefaults__
    memo[id(value)] = twin
    for cell, old in zip(cells, value.__closure__, strict=True):
        cell.cell_contents = _copy(old.cell_contents, memo)
    return twin


_ATOMS: set[type] = {NoneType, bool, int, float, str, bytes, BuiltinFunctionType, range, Entry}
_SLOTS: dict[type, list[str]] = {}
_COPIERS: dict[type, _Copier] = {
    list: _list,
    dict: _dict,
    OrderedDict: _dict,
    SortedDict: _dict,
    SortedList: _sorted_list,
    deque: _deque,
    tuple: _tuple,
    set: _set,
    frozenset: _set,
    array: _array,
    MethodType: _method,
    FunctionType: _function,
    partial: _partial,
}
