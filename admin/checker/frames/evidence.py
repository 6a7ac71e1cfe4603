"""The tables of any number of runs as DataFrames, and how they are judged."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from typing_extensions import override

from admin.checker.elle import IsolationLevel
from admin.checker.frames import verdicts
from admin.checker.frames.frame_rule import FrameRule
from admin.checker.frames.named import terms_of
from admin.checker.frames.results import EvidenceResult
from admin.checker.frames.schemas import VIOLATIONS
from admin.checker.kinds import ObjectKind
from admin.checker.quick import TITLES, HistoryReport
from admin.checker.rules.catalogue import BY_ID
from admin.checker.spark.clients.keys import Terms
from admin.checker.spark.reports import check_bundles, ended_well
from admin.checker.spark.whole_runs import REPORT_DDL, Task, reports_of, violations_of
from admin.evidence.manifest import Manifest
from admin.evidence.tables import RUN
from qsync.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType


@dataclasses.dataclass(frozen=True, repr=False)
class EvidenceFrames:
    """The evidence of some runs: a lazy DataFrame for each table.

    `manifests` and `paths` are by run: its manifest, and the bundle that it was read from.
    `changed`: a table differs from the bundles.

    ```python
    evidence = frames.read_bundles("runs")
    evidence.ops.where("type = 'info'").groupBy("run_id").count().show()
    ```
    """

    session: "SparkSession"
    tables: "Mapping[str, DataFrame]"
    manifests: Mapping[str, Manifest]
    paths: Mapping[str, Path]
    changed: bool = False

    @property
    def wal(self) -> "DataFrame":
        """A row for each entry of a node's log."""
        return self.tables["wal"]

    @property
    def status(self) -> "DataFrame":
        """The statuses of nodes, a row for each sample."""
        return self.tables["status"]

    @property
    def ops(self) -> "DataFrame":
        """The history of the clients: two rows an operation, its begin and its end."""
        return self.tables["ops"]

    @property
    def events(self) -> "DataFrame":
        """What happened inside of nodes: acks, votes, what is durable."""
        return self.tables["events"]

    @property
    def digests(self) -> "DataFrame":
        """Hashes of the rows of spaces."""
        return self.tables["digests"]

    @property
    def nemesis(self) -> "DataFrame":
        """The injected faults."""
        return self.tables["nemesis"]

    @property
    def feeds(self) -> "DataFrame":
        """The answers that readers of change feeds received."""
        return self.tables["feeds"]

    @override
    def __repr__(self) -> str:
        changed = ", changed" if self.changed else ""
        return f"EvidenceFrames({', '.join(sorted(self.manifests)) or 'rows'}{changed})"

    def with_table(self, name: str, frame: "DataFrame") -> "EvidenceFrames":
        """Return the same evidence with a replaced table: filtered, joined, changed, or your own.

        It is fitted to the schema (`table_schema`): unknown columns are dropped, missing nullable
        columns are added. Raises ConfigError if another column is missing, or there is no such
        table.
        """
        fitted = verdicts.fitted(name, frame)
        return dataclasses.replace(self, tables={**self.tables, name: fitted}, changed=True)

    def where(self, condition: "Column | str") -> "EvidenceFrames":
        """Return the same evidence of some runs only, by a condition on `run_id`."""
        names = self.session.createDataFrame([(name,) for name in self.manifests], [RUN])
        wanted = {row[RUN] for row in names.where(condition).collect()}
        chosen = F.col(RUN).isin(*wanted) if wanted else F.lit(False)  # noqa: FBT003 - Spark's
        return dataclasses.replace(
            self,
            tables={name: frame.where(chosen) for name, frame in self.tables.items()},
            manifests={name: each for name, each in self.manifests.items() if name in wanted},
            paths={name: each for name, each in self.paths.items() if name in wanted},
        )

    def violations(self, *only: str) -> "DataFrame":
        """Violations of the built-in rules, or of these: a lazy DataFrame (`VIOLATIONS`).

        One task checks a whole run, of three million rows at most; `check` checks unchanged bundles
        of any size. Raises ConfigError if there is no such rule.

        ```python
        evidence.violations("log-matching", "one-leader").select("message").show()
        ```
        """
        task = violations_of(self.manifests, Terms(), _known(only))
        return self._by_run(task, VIOLATIONS)

    def check(
        self,
        *own: FrameRule,
        only: Collection[str] = (),
        model: ObjectKind | str | None = None,
        level: IsolationLevel | str = IsolationLevel.STRICT_SERIALIZABLE,
    ) -> EvidenceResult:
        """Check all runs now: every built-in rule or those in `only`, and your own rules.

        `model`, `level`: as `--model` and `--level` of `qsync check`. Unchanged runs are checked in
        parts, however large they are; a changed run is checked by one task. Raises ConfigError (no
        such rule, model or level), NoEvidence (a run is damaged, or too large for a task), NoSpark
        (a job failed).
        """
        terms = terms_of(model=model, level=level)
        wanted = _known(only)
        reports = self._judged_whole(terms, wanted) if self.changed else self._judged(terms, wanted)
        for each in own:
            with ended_well():
                reports = verdicts.with_rule(self, each, reports)
        return EvidenceResult(self.session, reports, dict(self.paths))

    def _judged(self, terms: Terms, only: frozenset[str] | None) -> dict[str, HistoryReport]:
        """From the files of the bundles."""
        paths = list(self.paths.values())
        found = check_bundles(
            paths, terms.hints, level=terms.level, steps_max=terms.steps_max, session=self.session
        )
        reports = dict(zip(self.paths, found, strict=True))
        if only is None:
            return reports
        return {
            run: dataclasses.replace(
                each, checked=tuple(one for one in each.checked if one.verdict.invariant in only)
            )
            for run, each in reports.items()
        }

    def _judged_whole(self, terms: Terms, only: frozenset[str] | None) -> dict[str, HistoryReport]:
        """From the rows of the DataFrames."""
        with ended_well():
            rows = self._by_run(reports_of(self.manifests, terms, only), REPORT_DDL).collect()
        return verdicts.unpacked(rows)

    def _by_run(self, task: Task, schema: "StructType | str") -> "DataFrame":
        """One task per run, on all of its rows."""
        return verdicts.rows(self.tables).groupBy(RUN).applyInArrow(task, schema)


def _known(only: Iterable[str]) -> frozenset[str] | None:
    """Return None, which means all, for no ids. Raises ConfigError."""
    wanted = frozenset(only)
    odd = sorted(wanted - BY_ID.keys() - TITLES.keys())
    if odd:
        raise ConfigError(f"there is no rule {odd[0]!r}", hint="`frames.RULES` has their ids")
    return wanted or None
