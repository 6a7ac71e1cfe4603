"""Kernels that ask questions: one job for all runs, one task per part of a table."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from admin.checker.kernels.logs.outlines import LogOutline
from admin.checker.kernels.questions import Asking, TableQuestion
from admin.checker.kernels.rolled_back_reads import HIDDEN, hidden
from admin.checker.rules.rule import RuleFinding
from admin.checker.spark.arrays import ArrowTable
from admin.checker.spark.chunks import Chunk, chunks, collected, read, spread
from admin.checker.spark.job_schema import ANSWER, FindingRow
from admin.checker.spark.kernels import finding_rows
from admin.evidence.manifest import Manifest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Job = tuple[Chunk, TableQuestion]


def rolled_back_reads(
    session: "SparkSession", paths: Sequence[Path], logs: Mapping[str, Sequence[LogOutline]]
) -> Iterator[FindingRow]:
    """The final findings."""
    known = {Manifest.load(path).run_id: path for path in paths}

    def ask(jobs: Sequence[Job]) -> Iterator[FindingRow]:
        return collected(spread(session, jobs, [chunk.size for chunk, _ in jobs], look))

    kernels = {run: hidden(logs.get(run, ())) for run in known}
    for run, found in together(kernels, known, ask).items():
        yield from finding_rows(run, HIDDEN, found)


def together(
    kernels: Mapping[str, Asking],
    paths: Mapping[str, Path],
    ask: Callable[[Sequence[Job]], Iterable[FindingRow]],
) -> dict[str, RuleFinding]:
    """Return, by run, the findings of its kernel; each round asks one question of every kernel."""
    found: dict[str, RuleFinding] = {}
    answers: dict[str, list[list[Any]] | None] = dict.fromkeys(kernels)
    while answers:
        jobs: list[Job] = []
        open_: dict[str, list[list[Any]] | None] = {}
        for run, told in answers.items():
            try:
                question = next(kernels[run]) if told is None else kernels[run].send(told)
            except StopIteration as end:
                found[run] = end.value
                continue
            open_[run] = []
            jobs += plan(paths[run], question)
        open_ |= _answers(ask(jobs)) if jobs else {}
        answers = open_
    return found


def plan(path: Path, question: TableQuestion) -> Iterator[Job]:
    """All parts of a table that may have the requested rows."""
    for chunk in chunks(path, question.table, "index"):
        if chunk.meets(question.first, question.last):
            yield chunk, question


def look(job: Job) -> Iterator[FindingRow]:
    """Examine a part."""
    chunk, question = job
    table = ArrowTable(read(chunk, question.columns), question.table)
    for each in question.look(table):
        yield FindingRow(chunk.run_id, ANSWER, message=json.dumps(each))


def _answers(rows: Iterable[FindingRow]) -> dict[str, list[list[Any]]]:
    found: dict[str, list[list[Any]]] = defaultdict(list)
    for each in rows:
        found[each.run_id].append(json.loads(each.message))
    return found
