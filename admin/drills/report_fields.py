"""Reads members of a report, which is JSON, as what they are."""

from collections.abc import Mapping

from qsync.errors import ConfigError


def text(found: Mapping[str, object], name: str) -> str:
    """A text."""
    return str(found.get(name, ""))


def number(found: Mapping[str, object], name: str) -> float:
    """A number. Raises ConfigError."""
    value = found.get(name)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise ConfigError(f"a report without a number {name!r}")


def table(found: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Named members. Raises ConfigError."""
    value = found.get(name)
    if isinstance(value, Mapping):
        return value
    raise ConfigError(f"a report without {name!r}")


def maps(found: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    """A list of named members. Raises ConfigError."""
    value = found.get(name)
    if isinstance(value, list | tuple) and all(isinstance(each, Mapping) for each in value):
        return list(value)
    raise ConfigError(f"a report without a list {name!r}")
