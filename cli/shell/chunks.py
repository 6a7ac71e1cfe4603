"""Splits text into chunks: the whole text if it is one, else statement by statement."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from cli.shell.failures import LuaSyntax
from cli.shell.pasted import clean

COMMAND = "\\"
"""The prefix of a command of the shell."""

Compile = Callable[[str, str], object]
"""Makes a chunk of a text with a name. Raises LuaSyntax."""
_GOES_ON: Final = re.compile(r"\\\n?\Z")
"""A quoted string continues on the next line after a backslash at the end of its line."""
_PLACE: Final = re.compile(r"\A\S+?:\d+: ")
_OPENED: Final = re.compile(r"(.+) expected \(to close (.+) at line (\d+)\)")
_LONG: Final = re.compile(r"unfinished long (string|comment) \(starting at line (\d+)\)")


@dataclass(frozen=True, slots=True)
class MissingEnd:
    """Why a text is not a chunk yet. `in_line`: more lines do not complete it."""

    why: str
    in_line: bool = False


def chunks(compile_: Compile, text: str, *, name: str) -> list[str]:
    """The text as one chunk; otherwise its statements, if all of them are chunks.

    A statement has as many empty lines before it as there are lines before it in the text, so that
    errors name the line of the text. Raises LuaSyntax.
    """
    if not text.strip():
        return []
    if text.startswith(COMMAND) and "\n" not in text.strip():
        return [text.strip()]
    try:
        compile_(clean(text).text, name)
    except LuaSyntax as error:
        found = list(statements(compile_, text))
        if found and all(_compiles(compile_, each) for _, each in found):
            return [
                each if each.startswith(COMMAND) else "\n" * before + each for before, each in found
            ]
        raise error from None
    return [text]


def statements(compile_: Compile, text: str) -> Iterator[tuple[int, str]]:
    """Line by line: a statement continues while it is unfinished. With the lines before it."""
    pending: list[str] = []
    before = 0
    for at, line in enumerate(text.splitlines()):
        if not pending and (not line.strip() or line.startswith(COMMAND)):
            if line.strip():
                yield at, line
            continue
        before = before if pending else at
        pending.append(line)
        if not unfinished(compile_, "\n".join(pending)):
            yield before, "\n".join(pending)
            pending.clear()
    if any(line.strip() for line in pending):
        yield before, "\n".join(pending)


def unfinished(compile_: Compile, source: str) -> bool:
    """Return whether the text only lacks lines."""
    found = missing_end(compile_, source)
    return found is not None and not found.in_line


def missing_end(compile_: Compile, source: str) -> MissingEnd | None:
    """Return what is missing at the end of the text; None for a chunk or another error."""
    if source.startswith(COMMAND):
        return None
    error = _fault(compile_, source)
    return None if error is None or not error.unfinished else _missing(error.message, source)


def _missing(message: str, source: str) -> MissingEnd:
    said = _PLACE.sub("", message).partition(" near ")[0]
    if said == "unfinished string":
        in_line = _GOES_ON.search(source) is None
        return MissingEnd("a quote is open: close it on its line", in_line)
    if found := _LONG.fullmatch(said):
        kind, line = found.groups()
        return MissingEnd(f"the long {kind} of line {line} is open: `]]` closes it")
    if found := _OPENED.fullmatch(said):
        end, begin, line = found.groups()
        return MissingEnd(f"it lacks {end}, to close {begin} of line {line}")
    if said.endswith(" expected"):
        return MissingEnd(f"it lacks {said.removesuffix(' expected')}")
    return MissingEnd("a value or a statement is cut off")


def _compiles(compile_: Compile, source: str) -> bool:
    return source.startswith(COMMAND) or _fault(compile_, source) is None


def _fault(compile_: Compile, source: str) -> LuaSyntax | None:
    """Return why a text is not a chunk; None for a chunk."""
    try:
        compile_(clean(source).text, "=shell")
    except LuaSyntax as error:
        return error
    return None
