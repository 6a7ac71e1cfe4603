"""What a caller's values must be so that a node can read them. It would hang up on others.

The encoder looks at none of this, and where values are nested very deeply it runs out of stack.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from types import NoneType
from typing import Final

import cbor2

from qsync.data import tags
from qsync.errors import QsyncError
from qsync.wire import limits

_UNFIT: Final = "not a value that can be sent"
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


def check_depth(values: Sequence[object], kind: type[QsyncError]) -> None:
    """Raises what `kind` says for values that the encoder might end the process over."""
    if _nests_deeper(values, limits.DEPTH_MAX):
        raise kind(f"arrays and maps in each other, more than {limits.DEPTH_MAX} deep")


def check_values(values: Sequence[object], kind: type[QsyncError]) -> None:
    """Raises what `kind` says for a key or an operation of an update that no node reads."""
    check_depth(values, kind)
    try:
        payload = cbor2.dumps([[[[values]]]])  # as deep as an update is in its request
    except (cbor2.CBORError, ValueError, TypeError, OverflowError) as error:
        raise kind(f"{_UNFIT}: {error}") from error
    check_payload(payload, kind)


def check_payload(payload: bytes, kind: type[QsyncError]) -> None:
    """Raises what `kind` says for a request that no node reads."""
    try:
        tags.loads(payload, depth_max=limits.DEPTH_MAX)
    except (cbor2.CBORError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise kind(f"{_UNFIT}: {error.__cause__ or error}") from error


def _nests_deeper(values: Sequence[object], most: int) -> bool:
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
