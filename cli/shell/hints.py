"""What an error of Lua's probably means, for people who type into this shell."""

import difflib
import re
from collections.abc import Iterable
from typing import Final

_GLOBAL: Final = re.compile(r"global '(\w+)'")
_FIELD: Final = re.compile(r"index a nil value \(field '(\w+)'\)")
_LOCAL: Final = re.compile(r"^\s*local\s+(?:function\s+)?(\w+)", re.MULTILINE)
_ABSENT: Final = frozenset({"os", "io", "package", "debug", "dofile", "loadfile", "python"})
SPACES_MAX: Final = 5
"""So many are named where none is like what was typed."""


def locals_of(source: str) -> set[str]:
    """Names that a chunk made local: they are gone with it."""
    return set(_LOCAL.findall(source))


def hint(message: str, *, source: str, gone: Iterable[str], spaces: Iterable[str]) -> str:
    """What to do about it; nothing when there is nothing to say."""
    named = _GLOBAL.search(message)
    if named is not None and named.group(1) in _ABSENT:
        return f"the shell's Lua has no {named.group(1)}: it reaches the cluster and nothing else"
    if named is not None and named.group(1) in set(gone):
        return f"`local {named.group(1)}` ended with its line; leave out the `local`"
    field = _FIELD.search(message)
    if field is not None:
        return _no_space(field.group(1), source, sorted(spaces))
    if "malformed number" in message and re.search(r"\d+U?LL", message):
        return "numbers have 64 bits here: leave the LL away"
    return ""


def _no_space(name: str, source: str, spaces: list[str]) -> str:
    """There is no such member; was it meant to be a space?"""
    near = difflib.get_close_matches(name, spaces, n=1)
    if near:
        return f"did you mean the space {near[0]!r}?"
    if not re.search(rf"space(\.|\[\s*['\"]){re.escape(name)}\b", source):
        return ""
    there = ", ".join(spaces[:SPACES_MAX]) + (", ..." if len(spaces) > SPACES_MAX else "")
    return f"there is no space {name!r}; " + (f"there are {there}" if spaces else "there are none")
