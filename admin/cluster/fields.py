"""Reads plain answers field by field; missing or invalid fields become empty."""

from collections.abc import Mapping

Answer = Mapping[str, object]


def mapping(answer: Answer, key: str) -> Answer:
    """A map; empty without one."""
    found = answer.get(key)
    return found if isinstance(found, Mapping) else {}


def array(answer: Answer, key: str) -> list[object]:
    """A list; empty without one."""
    found = answer.get(key)
    return list(found) if isinstance(found, list | tuple) else []


def maps(answer: Answer, key: str) -> list[Answer]:
    """The maps in a list."""
    return [each for each in array(answer, key) if isinstance(each, Mapping)]


def integer(answer: Answer, key: str) -> int:
    """A whole number; 0 without one."""
    return integer_or_none(answer, key) or 0


def integer_or_none(answer: Answer, key: str) -> int | None:
    """A whole number."""
    found = answer.get(key)
    return found if isinstance(found, int) else None


def number(answer: Answer, key: str) -> float | None:
    """A number."""
    found = answer.get(key)
    return float(found) if isinstance(found, int | float) else None


def text(answer: Answer, key: str) -> str:
    """A text; empty without one."""
    return text_or_none(answer, key) or ""


def text_or_none(answer: Answer, key: str) -> str | None:
    """A text; None for an empty one."""
    found = answer.get(key)
    return str(found) if found else None


def counts(answer: Answer, key: str) -> dict[str, int]:
    """A map of names to whole numbers."""
    found = mapping(answer, key)
    return {str(name): count for name, count in found.items() if isinstance(count, int)}
