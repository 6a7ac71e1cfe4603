"""Bundles checked on Spark, with the same reports as in one process."""

import contextlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from admin.checker.elle import IsolationLevel
from admin.checker.kernels.logs.outlines import LogOutline
from admin.checker.kernels.logs.slices import Whose
from admin.checker.kinds import Hints
from admin.checker.linear import STEPS_MAX
from admin.checker.quick import CheckedInvariant, HistoryReport
from admin.checker.readers import HistoryFormat
from admin.checker.rules.catalogue import BY_ID
from admin.checker.rules.parts import check_counts
from admin.checker.rules.rule import RuleFinding
from admin.checker.spark import file_checksums
from admin.checker.spark.clients.jobs import decide, judge_histories, outlines
from admin.checker.spark.clients.keys import KeyVerdicts, Terms
from admin.checker.spark.counted import CountedOperations
from admin.checker.spark.failures import NoSpark
from admin.checker.spark.judge import judge, verdicts
from admin.checker.spark.progress import SparkStage, Tell, silent, watched
from admin.checker.spark.proofs import prove
from admin.checker.spark.session import using_session
from admin.evidence.arrow import check_files
from admin.evidence.bundle import Bundle
from admin.evidence.manifest import AGAIN, ANEW, Manifest, NoEvidence

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CAUSE = re.compile(r"(?m)^([A-Za-z_][\w.]*(?:Error|Exception|NoEvidence)): (.+)$")
"""The last line of a Python traceback, which Spark shows among many lines of Java."""


def check_bundles(
    paths: Sequence[Path],
    hints: Hints | None = None,
    *,
    level: IsolationLevel = IsolationLevel.STRICT_SERIALIZABLE,
    steps_max: int = STEPS_MAX,
    spark: str | None = None,
    settings: Mapping[str, str] | None = None,
    session: "SparkSession | None" = None,
    tell: Tell = silent,
) -> list[HistoryReport]:
    """Check the logs and histories of all bundles in the same few jobs.

    `spark` says where (see `open_session`); the default is `session`, or the existing session, if
    any. Raises NoEvidence, NoJava, NoSpark (also for an invalid history).
    """
    bundles = [Bundle.open(path) for path in paths]
    large = file_checksums.is_large(bundles)
    for each in bundles:
        if large:
            each.check_logs()
        else:
            each.check_whole()
        check_files(each)
    runs = [each.manifest.run_id for each in bundles]
    terms = Terms(hints or Hints(), level, steps_max)
    tell(SparkStage("starting Spark"))
    found: dict[int, HistoryReport] = {}
    with (
        _session(session, spark, settings) as opened,
        ended_well(),
        watched(opened, tell, "judging"),
    ):
        if large:
            file_checksums.check(opened, bundles)
        for places in _rounds(runs):
            # A reader elsewhere has another working directory.
            some = [paths[place].absolute() for place in places]
            judged = _judge(opened, some, terms)
            share = judged.seconds / (len(BY_ID) * len(some))
            for place in places:
                found[place] = _report(paths[place], runs[place], judged, share)
    for each in bundles:
        check_counts(each)
    return [found[place] for place in range(len(paths))]


def _session(
    session: "SparkSession | None", spark: str | None, settings: Mapping[str, str] | None
) -> "contextlib.AbstractContextManager[SparkSession]":
    if session is not None:
        return contextlib.nullcontext(session)
    return using_session(spark, settings=settings)


def _rounds(runs: Sequence[str]) -> list[list[int]]:
    """Groups of runs that are checked together: all at once, but equal names separately.

    Tables identify a run by its name, and two dumps into folders with one name have the same.
    """
    rounds: list[list[int]] = []
    seen: dict[str, int] = {}
    for place, run in enumerate(runs):
        turn = seen.get(run, 0)
        seen[run] = turn + 1
        rounds += [[] for _ in range(turn + 1 - len(rounds))]
        rounds[turn].append(place)
    return rounds


def _report(path: Path, run: str, judged: "_Judged", share: float) -> HistoryReport:
    told = judged.told.get(run, KeyVerdicts((), ()))
    logs = [
        CheckedInvariant(verdict=verdict, seconds=share, says=BY_ID[verdict.invariant].title)
        for verdict in verdicts(judged.found[run])
    ]
    return HistoryReport(
        file=str(path),
        format=HistoryFormat.OURS,
        kinds=told.kinds,
        operations=CountedOperations(judged.counts.get(run, 0)),
        checked=(*logs, *(CheckedInvariant(verdict=each, seconds=share) for each in told.verdicts)),
    )


@dataclass(frozen=True, slots=True)
class _Judged:
    """Findings about logs and verdicts on histories, by run, and their numbers of operations."""

    found: dict[str, dict[str, RuleFinding]]
    told: dict[str, KeyVerdicts]
    counts: dict[str, int]
    seconds: float


def _judge(session: "SparkSession", paths: Sequence[Path], terms: Terms) -> _Judged:
    begun = time.perf_counter()
    known = outlines(session, paths)
    logs: dict[Whose, LogOutline] = {}
    unknown = {run: each.unknown for run, each in known.items()}
    found = judge(session, paths, unknown=unknown, keep=logs)
    prove(paths, found)
    manifests = {each.run_id: each for each in map(Manifest.load, paths)}
    decided = decide(manifests, known, logs)
    told = judge_histories(session, paths, known, decided, terms)
    counts = {run: each.count for run, each in known.items()}
    return _Judged(found, told, counts, time.perf_counter() - begun)


@contextlib.contextmanager
def ended_well() -> Iterator[None]:
    """Turn Spark's error for a failed job into one line. Raises NoSpark, NoEvidence."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        found = _no_evidence(error)
        if found is not None:
            raise found from error
        raise NoSpark(_told(error), hint=_HINT) from error


_HINT = (
    "elsewhere than here executors need a Python with pyarrow and pandas, and must see the bundles "
    "at the same path (`qsync help check-anywhere`)"
)


def _no_evidence(error: Exception) -> NoEvidence | None:
    """Damage that a task found, with its own message."""
    causes = _CAUSE.findall(str(error))
    if not causes or not causes[-1][0].endswith(NoEvidence.__name__):
        return None
    text = causes[-1][1].removeprefix(f"{NoEvidence.code}: ")
    # The hint comes after the message.
    hint = next((each for each in (ANEW, AGAIN) if text.endswith(f" ({each})")), "")
    return NoEvidence(text.removesuffix(f" ({hint})"), hint=hint)


def _told(error: Exception) -> str:
    """Why a job ended, in one line."""
    text = str(error)
    causes = _CAUSE.findall(text)
    if causes:
        kind, message = causes[-1]
        return f"Spark ended the job: {kind.rpartition('.')[2]}: {message}"
    return f"Spark ended the job: {(text.splitlines() or [type(error).__name__])[0]}"
