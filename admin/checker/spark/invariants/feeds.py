"""Change feeds: the order of answers, and each file compared with the log."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from admin.checker.kernels import feeds as kernel
from admin.checker.kernels.feeds import FEED, SPAN, ConfirmedTransactions, LongestLog
from admin.checker.kernels.logs.outlines import LogOutline
from admin.checker.spark.arrays import ArrowTable
from admin.checker.spark.chunks import Chunk, chunks, read, spread
from admin.checker.spark.job_schema import FindingRow
from admin.checker.spark.kernels import finding_rows
from admin.evidence.manifest import Manifest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class FeedAnswers:
    """A file of `feeds` to compare with the log; None checks only the order of all answers."""

    log: LongestLog
    feeds: tuple[Chunk, ...]
    beside: Chunk | None = None
    entries: tuple[Chunk, ...] = ()
    span: int = SPAN


def feeds(
    session: "SparkSession", paths: Sequence[Path], logs: Mapping[str, Sequence[LogOutline]]
) -> "DataFrame":
    """Return the columns of feeds of all runs."""
    jobs = [job for path in paths for job in plan(path, logs.get(Manifest.load(path).run_id, ()))]
    sizes = [(each.beside or each.feeds[0]).size for each in jobs]
    return spread(session, jobs, sizes, look)


def plan(path: Path, logs: Sequence[LogOutline], span: int = SPAN) -> Iterator[FeedAnswers]:
    """Check the order of the answers, and compare each part with the log."""
    log, answers = kernel.longest(logs), tuple(chunks(path, "feeds", "number"))
    if log is None or not answers:
        return
    entries = tuple(chunks(path, "wal", "index"))
    yield FeedAnswers(log, answers)
    for each in answers:
        yield FeedAnswers(log, answers, each, entries, span)


def look(answers: FeedAnswers) -> Iterator[FindingRow]:
    """Examine some of them."""
    run = answers.feeds[0].run_id
    if answers.beside is None:
        tables = [ArrowTable(read(each, kernel.ANSWERS), "feeds") for each in answers.feeds]
        yield from finding_rows(run, FEED, kernel.order(tables))
        return

    def preceding(who: int, number: int) -> int | None:
        """Return the previous answers; called only for a wrong one."""
        tables = (ArrowTable(read(each, kernel.ANSWERS), "feeds") for each in answers.feeds)
        return kernel.before(list(tables))(who, number)

    table = ArrowTable(read(answers.beside, kernel.PLACES), "feeds")
    given, log = functools.partial(_given, answers), answers.log
    found = kernel.wrong(table, log, given, preceding, answers.span)
    yield from finding_rows(run, FEED, found)


def _given(answers: FeedAnswers, first: int, last: int) -> ConfirmedTransactions:
    node, generation = answers.log.whose
    tables = (
        ArrowTable(read(chunk, kernel.ENTRIES), "wal")
        for chunk in answers.entries
        if chunk.part.node in {None, node}
        and chunk.part.generation in {None, generation}
        and chunk.meets(first, last)
    )
    return ConfirmedTransactions.of(answers.log, tables, first, last)
