"""Receipts that clients were given, against the stretches of the logs: no log is read for it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from admin.checker.kernels.arrays import Flags, Numbers
from admin.checker.kernels.logs.slices import Whose
from admin.checker.spark.arrays import among, known, numbers
from admin.checker.spark.chunks import Chunk, chunks, read, spread
from admin.checker.spark.job_schema import BREACH, FACTS, FindingRow
from admin.checker.spark.log_join import JoinedLog
from admin.checker.spark.outcomes import LOOKS
from admin.checker.spark.scan_context import ScanContext

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LINES = ("type", "f", "log_index", "term", "seq")
_RECEIPTS = "receipts-kept"


@dataclass(frozen=True, slots=True)
class LoggedTerms:
    """Where a log has which term, up to what is confirmed, and what is rolled back there."""

    whose: Whose
    first: int
    last: int
    firsts: Numbers
    lasts: Numbers
    terms: Numbers
    gone: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, log: JoinedLog, upto: int) -> "LoggedTerms":
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

    def look(self, index: Numbers, term: Numbers) -> Iterator[FindingRow]:
        """At receipts: places, and the terms that they name."""
        inside = (index >= self.first) & (index <= self.last)
        index, term = index[inside], term[inside]
        run, node, generation = self.whose
        yield FindingRow(run, FACTS, _RECEIPTS, node, generation, amount=len(index))
        at = np.searchsorted(self.firsts, index, side="right") - 1
        lost = (index > self.lasts[at]) | (self.terms[at] != term)
        rolled: Flags = np.zeros(len(index), dtype=np.bool_)
        for first, last in self.gone:
            rolled |= (index >= first) & (index <= last)
        for which, how in ((lost, "is not in"), (rolled & ~lost, "was rolled back in")):
            for place in sorted(set(index[which].tolist())):
                text = f"entry {place} was acknowledged and {how} the log of node {node}"
                yield FindingRow(run, BREACH, _RECEIPTS, node, 0, place, message=text)


def receipts(
    session: "SparkSession",
    paths: Sequence[Path],
    logs: Mapping[Whose, JoinedLog],
    given: ScanContext,
) -> "DataFrame":
    """Of all histories."""
    by_run: dict[str, list[LoggedTerms]] = defaultdict(list)
    for whose, log in logs.items():
        by_run[whose[0]].append(LoggedTerms.of(log, given.confirmed.get(whose, 0)))

    def look(chunk: Chunk) -> Iterator[FindingRow]:
        lines = read(chunk, _LINES)
        index = numbers(lines, "log_index")
        # A transaction that has no number wrote nothing; its place is what it saw.
        writes = ~among(lines, "f", LOOKS)
        writes |= among(lines, "f", ("txn",)) & (numbers(lines, "seq") != 0)
        told = among(lines, "type", ("ok",)) & writes & (index > 0)
        term = np.where(known(lines, "term"), numbers(lines, "term"), -1)
        for log in by_run[chunk.run_id]:
            yield from log.look(index[told], term[told])

    parts = [each for path in paths for each in chunks(path, "ops", "log_index")]
    some = [each for each in parts if each.run_id in by_run]
    return spread(session, some, [each.size for each in some], look)
