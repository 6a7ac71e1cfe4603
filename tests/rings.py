"""Which tests are left out of `make test`: rings.yaml, read; and which are a share of many."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import yaml

TABLE = Path(__file__).with_suffix(".yaml")
ALL = "all"
Tests = Mapping[str, tuple[str, ...]]
"""Functions by file, from this folder; none: the whole file."""


@dataclass(frozen=True, slots=True)
class Ring:
    """A kind of slow test."""

    why: str
    """What takes the time."""
    leaves: Tests
    short: Tests


def _tests(told: dict[str, str | list[str]]) -> Tests:
    return {file: () if names == ALL else tuple(names) for file, names in told.items()}


def _rings() -> dict[str, Ring]:
    told = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return {
        name: Ring(each["why"], _tests(each["leaves"]), _tests(each["short"]))
        for name, each in told.items()
    }


RINGS = _rings()


def names(tests: Tests, test: str) -> bool:
    """Whether a test, by its id, is one of these."""
    file, _, name = test.removeprefix("tests/").partition("::")
    if file not in tests:
        return False
    return not tests[file] or name in tests[file] or name.partition("[")[0] in tests[file]


def is_full(test: str) -> bool:
    """Whether `make test` leaves the test with this id to `make test-all`."""
    leaves = any(names(ring.leaves, test) for ring in RINGS.values())
    return leaves and not any(names(ring.short, test) for ring in RINGS.values())


def share_of(text: str) -> tuple[int, int]:
    """Which share of how many: `3/8`. One above the last is the first again, as days go on.

    Raises ValueError.
    """
    which, slash, count = text.partition("/")
    if not slash or int(count) < 1:
        raise ValueError(f"{text!r} is no share: write 3/8 for the third of eight")
    return int(which) % int(count), int(count)


def is_in_share(test: str, share: tuple[int, int]) -> bool:
    """Whether the test with this id is in that share; each is in one."""
    return crc32(test.encode()) % share[1] == share[0]
