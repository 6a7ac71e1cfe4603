"""Evidence from bundles or from your own DataFrames, and verdicts on history files."""

import json
import pickle  # noqa: TID251 - between tasks of one Spark job, as Spark itself does
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from admin.checker.elle import IsolationLevel
from admin.checker.frames import verdicts
from admin.checker.frames.evidence import EvidenceFrames
from admin.checker.frames.named import terms_of
from admin.checker.frames.results import EvidenceResult
from admin.checker.frames.schemas import table_schema
from admin.checker.kinds import ObjectKind
from admin.checker.quick import check_file
from admin.checker.readers import HistoryFormat
from admin.checker.spark.clients.keys import Terms
from admin.checker.spark.counted import CountedOperations
from admin.checker.spark.reports import ended_well
from admin.checker.spark.scan_context import Batches
from admin.checker.spark.session import session_at_hand
from admin.checker.spark.source import QsyncSource
from admin.checker.spark.whole_runs import REPORT, REPORT_DDL
from admin.evidence.bundle import Bundle, is_bundle
from admin.evidence.manifest import Manifest, NoEvidence
from admin.evidence.tables import RUN, TABLES
from qsync.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

ALONE = "history"
"""The run of rows that have no `run_id`."""
TASKS_MAX = 256
"""History files are spread over this many tasks at most."""


def read_bundles(*places: str | Path, spark: "SparkSession | None" = None) -> EvidenceFrames:
    """The tables of evidence bundles; a place is a bundle, or a folder with bundles in it.

    `spark`: the session. The default is the session of this process, or a new one on this machine.
    Raises NoEvidence (no bundle, a damaged one, two with one name), NoJava, NoSpark.

    ```python
    evidence = frames.read_bundles("run")
    everything = frames.read_bundles("campaigns", "drills/leader-kill")
    ```
    """
    bundles: dict[str, Bundle] = {}
    for path in (path for place in places for path in _bundles(Path(place))):
        bundle = Bundle.open(path.absolute())
        twin = bundles.setdefault(bundle.manifest.run_id, bundle)
        if twin is not bundle:
            told = f"{twin.path} and {bundle.path} are both named {bundle.manifest.run_id}"
            raise NoEvidence(told, hint="tables identify a run by its name: read them separately")
    if not bundles:
        raise NoEvidence("no bundle is named", hint="`qsync dump`, drills and demos leave them")
    session = session_at_hand(spark)
    session.dataSource.register(QsyncSource)
    paths = json.dumps([str(each.path) for each in bundles.values()])
    source = session.read.format(QsyncSource.name()).option("paths", paths)
    return EvidenceFrames(
        session=session,
        tables={name: source.option("table", name).load() for name in TABLES},
        manifests={run: each.manifest for run, each in bundles.items()},
        paths={run: each.path for run, each in bundles.items()},
    )


def from_tables(*, manifests: Iterable[Manifest] = (), **tables: "DataFrame") -> EvidenceFrames:
    """Evidence from your DataFrames, such as a history of operations that you recorded.

    Each is fitted to its schema (`table_schema`); rows without `run_id` belong to one run,
    `history`. If a run has no manifest, its nodes are unknown, and rules about nodes are skipped.
    Raises ConfigError: no such table, a column is missing.

    ```python
    ops = spark.read.json("s3a://tests/*/history.jsonl")
    report = frames.from_tables(ops=ops).check(model="register")
    ```
    """
    if not tables:
        raise ConfigError("no table is given", hint=f"known are {', '.join(TABLES)}")
    session = session_at_hand(next(iter(tables.values())).sparkSession)
    known = {name: verdicts.fitted(name, _named(frame)) for name, frame in tables.items()}
    others = {
        name: session.createDataFrame([], table_schema(name)) for name in TABLES.keys() - known
    }
    return EvidenceFrames(
        session=session,
        tables={name: (known | others)[name] for name in TABLES},
        manifests={each.run_id: each for each in manifests},
        paths={},
        changed=True,
    )


def check_histories(
    *files: str | Path,
    spark: "SparkSession | None" = None,
    format: HistoryFormat | str | None = None,
    model: ObjectKind | str | None = None,
    level: IsolationLevel | str = IsolationLevel.STRICT_SERIALIZABLE,
) -> EvidenceResult:
    """Check history files, one task each: Jepsen's EDN and logs, Porcupine's logs, JSON lines.

    `format`, `model` and `level` as in `qsync check`: the default of the first two depends on the
    content. An unreadable file does not end the job: all others are checked first. Executors must
    see the files at the same path. Raises ConfigError (no such format, model or level), NoEvidence
    (the files that are not histories), NoSpark.

    ```python
    report = frames.check_histories(*Path("store").rglob("history.edn"), level="serializable")
    ```
    """
    terms = terms_of(model=model, level=level, format=format)
    paths = [Path(each).absolute() for each in files]
    if not paths:
        raise NoEvidence("no history is named")
    session = session_at_hand(spark)
    task = _judge_files(paths, terms)
    with ended_well():
        numbers = session.range(0, len(paths), 1, min(len(paths), TASKS_MAX))
        rows = numbers.mapInArrow(task, REPORT_DDL).collect()
    said = {row[RUN]: pickle.loads(bytes(row["said"])) for row in rows}  # noqa: S301 - our own
    odd = [each for each in said.values() if isinstance(each, str)]
    if odd:
        raise NoEvidence("; ".join(odd))
    return EvidenceResult(session, {str(path): said[str(path)] for path in paths}, {})


def json_text(column: "Column | str") -> "Column":
    """Plain text as JSON, for the columns `key` and `value`: `a` becomes `"a"`.

    ```python
    ops = rows.withColumn("key", frames.json_text("key"))
    ```
    """
    listed = F.to_json(F.array(column))
    bare = F.substr(listed, F.lit(2), F.length(listed) - 2)
    return F.when(F.isnotnull(column), bare)


def _bundles(place: Path) -> Sequence[Path]:
    """The bundle, or the bundles in the folder. Raises NoEvidence."""
    if is_bundle(place) or not place.is_dir():
        return [place]  # Reading a folder that is not a bundle raises the error.
    found = sorted(each for each in place.iterdir() if is_bundle(each))
    if not found:
        raise NoEvidence(f"{place} is not an evidence bundle, and contains none")
    return found


def _named(frame: "DataFrame") -> "DataFrame":
    if RUN in frame.columns:
        return frame.withColumn(RUN, F.coalesce(F.col(RUN).cast("string"), F.lit(ALONE)))
    return frame.withColumn(RUN, F.lit(ALONE))


def _judge_files(paths: Sequence[Path], terms: Terms) -> Callable[[Batches], Batches]:
    def judge(batches: Batches) -> Batches:
        for each in batches:
            for number in each.column(0).to_pylist():
                row = {RUN: str(paths[number]), "said": pickle.dumps(_said(paths[number], terms))}
                yield pa.RecordBatch.from_pylist([row], schema=REPORT)

    return judge


def _said(path: Path, terms: Terms) -> object:
    """Its report without operations, or the reason why there is none."""
    try:
        report = check_file(path, terms.hints, level=terms.level, steps_max=terms.steps_max)
    except (OSError, ValueError) as error:
        return f"{path}: {error}"
    return replace(report, operations=CountedOperations(len(report.operations)))
