"""Log positions, the index and term of an entry: which log can have it (protocol.md section 7)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LogPlace:
    """The position of an entry.

    If the term is None, it is unknown, and only indexes are compared.
    """

    index: int
    term: int | None = None

    def __str__(self) -> str:
        return str(self.index) if self.term is None else f"{self.index} of term {self.term}"


def misses(shown: LogPlace, floor: LogPlace) -> bool:
    """Return whether no log whose last entry is `shown` can have the entry `floor`.

    An entry is named by index and term, and terms never decrease along a log (Raft §5.3). So a
    longer log of an older term is another log, and so is one with another term at that index.
    """
    if shown.index < floor.index:
        return True
    if shown.term is None or floor.term is None:
        return False
    return shown.term < floor.term or (shown.index == floor.index and shown.term != floor.term)
