"""Reads the feed of changes beside the clients of a run, and records it."""

import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from admin.evidence.tables import Row
from qsync.client import questions
from qsync.client.blocking import Client, connect
from qsync.client.changes import ChangeBatch
from qsync.errors import QsyncError

WAIT_S = 0.2
"""How long a node holds a request for which it has no changes."""
TIMEOUT_S = 3.0
PAUSE_S = 0.05
"""The pause between two requests."""
ANSWERS_MAX = 20
"""Requests to one node; then the next node is asked, and both answers must fit together."""
TRIES_MAX = 5
"""The time limit at the end, for the changes that are still missing."""


class Feeding:
    """A thread that reads all changes from now on. `rows` is whole when it has been left."""

    def __init__(self, seeds: Sequence[str]) -> None:
        self.rows: list[Row] = []
        self._seeds = list(seeds)
        self._upto: int | None = None
        self._crash: BaseException | None = None
        self._anew = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="feed", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        """Read the rest. Raises what it died of, unless another exception is under way."""
        self._stop.set()
        self._thread.join()
        if self._crash is not None and error is None:
            raise self._crash

    def begin_anew(self) -> None:
        """Start again with another cluster: earlier changes belong to no present log."""
        self._anew.set()

    def _work(self) -> None:
        try:
            while not self._stop.wait(PAUSE_S):
                self._ask()
            tries = 0
            while tries < TRIES_MAX and not self._is_done():
                tries += 1
        except BaseException as error:  # noqa: BLE001 - handed to the thread that judges
            self._crash = error

    def _is_done(self) -> bool:
        batch = self._ask()
        return batch is not None and batch.upto >= batch.confirmed

    def _ask(self) -> ChangeBatch | None:
        """Ask on a new connection, like a reader that comes back."""
        self._seeds.append(self._seeds.pop(0))
        try:
            with connect(self._seeds, timeout=TIMEOUT_S) as client:
                return self._read(client)
        except QsyncError:
            pass  # no node answers now, and the next request is the same
        return None

    def _read(self, client: Client) -> ChangeBatch:
        answers = 0
        while True:
            if self._anew.is_set():
                self._anew.clear()
                self._upto = None
                self.rows.clear()
            batch = client.run(questions.changes(self._upto, None, [], WAIT_S))
            if self._upto is not None and batch.upto > self._upto:
                self.rows.append(self._row(self._upto, batch))
            self._upto = batch.upto
            answers += 1
            if answers == ANSWERS_MAX or not batch.changes or self._stop.wait(PAUSE_S):
                return batch

    def _row(self, after: int, batch: ChangeBatch) -> Row:
        places = [[each.index, each.term] for each in batch.changes]
        row: Row = {"reader": 1, "number": len(self.rows), "after": after}
        return row | {"upto": batch.upto, "places": places}
