"""Bundles judged on Spark, as the reports that the other way of judging gives, too."""

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from admin.checker import kinds as objects
from admin.checker.bundles import history_of
from admin.checker.elle import Level
from admin.checker.kinds import Hints
from admin.checker.linear import STEPS_MAX
from admin.checker.quick import Checked, Report, check_operations
from admin.checker.readers import Format
from admin.checker.rules.catalogue import BY_ID, load
from admin.checker.rules.rule import Finding
from admin.checker.spark.failures import NoSpark
from admin.checker.spark.judge import judge, verdicts
from admin.checker.spark.progress import Moment, Tell, silent, watched
from admin.checker.spark.session import using_session
from admin.evidence.manifest import Manifest

_CAUSE = re.compile(r"(?m)^([A-Za-z_][\w.]*(?:Error|Exception|NoEvidence)): (.+)$")
"""The last line of a Python traceback; Spark shows one among many lines of Java's."""


def check_bundles(
    paths: Sequence[Path],
    hints: Hints | None = None,
    *,
    level: Level = Level.STRICT_SERIALIZABLE,
    steps_max: int = STEPS_MAX,
    spark: str | None = None,
    settings: Mapping[str, str] | None = None,
    tell: Tell = silent,
) -> list[Report]:
    """All of them in the same few jobs; histories are judged in this process.

    `spark` says where (see `open_session`); without it, in the session that there is, if any.
    Raises NoEvidence, NoJava, NoSpark, ValueError if a history is none.
    """
    runs = [Manifest.load(path).run_id for path in paths]
    if len(set(runs)) < len(runs):
        raise ValueError(f"bundles of one name cannot be told apart: {', '.join(sorted(runs))}")
    found, seconds = _judged(paths, spark, settings or {}, tell)
    share = seconds / (len(BY_ID) * len(paths))
    reports = []
    for path, run in zip(paths, runs, strict=True):
        tell(Moment(f"checking what the clients of {run} were told"))
        logs = [
            Checked(verdict=verdict, seconds=share, says=BY_ID[verdict.invariant].title)
            for verdict in verdicts(found[run])
        ]
        operations = history_of(load(path))
        kinds: tuple[objects.Kind, ...] = ()
        clients: tuple[Checked, ...] = ()
        if operations:
            kinds, clients = check_operations(operations, hints or Hints(), level, steps_max)
        report = Report(
            file=str(path),
            format=Format.OURS,
            kinds=kinds,
            operations=operations,
            checked=(*logs, *clients),
        )
        reports.append(report)
    return reports


def _judged(
    paths: Sequence[Path], spark: str | None, settings: Mapping[str, str], tell: Tell
) -> tuple[dict[str, dict[str, Finding]], float]:
    """By run and invariant; and the seconds that it took once Spark was there."""
    tell(Moment("starting Spark"))
    with using_session(spark, settings=settings) as session:
        begun = time.perf_counter()
        try:
            with watched(session, tell, "judging"):
                found = judge(session, paths)
        except (PySparkException, Py4JError) as error:
            raise NoSpark(_told(error), hint=_HINT) from error
        return found, time.perf_counter() - begun


_HINT = (
    "elsewhere than here executors need a Python with pyarrow and pandas, and must see the bundles "
    "at the same path: docs/how-to/check-anywhere.md"
)


def _told(error: Exception) -> str:
    """Why a job ended, in a line."""
    text = str(error)
    causes = _CAUSE.findall(text)
    if causes:
        kind, message = causes[-1]
        return f"Spark ended the job: {kind.rpartition('.')[2]}: {message}"
    return f"Spark ended the job: {(text.splitlines() or [type(error).__name__])[0]}"
