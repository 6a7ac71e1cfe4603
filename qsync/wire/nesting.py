"""How deep a value is nested. The encoder of CBOR does not look, and runs out of stack."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from types import NoneType
from typing import Final

import cbor2

_PLAIN: Final = frozenset({int, str, bytes, float, bool, NoneType})
_SEQUENCES: Final = (list, tuple, set, frozenset, deque)


def is_flat(values: Iterable[object]) -> bool:
    """Return whether all of these are plain: no containers, and nothing that CBOR needs tags for.

    Nearly all tuples and keys are flat.
    """
    for each in values:  # noqa: SIM110 - all() takes three times as long
        if type(each) not in _PLAIN:
            return False
    return True


def nests_deeper(values: Sequence[object], most: int) -> bool:
    """Return whether containers stand in each other more than `most` deep, `values` included.

    It never goes deeper than that, so that a container may even hold itself.
    """
    level: list[object] = [values]
    for _ in range(most):
        level = _containers_in(level)
        if not level:
            return False
    return True


def _containers_in(level: list[object]) -> list[object]:
    """Return the containers that stand directly in these, each once."""
    found = {
        id(each): each
        for container in level
        for each in _items(container)
        if type(each) not in _PLAIN and _is_container(each)
    }
    return list(found.values())


def _is_container(value: object) -> bool:
    return isinstance(value, (*_SEQUENCES, Mapping, cbor2.CBORTag))


def _items(container: object) -> Iterable[object]:
    if isinstance(container, Mapping):
        return (*container.keys(), *container.values())
    if isinstance(container, cbor2.CBORTag):
        return (container.value,)
    assert isinstance(container, _SEQUENCES)
    return container
