"""Repairs pasted text: typographic quotes, no-break spaces, placeholders in angle brackets."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_SINGLE: Final = "‘’‚‛′"
_DOUBLE: Final = "“”„‟″"
_SPACES: Final = "\u00a0\u2007\u202f\u2003\u2002\u2009"
_NOTHING: Final = "\u200b\ufeff"
_LONG: Final = re.compile(r"\[(=*)\[")
_PLACEHOLDER: Final = re.compile(r"=\s*(<[A-Za-z][^<>\n=]*>)(?=\s*[,;}\n]|\s*\Z)")
_LANGUAGE: Final = re.compile(r"\A\s*[Ll]ua[^\S\n]*\n")
"""The name of the language above a block of code, copied along with it."""


@dataclass(frozen=True, slots=True)
class PastedChunk:
    """The chunk as valid Lua, and the changes."""

    text: str
    notes: tuple[str, ...] = ()


def clean(text: str) -> PastedChunk:
    """Make it valid Lua, but change nothing inside string literals and comments."""
    notes: list[str] = []
    without = _LANGUAGE.sub("", text, count=1)
    if without != text:
        notes.append('left out the line "Lua"')
    reader = _Reader(without)
    cleaned = reader.read()
    if reader.quotes:
        notes.append("typographic quotes were read as plain ones")
    if reader.spaces:
        notes.append("special spaces were read as plain ones")
    if reader.placeholders:
        named = ", ".join(reader.placeholders)
        notes.append(f"{named}: a placeholder keeps what is set; put a value there to change it")
    return PastedChunk(cleaned, tuple(notes))


class _Reader:
    """Reads the text once; `parts` is the output so far."""

    def __init__(self, text: str) -> None:
        self.quotes = False
        self.spaces = False
        self.placeholders: list[str] = []
        self._text = text
        self._at = 0
        self._parts: list[str] = []

    def read(self) -> str:
        """The whole text."""
        while self._at < len(self._text):
            self._next()
        return "".join(self._parts)

    def _next(self) -> None:
        text, at = self._text, self._at
        letter = text[at]
        if text.startswith("--", at):
            self._comment()
        elif letter in "'\"":
            self._copy(self._after_literal(letter))
        elif letter in _SINGLE or letter in _DOUBLE:
            self._curly(
                "'" if letter in _SINGLE else '"', _SINGLE if letter in _SINGLE else _DOUBLE
            )
        elif (found := _LONG.match(text, at)) is not None:
            self._copy(self._after_long(found))
        elif letter in _SPACES or letter in _NOTHING:
            self.spaces = True
            self._put(" " if letter in _SPACES else "", 1)
        elif letter == "=" and (found := _PLACEHOLDER.match(text, at)) is not None:
            self.placeholders.append(found.group(1))
            self._put("= box.KEEP", found.end() - at)
        else:
            self._put(letter, 1)

    def _put(self, what: str, taken: int) -> None:
        self._parts.append(what)
        self._at += taken

    def _copy(self, end: int) -> None:
        self._put(self._text[self._at : end], end - self._at)

    def _comment(self) -> None:
        found = _LONG.match(self._text, self._at + 2)
        if found is not None:
            self._copy(self._after_long(found))
        else:
            end = self._text.find("\n", self._at)
            self._copy(len(self._text) if end < 0 else end)

    def _after_literal(self, quote: str) -> int:
        return self._scan(self._at + 1, lambda letter: letter in (quote, "\n"))

    def _after_long(self, opening: "re.Match[str]") -> int:
        closing = f"]{opening.group(1)}]"
        end = self._text.find(closing, opening.end())
        return len(self._text) if end < 0 else end + len(closing)

    def _curly(self, plain: str, quotes: str) -> None:
        """A literal in typographic quotes; it ends with any of the same kind."""
        self.quotes = True
        end = self._scan(self._at + 1, lambda letter: letter in quotes or letter == "\n")
        closed = self._text[end - 1 : end]
        inside = self._text[self._at + 1 : end - 1]
        if not closed or closed not in quotes:
            # Not closed on this line: only the quote itself is replaced.
            self._put(plain, 1)
            return
        self._put(plain + inside.replace(plain, "\\" + plain) + plain, end - self._at)

    def _scan(self, at: int, ends: Callable[[str], bool]) -> int:
        """The position after the first closing letter from `at` on, with backslash escapes."""
        text = self._text
        while at < len(text):
            if text[at] == "\\":
                at += 2
                continue
            at += 1
            if ends(text[at - 1]):
                return at
        return len(text)
