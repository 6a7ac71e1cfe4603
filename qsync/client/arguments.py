"""What a program gives to a call is taken as it is meant, or refused before anything is sent."""

import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

from qsync.errors import ConfigError
from qsync.wire import limits

K = TypeVar("K")
T = TypeVar("T")
_SHOWN_CHARS_MAX: Final = 80


def refused(option: str, wanted: str, value: object) -> ConfigError:
    """Return the error that names the argument, what it takes, and what it was given."""
    return ConfigError(f"{option} is {wanted}, not {value!r:.{_SHOWN_CHARS_MAX}}")


def seconds_of(option: str, value: object) -> float:
    """Return a number of seconds; infinity is one. Raises ConfigError.

    A time that is not a number is never over.
    """
    if type(value) is float and value == value:  # noqa: PLR0124 - nan is not itself
        return value
    if isinstance(value, float | int) and not isinstance(value, bool) and value == value:  # noqa: PLR0124 - as above
        most = sys.float_info.max
        return float(max(-most, min(value, most)))
    raise refused(option, "a number of seconds", value)


def integer_of(option: str, value: object) -> int:
    """Return a whole number, be it below 0. Raises ConfigError."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise refused(option, "a whole number", value)


def count_of(option: str, value: object) -> int:
    """Return a whole number that a request can carry. Raises ConfigError."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= limits.U64_MAX:
        return value
    raise refused(option, "a whole number from 0 on", value)


def window_of(value: object) -> int:
    """Return how many may be under way at once: one at least. Raises ConfigError."""
    return max(1, min(integer_of("window", value), limits.U32_MAX))


def choice_of(option: str, value: object, choices: Mapping[Any, T], wanted: str) -> T:
    """Return what a choice stands for. `wanted`: all choices, in words. Raises ConfigError."""
    try:
        return choices[value]
    except (KeyError, TypeError):  # a list cannot be looked up
        raise refused(option, wanted, value) from None


def each_of(option: str, value: Iterable[T], wanted: str) -> Iterable[T]:
    """Return what is given one by one; a text is not. Raises ConfigError."""
    given: object = value
    if isinstance(given, str | bytes | bytearray) or not isinstance(given, Iterable):
        raise refused(option, wanted, given)
    return value


def table_of(option: str, value: Mapping[K, T]) -> dict[K, T]:
    """Return a map as a dict. Raises ConfigError."""
    if isinstance(value, Mapping):
        return dict(value)
    raise refused(option, "a map of names to values", value)


def text_of(option: str, value: object) -> str:
    """Return a text. Its value may be a secret, so only its type is told. Raises ConfigError."""
    if isinstance(value, str):
        return value
    raise ConfigError(f"{option} is a text, not {type(value).__name__}")
