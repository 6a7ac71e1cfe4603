"""Single values of a drill file: how each kind is read, and how a schema describes it.

ValueErrors of the parsers complete the sentence "the value ...".
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from admin.drills.model import Value
from qsync import units

Schema = dict[str, object]

TEXT_SCHEMA: Schema = {"type": "string"}
COUNT_SCHEMA: Schema = {"type": "number", "minimum": 0}
DURATION_SCHEMA: Schema = {
    "type": "string",
    "pattern": r"^[0-9]+(\.[0-9]+)?\s*(us|ms|s|m|min|h|d)$",
}
FLAG_SCHEMA: Schema = {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class OptionKind:
    """The type of an option of a step. `target`: it names nodes."""

    parse: Callable[[str], Value]
    schema: Schema
    target: bool = False


Options = Mapping[str, OptionKind]


def number(text: str) -> float:
    """Any number that is not negative."""
    try:
        found = float(text)
    except ValueError:
        raise ValueError("is not a number") from None
    if not 0 <= found < float("inf"):
        raise ValueError("is not a number from 0 on")
    return found


def whole(least: int, most: int) -> Callable[[str], int]:
    """A whole number from `least` to `most`."""

    def parse(text: str) -> int:
        try:
            found = int(text)
        except ValueError:
            raise ValueError("is not a whole number") from None
        if not least <= found <= most:
            raise ValueError(f"is not a whole number from {least} to {most}")
        return found

    return parse


def lasting(text: str) -> float:
    """A duration that is not 0."""
    found = units.duration(text)
    if not found:
        raise ValueError("is not longer than 0")
    return found


def name(text: str) -> str:
    """The name of a drill: reports and folders use it."""
    if not text.strip() or "/" in text:
        raise ValueError("is not a name: it is empty or contains a /")
    return text


def truth(text: str) -> bool:
    """`true` or `false`."""
    if text not in {"true", "false"}:
        raise ValueError("is neither true nor false")
    return text == "true"


def chance(text: str) -> float:
    """A probability from 0 to 1, also as a percentage."""
    found = number(text[:-1].strip()) / 100 if text.endswith("%") else number(text)
    if found > 1:
        raise ValueError("is not a probability from 0 to 1, or a percentage")
    return found


def bare(text: str) -> str:
    """A target's name, with or without the braces of a template: `{{victim}}`."""
    if text.startswith("{{") and text.endswith("}}"):
        return text[2:-2].strip()
    return text


def one_of(*words: str) -> OptionKind:
    """One of these words."""

    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"is not one of {', '.join(words)}")
        return text

    return OptionKind(parse, {"enum": list(words)})


def _size(text: str) -> float:
    return float(units.size(text.removesuffix("/s")))


DURATION = OptionKind(units.duration, DURATION_SCHEMA)
NUMBER = OptionKind(number, COUNT_SCHEMA)
CHANCE = OptionKind(chance, {"type": ["number", "string"]})
SIZE = OptionKind(_size, TEXT_SCHEMA)
FLAG = OptionKind(truth, FLAG_SCHEMA)
TARGET = OptionKind(bare, TEXT_SCHEMA, target=True)
