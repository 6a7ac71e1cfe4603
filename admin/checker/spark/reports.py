"""Bundles judged on Spark, as the reports that the other way of judging gives, too."""

import time
from collections.abc import Sequence
from pathlib import Path

from admin.checker import kinds as objects
from admin.checker.bundles import history_of
from admin.checker.elle import Level
from admin.checker.kinds import Hints
from admin.checker.linear import STEPS_MAX
from admin.checker.quick import Checked, Report, check_operations
from admin.checker.readers import Format
from admin.checker.rules.catalogue import BY_ID, load
from admin.checker.spark.judge import judge, verdicts
from admin.checker.spark.session import LOCAL, open_session
from admin.evidence.manifest import Manifest


def check_bundles(
    paths: Sequence[Path],
    hints: Hints | None = None,
    *,
    level: Level = Level.STRICT_SERIALIZABLE,
    steps_max: int = STEPS_MAX,
    spark: str = LOCAL,
) -> list[Report]:
    """All of them in the same few jobs; histories are judged in this process.

    Raises NoEvidence, NoJava, ValueError if a history is none.
    """
    runs = [Manifest.load(path).run_id for path in paths]
    if len(set(runs)) < len(runs):
        raise ValueError(f"bundles of one name cannot be told apart: {', '.join(sorted(runs))}")
    session = open_session(spark=spark)
    try:
        begun = time.perf_counter()
        found = judge(session, paths)
        each = (time.perf_counter() - begun) / (len(BY_ID) * len(paths))
    finally:
        session.stop()
    reports = []
    for path, run in zip(paths, runs, strict=True):
        logs = [
            Checked(verdict=verdict, seconds=each, says=BY_ID[verdict.invariant].title)
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
