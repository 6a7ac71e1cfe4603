"""Porcupine's logs of a store of texts: maps a line with `get`, `put` and `append` of a key.

A missing key reads as the empty text; an operation without an answer may have taken effect or not.
"""

from dataclasses import replace

from admin.checker.operation import Operation
from admin.checker.readers import jepsen_edn

FS = frozenset({"get", "put", "append"})


def read(text: str) -> list[Operation]:
    """The operations of a log. Raises ValueError if it has another operation."""
    found = jepsen_edn.read(text)
    other = {each.f for each in found} - FS
    if other:
        raise ValueError(f"a store of texts has no {', '.join(sorted(other))}")
    return [replace(each, value=each.value or "") for each in found]
