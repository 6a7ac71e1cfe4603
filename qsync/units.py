"""Durations, sizes and counts as people write them: `250ms`, `64MiB`, `2 rows`."""

import re
from decimal import Decimal

# Decimal, so that 10us is exactly the float nearest to 0.00001.
_SECONDS = {
    "us": Decimal("0.000001"),
    "ms": Decimal("0.001"),
    "s": Decimal(1),
    "m": Decimal(60),
    "min": Decimal(60),
    "h": Decimal(3600),
    "d": Decimal(86400),
}
_BYTES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_DECIMAL = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_NUMBER_AND_UNIT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)")


def duration(text: str) -> float:
    """Seconds in `250ms`, `5s`, `1.5m`, `1h`. Raises ValueError with the reason."""
    number, unit = _split(text, what="a duration", example="5s or 250ms")
    if not unit:
        raise ValueError(f"has no unit: write {text}s for seconds or {text}ms for milliseconds")
    if unit not in _SECONDS:
        raise ValueError(f"has the unit {unit!r}; known are {', '.join(_SECONDS)}")
    return float(Decimal(number) * _SECONDS[unit])


def size(text: str) -> int:
    """Bytes in `512B`, `64MiB`, `1GiB` (and `10MB`, decimal). Raises ValueError with the reason."""
    number, unit = _split(text, what="a size", example="64MiB or 512B")
    if not unit:
        raise ValueError(f"has no unit: write {text}B for bytes or {text}MiB")
    factor = {**_BYTES, **_DECIMAL}.get(unit)
    if factor is None:
        raise ValueError(f"has the unit {unit!r}; known are {', '.join(_BYTES)}")
    bytes_ = Decimal(number) * factor
    if bytes_ != int(bytes_):
        raise ValueError("is not a whole number of bytes")
    return int(bytes_)


def show_duration(seconds: float) -> str:
    """The shortest text that `duration` reads back as the same number."""
    if not seconds:
        return "0s"
    exact = Decimal(repr(seconds))
    for unit in ("h", "m", "s", "ms", "us"):
        count = exact / _SECONDS[unit]
        if count >= 1 and count == int(count):
            return f"{int(count)}{unit}"
    return f"{exact:f}s"


def show_size(bytes_: int) -> str:
    """The shortest text that `size` reads back as the same number."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if bytes_ and bytes_ % _BYTES[unit] == 0:
            return f"{bytes_ // _BYTES[unit]}{unit}"
    return f"{bytes_}B"


def how_many(count: int, noun: str) -> str:
    """The number and its noun, in the plural unless there is one: `1 entry`, `2 backups`."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun[:-1]}ies" if noun.endswith("y") else f"{count} {noun}s"


def _split(text: str, *, what: str, example: str) -> tuple[str, str]:
    found = _NUMBER_AND_UNIT.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"is not {what}, such as {example}")
    return found.group(1), found.group(2)
