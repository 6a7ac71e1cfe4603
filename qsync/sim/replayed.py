"""Rows of a store equal the replay of the confirmed log, and its sessions equal those of others."""

from collections.abc import Callable, Iterable, Mapping

from election.messages import Index
from qsync.data import keys
from qsync.sim.canon import PropertyViolation, ReferenceLog, ReferenceRecords
from qsync.store.digest import digest

USER_SPACE_MIN = 512
SESSION_SPACE = 380
_PRIMARY = 0
RowScan = Callable[[bytes, bytes], Iterable[tuple[bytes, bytes]]]
"""The rows with `lo <= key < hi`, in order."""


class StoredRows:
    """Checks rows of any store against the log."""

    def __init__(self, books: ReferenceRecords, canon: ReferenceLog) -> None:
        self._books = books
        self._canon = canon
        self._sessions: dict[int, str] = {}

    def check(self, who: str, upto: Index, scan: RowScan) -> None:
        """Property 10: rows that hold at that index are the replay of the log."""
        for space in sorted({key[0] for key in self._books.writes if key[0] >= USER_SPACE_MIN}):
            start = keys.prefix(space, _PRIMARY)
            stop = keys.prefix(space, _PRIMARY + 1)
            found = {key[len(start) :]: row for key, row in scan(start, stop)}
            wanted = self._canon.replay(space, upto)
            if found != wanted:
                text = f"space {space} of {who} at {upto} is not the replay of the log"
                raise PropertyViolation(10, f"{text}: {_difference(found, wanted)}")
        sessions = digest(scan(*keys.space_range(SESSION_SPACE)))
        if self._sessions.setdefault(upto, sessions) != sessions:
            raise PropertyViolation(10, f"the sessions of {who} at {upto} are not those of others")

    def forget(self, below: int) -> None:
        """No store has rows of an older log any more."""
        self._sessions = {at: sums for at, sums in self._sessions.items() if at >= below}


def _difference(found: Mapping[bytes, bytes], wanted: Mapping[bytes, bytes]) -> str:
    for key in sorted({*found, *wanted}):
        if found.get(key) != wanted.get(key):
            return f"at {key.hex()} it has {found.get(key)!r}, not {wanted.get(key)!r}"
    return "nothing"
