"""What folding costs a row, and the longest piece of it that nothing else can come between.

`.venv/bin/python -m tests.bench.fold_speed [KEYS [ROUNDS [ROWS]]]`: ROWS puts before each fold, of
random keys of so many, 100 bytes each, 8 sessions, into a store of its own under the folder for
temporary files. Processor
time, so that others on the machine count little (that of the store's own thread included); the
slowest step by the clock beside it.
"""

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from typing import TypeVar

from election.messages import Index, Position, Term
from qsync.data.keys import prefix
from qsync.data.memtable import release
from qsync.data.operation_kinds import Op
from qsync.data.request import ExecutedTransaction, Request, Write
from qsync.data.state import DataState
from qsync.store.contract import Wait
from qsync.store.spaces import SpaceStore

T = TypeVar("T")
SLICE_ROWS = 200
SESSIONS = 8
DEFAULTS = (20_000, 20, 20_000)
"""Keys, rounds, and rows put before each fold."""


class Timed:
    """Steps by name: their processor time and the longest one."""

    def __init__(self) -> None:
        self.total: dict[str, float] = {}
        self.longest: dict[str, list[float]] = {}
        self.walls: dict[str, list[float]] = {}
        self.last = 0.0

    def call(self, name: str, work: Callable[[], T]) -> T:
        """One step."""
        wall, cpu = time.perf_counter(), time.process_time()
        found = work()
        spent, self.last = time.process_time() - cpu, time.perf_counter() - wall
        self.total[name] = self.total.get(name, 0.0) + spent
        self.longest.setdefault(name, []).append(spent)
        self.walls.setdefault(name, []).append(self.last)
        return found

    def steps(self, name: str, work: Generator[Wait | None, None, T]) -> T:
        """Many, those that are waited for under a name of their own."""
        while True:
            found: list[T] = []

            def step() -> Wait | None:
                try:
                    return next(work)
                except StopIteration as done:
                    found.append(done.value)  # noqa: B023 - called at once
                    return None

            wait = self.call(name, step)
            if found:
                return found[0]
            if wait is not None:
                self.call(f"{name}, beside", wait)

    def tell(self, rows: int) -> None:
        """Print."""
        print(f"{'':16} us/row   p50 ms   max ms   max ms by the clock")
        for name, each in self.longest.items():
            total, middle = self.total[name] / rows * 1e6, statistics.median(each) * 1e3
            worst, wall = max(each) * 1e3, max(self.walls[name]) * 1e3
            print(f"{name:16} {total:6.2f}   {middle:6.2f}   {worst:6.2f}   {wall:6.2f}")
        folding = sum(spent for name, spent in self.total.items() if name != "put")
        print(f"{'fold in all':16} {folding / rows * 1e6:6.2f}")


def _key(number: int) -> bytes:
    return prefix(512, 0) + b"\x04" + random.Random(number).randbytes(16)


def _put(state: DataState, opened: list[bytes], index: int, key: bytes) -> None:
    session = opened[index % SESSIONS]
    seq = index
    row = b"\x92\x50" + key[-16:] + b"v" * 84
    text = b"b" * 150
    writes: list[Write] = [(key, row)]
    low = max(0, seq - 256 * SESSIONS)
    executed = ExecutedTransaction(
        text, sync=True, results=[row], writes=writes, session=session, seq=seq, low=low
    )
    state.applied(index, 1, executed)
    state.see(Index(index))


def _round(
    timed: Timed, state: DataState, store: SpaceStore, batch: list[bytes], opened: list[bytes]
) -> None:
    first = state.head + 1

    def put() -> None:
        for at, key in enumerate(batch, first):
            _put(state, opened, at, key)

    timed.call("put", put)
    while state.folded < state.head:
        fold = timed.steps("plan", state.folding(state.head, len(batch) // 2))
        timed.steps("write", store.folding(fold, SLICE_ROWS))
        dropped = timed.call("drop", partial(state.folded_to, fold))
        timed.steps("release", release(dropped))


def main() -> None:
    """Measure and print."""
    given = tuple(map(int, sys.argv[1:]))
    keys, rounds, rows = given + DEFAULTS[len(given) :]
    names = [_key(number) for number in range(keys)]
    with tempfile.TemporaryDirectory() as folder:
        store = SpaceStore(Path(folder) / "data")
        state = DataState(store, folded=Index(0))
        opened = []
        for index in range(1, SESSIONS + 1):
            place = Position(Term(1), Index(index))
            done = state.execute(Request(ops=[[Op.OPEN_SESSION, b"bench"]]), at=place)
            state.applied(index, 1, done)
            opened.append(done.changes[0].session)
        state.see(Index(SESSIONS))
        timed = Timed()
        for count in (keys, rounds * rows):
            timed = Timed()
            todo = iter(names if count == keys else random.choices(names, k=count))
            for _ in range(-(-count // rows)):
                batch = [key for key, _ in zip(todo, range(rows), strict=False)]
                _round(timed, state, store, batch, opened)
            store.sync()
        timed.tell(rounds * rows)
        store.abandon()


if __name__ == "__main__":
    main()
