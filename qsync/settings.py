"""Settings that the whole cluster shares: rows of `_settings`, and what their texts may be.

They are part of the log, so nodes cannot disagree on them for long, whatever their files say.
"""

from collections.abc import Callable, Mapping
from typing import Final

from election.fencing import Fencing
from election.quorum import Quorum
from qsync import units

Parse = Callable[[str], object]


def _quantity(read: Callable[[str], float], low: str, high: str) -> Parse:
    """Text with a unit, as `read` understands it."""
    first, last = read(low), read(high)

    def parse(text: str) -> object:
        found = read(text)
        if not first <= found <= last:
            raise ValueError(f"is not between {low} and {high}")
        return found

    return parse


def _integer(low: int, high: int) -> Parse:
    def parse(text: str) -> object:
        try:
            number = int(text)
        except ValueError:
            raise ValueError("is not a whole number") from None
        if not low <= number <= high:
            raise ValueError(f"is not between {low} and {high}")
        return number

    return parse


def _word(*words: str) -> Parse:
    def parse(text: str) -> object:
        if text not in words:
            raise ValueError(f"is none of {', '.join(words)}")
        return text

    return parse


def _fencing(text: str) -> object:
    _word(*Fencing)(text)
    return Fencing(text)


SETTINGS: Final[Mapping[str, Parse]] = {
    "election.timeout": _quantity(units.duration, "10ms", "1h"),
    "election.fencing": _fencing,
    "replication.timeout": _quantity(units.duration, "5ms", "1h"),
    "replication.synchro_quorum": Quorum,
    "replication.synchro_timeout": _quantity(units.duration, "1ms", "24h"),
    "replication.synchro_policy": _word("rollback", "detach"),
    "replication.queue_entries_max": _integer(1, 100_000_000),
    "replication.queue_bytes_max": _quantity(units.size, "1KiB", "64GiB"),
}
"""Each by its name in the configuration file; a parser raises ValueError, "the value ..."."""
TEXT_CHARACTERS_MAX = 200


def parse(key: str, text: object) -> object:
    """The value that a text means. Raises ValueError whose text completes "KEY = TEXT ..."."""
    if key not in SETTINGS:
        raise ValueError(f"is no setting of the cluster; there are {', '.join(SETTINGS)}")
    if not isinstance(text, str) or len(text) > TEXT_CHARACTERS_MAX:
        raise ValueError(f"is not a text of at most {TEXT_CHARACTERS_MAX} characters")
    return SETTINGS[key](text)
