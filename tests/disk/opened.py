"""Opening a directory after an accident, and what must be true of it then."""

from collections.abc import Sequence
from pathlib import Path

from election.messages import Index
from qsync.store.digest import digest
from qsync.store.spaces import SpaceStore
from qsync.store.writer import WriterMode
from tests.disk.life import Held, fold, replay
from tests.disk.writer import Store

LOW, HIGH = b"\0", b"\xff" * 8


def look(path: Path, *, boot: str | None = None) -> Held:
    """Open as a node does, and check everything that needs no knowledge of what was written.

    `boot` names another run of the operating system than the one that wrote.
    """
    store = Store(path, mode=WriterMode.INLINE, boot=boot)
    try:
        found, log = store.found, store.log
        assert found.quarantined is None
        held = Held(
            entries=tuple(log.entries(Index(1), found.last)),
            ballot=found.ballot,
            confirmed=found.confirmed,
            tails=tuple(tail.raw for tail in log.archived()),
            folded=store.spaces.folded,
        )
        assert held.folded <= held.confirmed
        assert same_as_replayed(store.spaces, held)
        if boot is not None:
            # Whatever became of the rows, the log makes them whole again.
            store.take(fold(held.entries[held.folded : held.confirmed], upto=held.confirmed))
            assert store.spaces.folded == held.confirmed
            assert same_as_replayed(store.spaces, held)
    finally:
        store.close()
    return held


def same_as_replayed(spaces: SpaceStore, held: Held) -> bool:
    """Do the rows equal what the log makes up to the index that they say they hold?"""
    rows = replay(held.entries[: spaces.folded])
    return spaces.digest(LOW, HIGH) == digest(rows)


def place(held: Held, lived: Sequence[Held], *, acked: int) -> int:
    """After how many steps that is; the step that was under way may have been taken.

    Nothing that was acked may be missing, and nothing may be there that was not written.
    """
    for number in (acked, acked + 1):
        if held.log == lived[number].log:
            return number
    raise AssertionError(
        f"acked {acked}: found {_outline(held)}, wanted {_outline(lived[acked])}"
        f" or {_outline(lived[acked + 1])}"
    )


def _outline(held: Held) -> str:
    terms = sorted({entry.term for entry in held.entries})
    return (
        f"{len(held.entries)} entries of terms {terms}, {held.ballot}, confirmed {held.confirmed}, "
        f"{len(held.tails)} tails, folded {held.folded}"
    )
