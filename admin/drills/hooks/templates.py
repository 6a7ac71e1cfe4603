"""Command templates: words with fields in braces, filled in word by word."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Formatter

WORDS_MAX = 200
SAFE_VALUE = re.compile(r"(?!-)[A-Za-z0-9_./:@%+=,\[\]-]*")
"""The allowed characters of a field: a remote shell parses it, so no blanks and no quotes."""


@dataclass(frozen=True, slots=True)
class CommandTemplate:
    """`words`: the words of the command; a shell command is one word."""

    words: tuple[str, ...]
    shell: bool = False

    @property
    def fields(self) -> list[str]:
        """The fields that it uses, in order."""
        return [name for word in self.words for name in _fields(word)]

    @property
    def fields_in_program(self) -> bool:
        """Whether fields determine the program that it runs."""
        return bool(_fields(self.words[0]))

    def filled(self, values: Mapping[str, str]) -> list[str]:
        """Return the arguments. A value stays within its word; for a shell it is quoted."""
        if self.shell:
            quoted = {name: shlex.quote(value) for name, value in values.items()}
            return ["/bin/sh", "-c", _fill(self.words[0], quoted)]
        return [_fill(word, values) for word in self.words]


def parse(text: str, *, shell: bool) -> CommandTemplate:
    """Parse a command given as one text. Raises ValueError with the reason."""
    return from_words([text] if shell else shlex.split(text), shell=shell)


def from_words(words: Sequence[str], *, shell: bool = False) -> CommandTemplate:
    """Parse a command given as words. Raises ValueError."""
    if not words or not words[0].strip():
        raise ValueError("is no command: it is empty")
    if len(words) > WORDS_MAX:
        raise ValueError(f"has {len(words)} words; at most {WORDS_MAX} are allowed")
    for word in words:
        if any(not name for name in _fields(word)):
            raise ValueError("has a field without a name; a brace itself is written {{ or }}")
    return CommandTemplate(tuple(words), shell)


def safe_value(text: str) -> str:
    """Return a value of a field. Raises ValueError for one that a shell would interpret."""
    if not SAFE_VALUE.fullmatch(text):
        raise ValueError(
            "may hold letters, digits and _ . / : @ % + = , [ ] - and does not begin with -"
        )
    return text


def _fields(word: str) -> list[str]:
    found: list[str] = []
    for _, name, form, conversion in Formatter().parse(word):
        if name is None:
            continue
        if form or conversion:
            raise ValueError(f"has a field with a format, {{{name}...}}; only {{name}} is known")
        found.append(name)
    return found


def _fill(word: str, values: Mapping[str, str]) -> str:
    parts: list[str] = []
    for literal, name, _, _ in Formatter().parse(word):
        parts.append(literal)
        if name is not None:
            parts.append(values[name])
    return "".join(parts)
