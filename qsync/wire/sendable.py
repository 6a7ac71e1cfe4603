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
_CONTAINERS: Final = (*_SEQUENCES, Mapping, cbor2.CBORTag)


def check_depth(values: Sequence[object], kind: type[QsyncError]) -> None:
    """Raises what `kind` says for values that the encoder might end the process over.

    It never looks deeper than the limit, so that a container may even hold itself.
    """
    if _are_plain(values):
        return
    level: list[object] = [values]
    for _ in range(limits.DEPTH_MAX):
        level = _containers_in(level)
        if not level:
            return
    raise kind(f"arrays and maps in each other, more than {limits.DEPTH_MAX} deep")


def check_values(values: Sequence[object], kind: type[QsyncError]) -> None:
    """Raises what `kind` says for a key or an operation of an update that no node reads."""
    if _are_plain(values):
        return
    check_depth(values, kind)
    check_payload(encode([[[[values]]]], kind), kind)  # as deep as an update is in its request


def encode(request: object, kind: type[QsyncError]) -> bytes:
    """Return it as CBOR. Raises what `kind` says for a value that CBOR has no word for."""
    try:
        return cbor2.dumps(request)
    except (cbor2.CBOREncodeError, ValueError, TypeError, OverflowError) as error:
        raise kind(f"{_UNFIT}: {error}") from error


def check_payload(payload: bytes, kind: type[QsyncError]) -> None:
    """Raises what `kind` says for a request that no node reads."""
    try:
        tags.loads(payload, depth_max=limits.DEPTH_MAX)
    except (cbor2.CBORError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise kind(f"{_UNFIT}: {error.__cause__ or error}") from error


def _are_plain(values: Sequence[object]) -> bool:
    """Return whether these are no containers, and nothing that CBOR needs tags for.

    Nearly all tuples and keys are so.
    """
    for each in values:  # noqa: SIM110 - all() takes three times as long
        if type(each) not in _PLAIN:
            return False
    return True


def _containers_in(level: list[object]) -> list[object]:
    """Return the containers that stand directly in these, each once."""
    found = {
        id(each): each
        for container in level
        for each in _items(container)
        if isinstance(each, _CONTAINERS)
    }
    return list(found.values())


def _items(container: object) -> Iterable[object]:
    if isinstance(container, Mapping):
        return (*container.keys(), *container.values())
    if isinstance(container, cbor2.CBORTag):
        return (container.value,)
    assert isinstance(container, _SEQUENCES)
    return container
