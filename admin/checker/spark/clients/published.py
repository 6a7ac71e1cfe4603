"""Histories with published verdicts: one Spark job reads and checks all files."""

import pickle  # noqa: TID251 - between tasks of one Spark job, as Spark itself does
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from admin.checker.kinds import ObjectKind, hints, is_list_append
from admin.checker.labels import LabelComparison, LabelLine, held, unreadable
from admin.checker.operation import Operation, by_key, happened
from admin.checker.quick import CheckedInvariant, HistoryReport, check_file
from admin.checker.readers import HistoryFormat, read
from admin.checker.spark.clients.jobs import together
from admin.checker.spark.clients.keys import KeyVerdicts, Terms, judge_key
from admin.checker.spark.progress import SparkStage, Tell, silent, watched
from admin.checker.spark.reports import ended_well
from admin.checker.spark.scan_context import Batches
from admin.checker.spark.session import using_session

TASKS = 32
_SCHEMA = pa.schema([("file", pa.int64()), ("part", pa.int64()), ("said", pa.binary())])
_DDL = "file bigint, part bigint, said binary"


@dataclass(frozen=True, slots=True)
class File:
    """The content of a file: `some` is an operation, one that happened if any did."""

    format: HistoryFormat
    some: Operation | None


@dataclass(frozen=True, slots=True)
class Object:
    """The operations on one key, and the names of all operations of the file."""

    operations: list[Operation]
    beside: frozenset[str]


def compare_all(
    listed: Sequence[LabelLine],
    *,
    spark: str | None = None,
    settings: Mapping[str, str] | None = None,
    tell: Tell = silent,
) -> list[LabelComparison]:
    """Compare every file with its label. Raises NoJava, NoSpark."""

    def open_(batches: Batches) -> Batches:
        for each in batches:
            for number in each.column(0).to_pylist():
                yield from _batches(number, _opened(listed[number]))

    def judge(batches: Batches) -> Batches:
        for each in batches:
            for row in each.to_pylist():
                said = pickle.loads(row["said"])  # noqa: S301 - of our own tasks
                if isinstance(said, Object):
                    said = _judged(listed[row["file"]], said)
                yield from _batches(row["file"], [(row["part"], said)])

    tell(SparkStage("starting Spark"))
    with (
        using_session(spark, settings=settings or {}) as session,
        ended_well(),
        watched(session, tell, "comparing"),
    ):
        files = session.range(0, len(listed), 1, min(len(listed), TASKS))
        keys = files.mapInArrow(open_, _DDL).repartition(TASKS, "file", "part")
        rows = keys.mapInArrow(judge, _DDL).collect()
    said: dict[int, list[object]] = defaultdict(list)
    for row in rows:
        said[row["file"]].append(pickle.loads(bytes(row["said"])))  # noqa: S301 - of our own tasks
    return [_compared(each, said[number]) for number, each in enumerate(listed)]


def _opened(labelled: LabelLine) -> Iterator[tuple[int, object]]:
    """The keys of a file; or its full verdict, if keys cannot be checked separately."""
    known = hints(labelled.format)
    try:
        history = read(labelled.file.read_text(encoding="utf-8"), known.format)
        operations = history.operations
        whole = known.kind is ObjectKind.LIST_APPEND or (
            known.kind is None and is_list_append(operations)
        )
        if whole:
            yield 0, held(labelled, check_file(labelled.file, known))
            return
    except (OSError, ValueError) as error:
        yield 0, unreadable(labelled, error)
        return
    yield 0, File(history.format, next(iter((*happened(operations), *operations)), None))
    beside = frozenset(each.f for each in operations)
    for part, found in enumerate(by_key(operations).values(), start=1):
        yield part, Object(found, beside)


def _judged(labelled: LabelLine, found: Object) -> KeyVerdicts | LabelComparison:
    try:
        return judge_key(found.operations, Terms(hints(labelled.format)), found.beside)
    except (TypeError, ValueError) as error:
        return unreadable(labelled, error)


def _batches(file: int, parts: Iterator[tuple[int, object]] | list[tuple[int, object]]) -> Batches:
    rows = [{"file": file, "part": part, "said": pickle.dumps(said)} for part, said in parts]
    yield pa.RecordBatch.from_pylist(rows, schema=_SCHEMA)


def _compared(labelled: LabelLine, said: Sequence[object]) -> LabelComparison:
    """Compare the verdicts on a file and on its keys with the label."""
    whole = next((each for each in said if isinstance(each, LabelComparison)), None)
    if whole is not None:
        return whole
    file = next(each for each in said if isinstance(each, File))
    told = together(each for each in said if isinstance(each, KeyVerdicts))
    report = HistoryReport(
        file=str(labelled.file),
        format=file.format,
        kinds=told.kinds,
        operations=[] if file.some is None else [file.some],
        checked=tuple(CheckedInvariant(verdict=each, seconds=0.0) for each in told.verdicts),
    )
    return held(labelled, report)
