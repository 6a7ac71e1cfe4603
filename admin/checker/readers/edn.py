"""EDN, the notation of Clojure, as far as histories use it.

Keywords become `Keyword`, vectors and lists become lists, sets become frozensets, maps become
dicts, symbols become `Symbol`. A tag is skipped, so a record is read as a map.
"""

import re
from collections.abc import Iterator
from typing import TypeAlias

from admin.checker.operation import freeze
from admin.workload.history import DEPTH_MAX

Edn: TypeAlias = object


class EdnError(ValueError):
    """The text is not EDN; the message has the line."""


class Keyword(str):
    """`:name`, without the colon."""

    __slots__ = ()


class Symbol(str):
    """A bare name."""

    __slots__ = ()


_TOKEN = re.compile(
    r"""[\s,]+ | ;[^\n]*
    | (?P<open>\#?\{ | \[ | \() | (?P<close>[\])}])
    | (?P<text>"(?:[^"\\]|\\.)*")
    | (?P<keyword>:[^\s,;"()\[\]{}]+)
    | (?P<number>[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?[NM]?(?=[\s,;"()\[\]{}]|\Z))
    | (?P<drop>\#_)
    | (?P<tag>\#[A-Za-z][^\s,;"()\[\]{}]*)
    | (?P<character>\\(?:[^\s,;"()\[\]{}]+|.))
    | (?P<symbol>[^\s,;"()\[\]{}#\\:]+[^\s,;"()\[\]{}]*)""",
    re.VERBOSE | re.DOTALL,
)
_CLOSES = {"[": "]", "(": ")", "{": "}", "#{": "}"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_CHARACTERS = {"newline": "\n", "space": " ", "tab": "\t", "return": "\r"}
_NAMES = {"nil": None, "true": True, "false": False}


def parse(text: str) -> list[Edn]:
    """Every value of a text, in order. Raises EdnError."""
    return _Reader(text).values()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._split()

    def values(self) -> list[Edn]:
        """Values up to the end of the text."""
        found: list[Edn] = []
        for kind, token, at in self._tokens:
            if kind == "drop":
                self._one(at, 0)
            elif kind == "close":
                raise self._error(at, f"{token!r} closes nothing")
            elif kind != "tag":
                found.append(self._value(kind, token, at, 0))
        return found

    def _split(self) -> Iterator[tuple[str, str, int]]:
        at, text = 0, self._text
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise self._error(at, f"no EDN: {text[at : at + 20]!r}")
            if match.lastgroup is not None:
                yield match.lastgroup, match.group(), at
            at = match.end()

    def _one(self, start: int, depth: int) -> Edn:
        """The next value, after anything that is skipped."""
        for kind, token, at in self._tokens:
            if kind == "drop":
                self._one(at, depth)
            elif kind == "close":
                raise self._error(at, f"{token!r} where a value was wanted")
            elif kind != "tag":
                return self._value(kind, token, at, depth)
        raise self._error(start, "the text ends where a value was wanted")

    def _value(self, kind: str, token: str, at: int, depth: int) -> Edn:
        match kind:
            case "number":
                return _number(token)
            case "keyword":
                return Keyword(token[1:])
            case "symbol":
                return _NAMES[token] if token in _NAMES else Symbol(token)
            case "text":
                return _unescaped(token[1:-1])
            case "character":
                return _CHARACTERS.get(token[1:], token[1:])
            case _:
                return self._group(token, at, depth + 1)

    def _group(self, opened: str, start: int, depth: int) -> Edn:
        if depth > DEPTH_MAX:
            raise self._error(start, f"nested deeper than {DEPTH_MAX}")
        items: list[Edn] = []
        for kind, token, at in self._tokens:
            if kind == "drop":
                self._one(at, depth)
            elif kind == "close":
                if token != _CLOSES[opened]:
                    raise self._error(at, f"{token!r} closes {opened!r}")
                return self._grouped(opened, items, start)
            elif kind != "tag":
                items.append(self._value(kind, token, at, depth))
        raise self._error(start, f"{opened!r} is never closed")

    def _grouped(self, opened: str, items: list[Edn], start: int) -> Edn:
        if opened == "#{":
            return frozenset(freeze(each) for each in items)
        if opened != "{":
            return items
        if len(items) % 2:
            raise self._error(start, "a map has a key without a value")
        return {freeze(key): value for key, value in zip(items[::2], items[1::2], strict=True)}

    def _error(self, at: int, what: str) -> EdnError:
        return EdnError(f"line {self._text.count(chr(10), 0, at) + 1}: {what}")


def _number(token: str) -> int | float:
    bare = token.rstrip("NM")
    return int(bare) if bare.lstrip("+-").isdigit() else float(bare)


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    plain = re.sub(
        r"\\(u[0-9a-fA-F]{4}|.)",
        lambda m: chr(int(m[1][1:], 16)) if len(m[1]) > 1 else _ESCAPES.get(m[1], m[1]),
        text,
        flags=re.DOTALL,
    )
    # Clojure counts UTF-16 code units, so one character may be two escapes.
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
