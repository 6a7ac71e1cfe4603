"""A feed of changes is ordered, gives everything once, and nothing that was rolled back."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from admin.checker.kernels.arrays import Flags, Numbers
from admin.checker.rules import feeds as rules
from admin.checker.rules.feeds import USER_SPACE_MIN
from admin.checker.spark.arrays import among, known, numbers
from admin.checker.spark.chunks import Chunk, chunks, read, spread
from admin.checker.spark.job_schema import BREACH, FACTS, FindingRow, LogRow, RolledRow
from admin.evidence.manifest import Manifest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ID = "feed-complete"
SPAN = 1 << 20
"""Entries of the log that are looked at together."""
_ANSWERS = ("reader", "number", "after", "upto")
_ENTRIES = ("node", "generation", "index", "term", "kind", "space")


@dataclass(frozen=True, slots=True)
class Longest:
    """The first of the longest confirmed logs of a run, and what is rolled back there."""

    node: int
    generation: int
    upto: int
    gone: Numbers


@dataclass(frozen=True, slots=True)
class FeedAnswers:
    """A part of those of a run, or only how all of them follow one another."""

    log: Longest
    feeds: tuple[Chunk, ...]
    entries: tuple[Chunk, ...] = ()
    span: int = SPAN


@dataclass(frozen=True, slots=True)
class ConfirmedTransactions:
    """Confirmed transactions of a log; `due`: places of those that no feed may leave out."""

    index: Numbers
    term: Numbers
    due: Numbers

    def lacks(self, index: Numbers, term: Numbers) -> bool:
        """Something is not there."""
        at = np.searchsorted(self.index, index)
        end = len(self.index)
        if end and (np.diff(self.index) > 0).all():
            at = np.minimum(at, end - 1)
            return bool(((self.index[at] != index) | (self.term[at] != term)).any())
        return not self.places().issuperset(zip(index.tolist(), term.tolist(), strict=True))

    def missed(self, index: Numbers, after: int, upto: int) -> bool:
        """Something that is due is not among these."""
        return bool(np.setdiff1d(self.due_in(after, upto), index).size)

    def due_in(self, after: int, upto: int) -> list[int]:
        """Those above the first place, up to the last."""
        first, end = np.searchsorted(self.due, (after + 1, upto + 1)).tolist()
        found: list[int] = self.due[first:end].tolist()
        return found

    def places(self) -> set[tuple[int, int]]:
        """Index and term of all of them."""
        return set(zip(self.index.tolist(), self.term.tolist(), strict=True))


def feeds(
    session: "SparkSession",
    paths: Sequence[Path],
    known: Iterable[LogRow],
    rolled: Iterable[RolledRow],
) -> "DataFrame":
    """Answers against one another, and against the first of the longest confirmed logs."""
    logs = longest(known, rolled)
    jobs = [job for path in paths for job in plan(path, logs)]
    sizes = [each.feeds[0].size for each in jobs]
    return spread(session, jobs, sizes, look)


def plan(path: Path, logs: Mapping[str, Longest], span: int = SPAN) -> Iterator[FeedAnswers]:
    """How the answers follow one another, and each part of them beside the log."""
    log = logs.get(Manifest.load(path).run_id)
    answers = tuple(chunks(path, "feeds", "number"))
    if log is None or not answers:
        return
    entries = tuple(chunks(path, "wal", "index"))
    yield FeedAnswers(log, answers)
    for each in answers:
        yield FeedAnswers(log, (each,), entries, span)


def look(answers: FeedAnswers) -> Iterator[FindingRow]:
    """At some of them."""
    run = answers.feeds[0].run_id
    if not answers.entries:
        facts, odd = order(answers.feeds)
        yield FindingRow(run, FACTS, _ID, amount=facts)
    else:
        odd = list(wrong(answers))
    for index, number in odd:
        text = f"answer {number} of a feed is not what the log has at {index}"
        yield FindingRow(run, BREACH, _ID, index=index, message=text)


def order(feeds: Sequence[Chunk]) -> tuple[int, list[tuple[int, int]]]:
    """How many answers there are; and where some do not go on as the one before ended, and which.

    That is the first index that was left out, or given again.
    """
    tables = [read(each, _ANSWERS) for each in feeds]
    columns = (np.concatenate([numbers(each, name) for each in tables]) for name in _ANSWERS)
    reader, number, after, upto = columns
    at = np.lexsort((number, reader))
    same = np.diff(reader[at]) == 0
    broken = same & (upto[at][:-1] != after[at][1:])
    places = np.minimum(upto[at][:-1], after[at][1:])[broken] + 1
    return len(at), list(zip(places.tolist(), number[at][1:][broken].tolist(), strict=True))


def wrong(answers: FeedAnswers) -> Iterator[tuple[int, int]]:
    """Where answers are not what the log has, and which."""
    (chunk,) = answers.feeds
    table = read(chunk, (*_ANSWERS, "places"))
    after, upto, number = (numbers(table, name) for name in ("after", "upto", "number"))
    places = table.column("places")
    inside = np.flatnonzero(upto <= answers.log.upto)
    inside = inside[np.argsort(after[inside], kind="stable")]
    while len(inside):
        # As many as end within a span; the first one, wherever it ends.
        ends = np.maximum.accumulate(upto[inside])
        some = max(
            int(np.searchsorted(ends, int(after[inside[0]]) + answers.span, side="right")), 1
        )
        here, inside = inside[:some], inside[some:]
        given = _given(answers, int(after[here[0]]) + 1, int(ends[some - 1]))
        for at in here.tolist():
            text, begin, end = places[at].as_py(), int(after[at]), int(upto[at])
            if _is_odd(text, given, begin, end):
                row: dict[str, object] = {
                    "after": begin,
                    "upto": end,
                    "places": json.loads(text or "null"),
                }
                yield rules.wrong(row, given.places(), given.due_in(begin, end))[0], int(number[at])


def _is_odd(text: str | None, given: ConfirmedTransactions, after: int, upto: int) -> bool:
    listed = json.loads(text or "null")
    listed = listed if isinstance(listed, list) else []
    places = np.array(listed, dtype=np.int64).reshape(-1, 2)
    index, term = places[:, 0], places[:, 1]
    if len(index) and not (after < index[0] and index[-1] <= upto and (np.diff(index) > 0).all()):
        return True
    return given.lacks(index, term) or given.missed(index, after, upto)


def _given(answers: FeedAnswers, first: int, last: int) -> ConfirmedTransactions:
    log = answers.log
    none = np.empty(0, dtype=np.int64)
    found: list[tuple[Numbers, Numbers, Flags]] = [(none, none, none.astype(np.bool_))]
    for chunk in answers.entries:
        part = chunk.part
        own = part.node in {None, log.node} and part.generation in {None, log.generation}
        if not own or not chunk.meets(first, last):
            continue
        table = read(chunk, _ENTRIES)
        index, node = numbers(table, "index"), numbers(table, "node")
        kept = (node == log.node) & (numbers(table, "generation") == log.generation)
        kept &= (index >= first) & (index <= min(last, log.upto)) & among(table, "kind", ("TXN",))
        kept &= ~np.isin(index, log.gone)
        due = known(table, "space") & (numbers(table, "space") >= USER_SPACE_MIN)
        found.append((index[kept], numbers(table, "term")[kept], due[kept]))
    index, term, due = (np.concatenate(each) for each in zip(*found, strict=True))
    order = np.argsort(index, kind="stable")
    index, term, due = index[order], term[order], due[order]
    return ConfirmedTransactions(index, term, index[due])


def longest(logs: Iterable[LogRow], rolled: Iterable[RolledRow]) -> dict[str, Longest]:
    """By run; runs without a whole log have none."""
    best: dict[str, tuple[int, int, int]] = {}
    for row in logs:
        upto = min(row.confirmed, row.last)
        if row.first == 1 and upto > 0:
            log = (-upto, row.node, row.generation)
            best[row.run_id] = min(log, best.get(row.run_id, log))
    gone: dict[str, list[int]] = defaultdict(list)
    for each in rolled:
        if best.get(each.run_id, ())[1:] == (each.node, each.generation):
            gone[each.run_id].append(each.index)
    return {
        run: Longest(node, generation, -upto, np.array(gone[run], dtype=np.int64))
        for run, (upto, node, generation) in best.items()
    }
