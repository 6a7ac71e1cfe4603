"""What following a log tells: so many facts of an invariant, or an entry that breaks it."""

from typing import NamedTuple


class OddEntry(NamedTuple):
    """An entry, and what is wrong with it."""

    invariant: str
    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs
    why: str


class FactCount(NamedTuple):
    """So many facts."""

    invariant: str
    amount: int
