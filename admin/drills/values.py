"""Single values of a drill file, parsed; ValueErrors complete the sentence "the value ..."."""

from collections.abc import Callable, Mapping

from admin.drills.model import Value
from admin.drills.words import LOSSES, SIGNALS, WAYS, OptionKind
from qsync import units


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
        raise ValueError("is no time at all")
    return found


def name(text: str) -> str:
    """Of a drill: reports and folders bear it."""
    if not text.strip() or "/" in text:
        raise ValueError("is no name: it is empty, or has a / in it")
    return text


def truth(text: str) -> bool:
    """`true` or `false`."""
    if text not in {"true", "false"}:
        raise ValueError("is neither true nor false")
    return text == "true"


def chance(text: str) -> float:
    """A share from 0 to 1, also as a percentage."""
    found = number(text[:-1].strip()) / 100 if text.endswith("%") else number(text)
    if found > 1:
        raise ValueError("is not a chance from 0 to 1, or a percentage")
    return found


def _one_of(words: tuple[str, ...]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"is none of {', '.join(words)}")
        return text

    return parse


def _target(text: str) -> str:
    return bare(text)


def bare(text: str) -> str:
    """A target's name, with or without the braces of a template: `{{victim}}`."""
    if text.startswith("{{") and text.endswith("}}"):
        return text[2:-2].strip()
    return text


def _size(text: str) -> float:
    return float(units.size(text.removesuffix("/s")))


PARSERS: Mapping[OptionKind, Callable[[str], Value]] = {
    OptionKind.DURATION: units.duration,
    OptionKind.NUMBER: number,
    OptionKind.CHANCE: chance,
    OptionKind.SIZE: _size,
    OptionKind.FLAG: truth,
    OptionKind.TARGET: _target,
    OptionKind.WAY: _one_of(WAYS),
    OptionKind.SIGNAL: _one_of(SIGNALS),
    OptionKind.LOSS: _one_of(LOSSES),
}
