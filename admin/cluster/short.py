"""Numbers in few characters, as tables and screens show them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

_UNITS: Final = ((1e-3, 1e6, "us"), (1, 1e3, "ms"), (100, 1, "s"), (6e3, 1 / 60, "m"))
_TENTHS_BELOW: Final = 10
_KIBI: Final = 1024
_DAY_S, _FEW_DAYS = 86_400.0, 3


def seconds(value: float | None) -> str:
    """A duration in at most five characters: `12ms`, `2.4s`, `3m`; `-` if it is not known."""
    if value is None:
        return "-"
    for below, factor, unit in _UNITS:
        if value < below:
            return f"{value * factor:.1f}{unit}" if unit == "s" else f"{value * factor:.0f}{unit}"
    return f"{value / 3600:.0f}h"


def lasting(seconds: float) -> str:
    """How long something has lasted, in two units: `45s`, `11m24s`, `4h09m`, `9d4h`."""
    whole = int(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d{hours}h"
    if hours:
        return f"{hours}h{minutes:02}m"
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"


def days(seconds: float) -> str:
    """How long something will still last, in whole days; in two units where those say little."""
    whole = int(seconds / _DAY_S)
    return f"{whole} days" if whole >= _FEW_DAYS else lasting(seconds)


def vclock(lsns: Mapping[int, int]) -> str:
    """The last lsn of each origin: `{1:5 2:3}`."""
    return "{" + " ".join(f"{id}:{lsn}" for id, lsn in sorted(lsns.items())) + "}"


def amount(number: float) -> str:
    """An amount in at most five characters: `0`, `812`, `1.9k`, `48M`."""
    for below, factor, unit in ((1e3, 1, ""), (1e6, 1e-3, "k"), (1e9, 1e-6, "M")):
        if abs(number) < below:
            value = number * factor
            short = f"{value:.1f}" if 0 < abs(value) < _TENTHS_BELOW else f"{value:.0f}"
            return short.removesuffix(".0") + unit
    return f"{number * 1e-9:.1f}G"


def size(bytes_: float) -> str:
    """A size in bytes: `412B`, `16M`, `2.1G`."""
    for unit in ("B", "K", "M", "G"):
        if abs(bytes_) < _KIBI:
            whole = unit == "B" or bytes_ >= _TENTHS_BELOW
            return f"{bytes_:.0f}{unit}" if whole else f"{bytes_:.1f}{unit}"
        bytes_ /= _KIBI
    return f"{bytes_:.1f}T"


def clock(time: float) -> str:
    """The time of day in UTC, as in the nodes' events."""
    return datetime.fromtimestamp(time, UTC).strftime("%H:%M:%S")
