"""Advice for errors of Lua: the name that was probably meant, or why there is none."""

import difflib
import re
from collections.abc import Iterable
from typing import Final

_GLOBAL: Final = re.compile(r"global '(\w+)'")
_FIELD: Final = re.compile(r"index a nil value \(field '(\w+)'\)")
_METHOD: Final = re.compile(r"call a nil value \((?:method|field) '(\w+)'\)")
_LOCAL: Final = re.compile(r"^\s*local\s+(?:function\s+)?(\w+)", re.MULTILINE)
_ABSENT: Final = frozenset({"os", "io", "package", "debug", "dofile", "loadfile", "python"})
SPACES_MAX: Final = 5
"""How many names are listed if none is similar to the typed one."""


def locals_of(source: str) -> set[str]:
    """Local names of a chunk: they end with it."""
    return set(_LOCAL.findall(source))


def hint(message: str, *, source: str, gone: Iterable[str], spaces: Iterable[str]) -> str:
    """The advice for an error; empty when there is none."""
    named = _GLOBAL.search(message)
    if named is not None and named.group(1) in _ABSENT:
        return f"the shell's Lua has no {named.group(1)}: it reaches the cluster and nothing else"
    if named is not None and named.group(1) in set(gone):
        return f"`local {named.group(1)}` ended with its line; leave out the `local`"
    called = _METHOD.search(message)
    if called is not None:
        return _no_function(called.group(1))
    field = _FIELD.search(message)
    if field is not None:
        name = field.group(1)
        return _no_member(name, source) or _no_space(name, source, sorted(spaces))
    if "malformed number" in message and re.search(r"\d+U?LL", message):
        return "numbers have 64 bits here: leave the LL away"
    return ""


def may_be_a_space(message: str) -> bool:
    """Return whether an error is about a missing field, such as a misspelt space."""
    return _FIELD.search(message) is not None


def _no_function(name: str) -> str:
    """Suggest a name for an unknown method or function."""
    from cli.shell.known import BOX, SPACE  # noqa: PLC0415 - it loads all that can be called

    there = dict.fromkeys((*SPACE, *(each.rpartition(".")[2] for each in BOX)))
    near = difflib.get_close_matches(name, there, n=1)
    return f"did you mean {near[0]!r}?" if near else ""


def _no_member(name: str, source: str) -> str:
    """Suggest a name for an unknown part of `box`, such as `box.spaec`."""
    from cli.shell.known import BOX  # noqa: PLC0415 - it loads all that can be called

    found = re.search(rf"\b(box(?:\.\w+)*)\.{re.escape(name)}\b", source)
    if found is None or found.group(1) == "box.space":
        return ""
    start = f"{found.group(1)}."
    there = {each.removeprefix(start).partition(".")[0] for each in BOX if each.startswith(start)}
    near = difflib.get_close_matches(name, sorted(there), n=1)
    return f"did you mean {start}{near[0]}?" if near else ""


def _no_space(name: str, source: str, spaces: list[str]) -> str:
    """Suggest a name for an unknown member, such as a space."""
    near = difflib.get_close_matches(name, spaces, n=1)
    if near:
        return f"did you mean the space {near[0]!r}?"
    if not re.search(rf"space(\.|\[\s*['\"]){re.escape(name)}\b", source):
        return ""
    there = ", ".join(spaces[:SPACES_MAX]) + (", ..." if len(spaces) > SPACES_MAX else "")
    return f"there is no space {name!r}; " + (f"there are {there}" if spaces else "there are none")
