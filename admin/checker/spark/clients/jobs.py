"""The histories of any number of bundles in two Spark jobs: an outline of each, then verdicts."""

import pickle  # noqa: TID251 - between tasks of one Spark job, as Spark itself does
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from admin.checker.kernels.logs.outlines import LogOutline
from admin.checker.kernels.logs.slices import Whose
from admin.checker.kinds import ObjectKind
from admin.checker.linear import LINEARIZABLE
from admin.checker.sessions import check_monotonic_reads
from admin.checker.spark.clients.boxes import BOX_DDL
from admin.checker.spark.clients.histories import Outline, ResolvedRequests, outline, spread
from admin.checker.spark.clients.keys import COLUMNS, KeyVerdicts, Terms, operations_of
from admin.checker.spark.clients.pairing import DDL, SCHEMA
from admin.checker.spark.clients.partitions import judge_partition
from admin.checker.spark.scan_context import Batches
from admin.checker.verdict import Verdict, merge
from admin.evidence.manifest import Manifest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OUTLINE = pa.schema([("run_id", pa.string()), ("said", pa.binary())])
PARTITION_OPERATIONS = 250_000
"""The approximate number of operations that are checked together."""


def outlines(session: "SparkSession", paths: Sequence[Path]) -> dict[str, Outline]:
    """Return outlines of histories by run. Raises ValueError for a file that is not a history."""

    def run(batches: Batches) -> Batches:
        for each in batches:
            for number in each.column(0).to_pylist():
                name = Manifest.load(paths[number]).run_id
                rows = [{"run_id": name, "said": pickle.dumps(outline(paths[number]))}]
                yield pa.RecordBatch.from_pylist(rows, schema=_OUTLINE)

    frame = session.range(0, len(paths), 1, len(paths))
    found = frame.mapInArrow(run, "run_id string, said binary").collect()
    known = {row["run_id"]: pickle.loads(row["said"]) for row in found}  # noqa: S301 - our own
    return {name: each for name, each in known.items() if each.count}


def decide(
    manifests: Mapping[str, Manifest],
    outlined: Mapping[str, Outline],
    logs: Mapping[Whose, LogOutline],
) -> dict[str, ResolvedRequests]:
    """The answer of each run's longest confirmed log about its unknown requests."""
    best: dict[str, tuple[int, Whose]] = {}
    for whose, log in logs.items():
        if log.first == 1:
            reach = (log.confirmed, whose)
            best[whose[0]] = max(best.get(whose[0], reach), reach)
    decided = {}
    for run, known in outlined.items():
        applied = logs[best[run][1]].applied if run in best else set()
        complete = run in best and manifests[run].whole and not known.unnamed
        decided[run] = ResolvedRequests(frozenset(known.unknown), frozenset(applied), complete)
    return decided


def judge_histories(
    session: "SparkSession",
    paths: Sequence[Path],
    outlined: Mapping[str, Outline],
    decided: Mapping[str, ResolvedRequests],
    terms: Terms,
) -> dict[str, KeyVerdicts]:
    """The verdicts on the history of every run that has one."""
    if not outlined:
        return {}
    own = [path for path in paths if Manifest.load(path).run_id in outlined]
    sessioned = frozenset(run for run, each in outlined.items() if each.sessioned)
    count = sum(each.count for each in outlined.values())
    partitions = max(4, count // PARTITION_OPERATIONS + 1)
    boxes = session.range(0, len(own), 1, len(own)).mapInArrow(
        spread(own, outlined, decided, partitions), BOX_DDL
    )
    fs = {run: frozenset(each.fs) for run, each in outlined.items()}
    judge = judge_partition(terms, sessioned, fs)
    judged = boxes.repartition(partitions, "box").mapInArrow(judge, DDL)
    if sessioned:
        judged = judged.repartition(partitions, "run_id", "session").mapInArrow(sessions, DDL)
    found: dict[str, list[KeyVerdicts]] = defaultdict(list)
    for row in judged.select("run_id", "said").collect():
        found[row["run_id"]].append(KeyVerdicts.unpacked(bytes(row["said"])))
    return {run: together(found[run]) for run in outlined}


def together(told: Iterable[KeyVerdicts]) -> KeyVerdicts:
    """The verdicts on the keys of one run, merged."""
    kinds: set[ObjectKind] = set()
    verdicts: dict[str, list[Verdict]] = defaultdict(list)
    for each in told:
        kinds.update(each.kinds)
        for verdict in each.verdicts:
            verdicts[verdict.invariant].append(verdict)
    if kinds != {ObjectKind.LIST_APPEND}:
        verdicts.setdefault(LINEARIZABLE, [])
    merged = tuple(merge(name, each) for name, each in sorted(verdicts.items(), key=_order))
    return KeyVerdicts(tuple(sorted(kinds)), merged)


def _order(item: tuple[str, list[Verdict]]) -> tuple[bool, str]:
    return item[0] != LINEARIZABLE, item[0]


def sessions(batches: Batches) -> Batches:
    """Reads of whole sessions, with the dates of their values; verdicts pass through."""
    sessions: dict[tuple[str, str], list[pa.Table]] = defaultdict(list)
    for each in batches:
        table = pa.Table.from_batches([each])
        is_said = table.column("said").is_valid()
        yield from table.filter(is_said).to_batches()
        reads = table.filter(pc.invert(is_said))
        names = zip(*(reads.column(c).to_pylist() for c in ("run_id", "session")), strict=True)
        places: dict[tuple[str, str], list[int]] = defaultdict(list)
        for at, name in enumerate(names):
            places[name].append(at)
        for name, mine in places.items():
            sessions[name].append(reads.take(pa.array(mine)))
    for (run, _), tables in sessions.items():
        verdict = _monotonic(pa.concat_tables(tables))
        rows = [{"run_id": run, "said": KeyVerdicts((), (verdict,)).packed()}]
        yield pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def _monotonic(reads: pa.Table) -> Verdict:
    """Check that the reads of one session never go back."""
    columns = [reads.column(name).to_pylist() for name in COLUMNS]
    operations = operations_of(zip(*columns, strict=True))
    pairs = zip(reads.column("number").to_pylist(), reads.column("date").to_pylist(), strict=True)
    dated = dict(pairs)
    return check_monotonic_reads(operations, lambda read: dated[read.number])
