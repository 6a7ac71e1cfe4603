"""How long a node's loop waits for the interpreter while a thread of its own reads a snapshot.

`python -m tests.bench.snapshot_holds [ROWS [ROW_BYTES [SECONDS]]]`: so many rows in a store of its
own, which a thread reads and encodes chunk by chunk as a sender of snapshots does, again and again.
The loop beside it sleeps for half a millisecond at a time, as one does that waits for sockets, and
measures how late it goes on: alone, beside a thread with the switch interval as Python has it, and
beside one as the threads of a node work. Prints percentiles in milliseconds.
"""

import contextlib
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from election.messages import Index
from qsync.data.keys import prefix
from qsync.store.beside import switching_often
from qsync.store.snapshot import chunks
from qsync.store.spaces import SpaceStore

SHARES = (0.5, 0.99, 0.999, 1.0)
PAUSE_S = 0.0005


@dataclass(frozen=True, slots=True)
class Filling:
    """See `contract.FoldedRows`."""

    folded: Index
    puts: Sequence[tuple[bytes, bytes]]
    deletes: Sequence[bytes] = ()


def fill(spaces: SpaceStore, rows: int, row_bytes: int) -> None:
    """So many rows in one space."""
    own = prefix(600, 0)
    puts = [(own + each.to_bytes(8, "big"), bytes(row_bytes)) for each in range(rows)]
    spaces.fold(Filling(Index(1), puts))
    spaces.sync()


def read(spaces: SpaceStore, over: threading.Event) -> None:
    """All chunks, again and again."""
    while not over.is_set():
        view = spaces.view()
        try:
            for chunk in chunks(view):
                chunk.encode()
                if over.is_set():
                    break
        finally:
            view.close()


def late(seconds: float) -> list[float]:
    """How late the loop went on after each of its pauses, in seconds, the longest last."""
    found, end = [], time.perf_counter() + seconds
    while (before := time.perf_counter()) < end:
        time.sleep(PAUSE_S)
        found.append(time.perf_counter() - before - PAUSE_S)
    return sorted(found)


def show(name: str, found: list[float]) -> None:
    """One line."""
    shown = (found[min(len(found) - 1, int(share * len(found)))] * 1e3 for share in SHARES)
    print(f"{name:12}" + "".join(f"{each:10.2f}" for each in shown), flush=True)


def main(rows: int = 200_000, row_bytes: int = 100, seconds: float = 10.0) -> None:
    """See the module."""
    print(" " * 12 + "".join(f"{f'p{share * 100:g}':>10}" for share in SHARES))
    with (
        tempfile.TemporaryDirectory() as room,
        contextlib.closing(SpaceStore(Path(room))) as spaces,
    ):
        fill(spaces, rows, row_bytes)
        show("alone", late(seconds))
        for name, way in (("usual", contextlib.nullcontext()), ("often", switching_often())):
            over = threading.Event()
            thread = threading.Thread(target=read, args=(spaces, over))
            with way:
                thread.start()
                try:
                    show(name, late(seconds))
                finally:
                    over.set()
                    thread.join()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *map(float, sys.argv[3:]))
