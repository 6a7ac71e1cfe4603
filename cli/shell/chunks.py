"""Splits text into chunks: one if it is one, else statement by statement, as if typed."""

from collections.abc import Callable, Iterator

from cli.shell.failures import LuaSyntax
from cli.shell.pasted import clean

COMMAND = "\\"
"""What a command of the shell begins with."""

Compile = Callable[[str, str], object]
"""Makes a chunk of a text with a name. Raises LuaSyntax."""


def chunks(compile_: Compile, text: str, *, name: str) -> list[str]:
    """The text as one chunk; if it is none, its statements, provided that all of them are chunks.

    Raises LuaSyntax.
    """
    if not text.strip():
        return []
    if text.startswith(COMMAND) and "\n" not in text.strip():
        return [text.strip()]
    try:
        compile_(clean(text).text, name)
    except LuaSyntax as error:
        found = list(statements(compile_, text))
        if found and all(_compiles(compile_, each) for each in found):
            return found
        raise error from None
    return [text]


def statements(compile_: Compile, text: str) -> Iterator[str]:
    """Line by line: a statement goes on while it is unfinished."""
    pending: list[str] = []
    for line in text.splitlines():
        if not pending and (not line.strip() or line.startswith(COMMAND)):
            if line.strip():
                yield line
            continue
        pending.append(line)
        if not unfinished(compile_, "\n".join(pending)):
            yield "\n".join(pending)
            pending.clear()
    if any(line.strip() for line in pending):
        yield "\n".join(pending)


def unfinished(compile_: Compile, source: str) -> bool:
    """Return whether the text only lacks its end."""
    if source.startswith(COMMAND):
        return False
    try:
        compile_(clean(source).text, "=shell")
    except LuaSyntax as error:
        return error.unfinished
    return False


def _compiles(compile_: Compile, source: str) -> bool:
    if source.startswith(COMMAND):
        return True
    try:
        compile_(clean(source).text, "=shell")
    except LuaSyntax:
        return False
    return True
