"""The state follows the log: event by event as it grows, or all of it once more."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from election.messages import Index
from qsync.core.ready import LogAppended, LogCut, LogEvent, LogRestored, LogRolledBack
from qsync.core.replicated_log import ReplicatedLog
from qsync.data.state import DataState
from qsync.record import Entry

REPLAY_STEP = 4096
"""Entries read back from the log at a time."""

NOTHING_STORED: Final = Index(0)

Tail = Callable[[Index, Index], list[Entry]]


@dataclass(slots=True, kw_only=True)
class UntrustedRows:
    """Rows that could not be trusted, and how far they are rebuilt from the log."""

    why: str
    at: int | None = None
    """Replayed up to here; None until the store is empty."""
    goal: int = 0
    snapshot: Index | None = None
    """They give way to those of a snapshot at that index, behind which the log begins."""

    def __str__(self) -> str:
        far = "" if self.at is None else f", {self.at} of {self.goal} entries so far"
        return f"{self.why}; the spaces are rebuilt from the log{far}"


def follow(state: DataState, event: LogEvent) -> None:
    """Follow one change of the log."""
    if isinstance(event, LogAppended):
        state.apply(event.entries)
    elif isinstance(event, LogRolledBack):
        state.roll_back(event.first, event.last)
    elif isinstance(event, LogRestored):
        state.restore(event.first, event.last)
    else:
        assert isinstance(event, LogCut)
        state.cut(event.index)


def replay(
    state: DataState, replicated_log: ReplicatedLog, tail: Tail, *, after: int, upto: int
) -> None:
    """Entries `after + 1 .. upto` with their fates. Neither end may be inside of a stretch."""
    first = after + 1
    for stretch in replicated_log.limbo.stretches_above(Index(after)):
        if stretch.rollback > upto:
            break
        end = stretch.rollback - 1
        _apply(state, tail, first, end)
        state.roll_back(stretch.first, Index(end))
        first = end + 1
    _apply(state, tail, first, upto)


def _apply(state: DataState, tail: Tail, first: int, last: int) -> None:
    while first <= last:
        upto = min(first + REPLAY_STEP - 1, last)
        state.apply(tail(Index(first), Index(upto)))
        first = upto + 1


def next_stop(replicated_log: ReplicatedLog, *, after: int, entries_max: int) -> int:
    """Return where to pause after so many entries: never between victims and their ROLLBACK."""
    end = after + entries_max
    stretch = replicated_log.limbo.stretch_at(end)
    return end if stretch is None else int(stretch.rollback)
