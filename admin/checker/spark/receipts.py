"""Receipts that clients were given, against the stretches of the logs: no log is read for it."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from admin.checker.spark.columns import Flags, Numbers, Whose
from admin.checker.spark.found import BREACH, FACTS, Found
from admin.checker.spark.joining import Joined
from admin.checker.spark.scanning import Batches, Given, batch

LOOKS = ("read", "r", "get", "txn", "cas-unequal")
"""Operations whose receipt is of the state that they showed."""
_RECEIPTS = "receipts-kept"


@dataclass(frozen=True, slots=True)
class Logged:
    """Where a log has which term, up to what is confirmed, and what is rolled back there."""

    whose: Whose
    first: int
    last: int
    firsts: Numbers
    lasts: Numbers
    terms: Numbers
    gone: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, log: Joined, upto: int) -> "Logged":
        """What travels to the tasks."""
        stretches = log.places.all
        gone = log.replay.rolled_back(upto) if log.first == 1 else ()
        return cls(
            log.whose,
            log.first,
            min(log.last, upto),
            np.array([each.first for each in stretches], dtype=np.int64),
            np.array([each.last for each in stretches], dtype=np.int64),
            np.array([each.term for each in stretches], dtype=np.int64),
            tuple((each.first, each.last) for each in gone),
        )

    def look(self, index: Numbers, term: Numbers) -> Iterator[Found]:
        """At receipts: places, and the terms that they name."""
        inside = (index >= self.first) & (index <= self.last)
        index, term = index[inside], term[inside]
        run, node, generation = self.whose
        yield Found(run, FACTS, _RECEIPTS, node, generation, amount=len(index))
        at = np.searchsorted(self.firsts, index, side="right") - 1
        lost = (index > self.lasts[at]) | (self.terms[at] != term)
        rolled: Flags = np.zeros(len(index), dtype=np.bool_)
        for first, last in self.gone:
            rolled |= (index >= first) & (index <= last)
        for which, how in ((lost, "is not in"), (rolled & ~lost, "was rolled back in")):
            for place in sorted(set(index[which].tolist())):
                text = f"entry {place} was acknowledged and {how} the log of node {node}"
                yield Found(run, BREACH, _RECEIPTS, node, 0, place, message=text)


def receipts(logs: Mapping[Whose, Joined], given: Given) -> Callable[[Batches], Batches]:
    """For rows of `ops`."""
    by_run: dict[str, list[Logged]] = defaultdict(list)
    for whose, log in logs.items():
        by_run[whose[0]].append(Logged.of(log, given.confirmed.get(whose, 0)))

    def run(batches: Batches) -> Batches:
        for rows in batches:
            yield batch(_looked(rows, by_run))

    return run


def _looked(rows: pa.RecordBatch, by_run: Mapping[str, list[Logged]]) -> Iterator[Found]:
    told = pc.and_(
        pc.equal(rows.column("type"), "ok"),
        pc.and_(
            pc.invert(pc.is_in(rows.column("f"), pa.array(LOOKS))),
            pc.fill_null(pc.greater(rows.column("log_index"), 0), False),  # noqa: FBT003 - Arrow's
        ),
    )
    kept = rows.filter(told)
    for name in pc.unique(kept.column("run_id")).to_pylist():
        own = kept.filter(pc.equal(kept.column("run_id"), name))
        index = own.column("log_index").to_numpy(zero_copy_only=False).astype(np.int64)
        term = pc.fill_null(own.column("term"), -1).to_numpy(zero_copy_only=False)
        for log in by_run.get(name, ()):
            yield from log.look(index, term)
