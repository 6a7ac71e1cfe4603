"""What an option's text may be, and how it becomes a value and text again."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from election import quorum
from election.messages import VOTERS_MAX
from election.quorum import Quorum
from qsync import units
from qsync.options.member_names import MEMBER_NAME, NAME_CHARS_MAX

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)
N = TypeVar("N", int, float)

WORD_CHARS_MAX = 100
"""A longer word is not compared with the known ones: that takes long and finds nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueKind(Generic[T]):
    """One kind of value. `parse` raises ValueError whose text completes "the value ..."."""

    parse: Callable[[str], T]
    show: Callable[[T], str] = str
    suggest: Callable[[str], str | None] = lambda _: None
    schema: dict[str, object]


def integer(low: int, high: int) -> ValueKind[int]:
    """A whole number within bounds, both allowed."""

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise ValueError("is not a whole number") from None
        return _within(number, low, high, str)

    return ValueKind(parse=parse, schema={"type": "integer", "minimum": low, "maximum": high})


def duration(low: str, high: str) -> ValueKind[float]:
    """Seconds, written with a unit, within bounds."""
    first, last = units.duration(low), units.duration(high)

    def parse(text: str) -> float:
        return _within(units.duration(text), first, last, units.show_duration)

    pattern = r"^[0-9]+(\.[0-9]+)?(us|ms|s|m|min|h|d)$"
    return ValueKind(
        parse=parse, show=units.show_duration, schema={"type": "string", "pattern": pattern}
    )


def size(low: str, high: str) -> ValueKind[int]:
    """Bytes, written with a unit, within bounds."""
    first, last = units.size(low), units.size(high)

    def parse(text: str) -> int:
        return _within(units.size(text), first, last, units.show_size)

    pattern = r"^[0-9]+(\.[0-9]+)?(B|[KMGT]iB|[KMGT]B)$"
    return ValueKind(
        parse=parse, show=units.show_size, schema={"type": "string", "pattern": pattern}
    )


def member_name(text: str) -> str:
    """What may be the name of a member."""
    if not MEMBER_NAME.fullmatch(text):
        rule = f"letters, digits, dot, dash, underscore, at most {NAME_CHARS_MAX} characters"
        raise ValueError(f"is not a name: {rule}")
    return text


def _member_names(text: str) -> tuple[str, ...]:
    names = tuple(each.strip() for each in text.split(",")) if text.strip() else ()
    if len(set(names)) < len(names):
        raise ValueError("names a member twice")
    if len(names) > VOTERS_MAX:
        raise ValueError(f"names {len(names)} members; a cluster has at most {VOTERS_MAX} voters")
    return tuple(map(member_name, names))


def choice(values: type[E]) -> ValueKind[E]:
    """One word of a list."""
    words = [value.value for value in values]

    def parse(text: str) -> E:
        if text not in words:
            raise ValueError(f"is not one of {', '.join(words)}")
        return values(text)

    def suggest(text: str) -> str | None:
        return nearest(text, words)

    return ValueKind(parse=parse, show=str, suggest=suggest, schema={"enum": list(words)})


def nearest(word: str, known: list[str]) -> str | None:
    """The known word that was probably meant. Long texts are none, and take long to compare."""
    if len(word) > WORD_CHARS_MAX:
        return None
    return next(iter(difflib.get_close_matches(word, known, n=1, cutoff=0.6)), None)


MEMBER_NAMES: ValueKind[tuple[str, ...]] = ValueKind(
    parse=_member_names, show=", ".join, schema={"type": "string"}
)
"""Names or replica ids, in order, with commas between them; an empty text names none."""
QUORUM: ValueKind[Quorum] = ValueKind(parse=quorum.parse, schema={"type": ["string", "integer"]})
"""A formula over N, the number of voters, or a number."""


def _within(number: N, low: N, high: N, show: Callable[[N], str]) -> N:
    if not low <= number <= high:
        raise ValueError(f"is not between {show(low)} and {show(high)}")
    return number
