"""The result of a check: DataFrames of verdicts and violations, a page, pictures of runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from typing_extensions import override

import qsync
from admin.checker.frames.schemas import VERDICTS, VIOLATIONS
from admin.checker.quick import HistoryReport, summary
from admin.checker.report import timeline
from admin.checker.report.page import Circumstances, render
from admin.checker.report.places import PlacedViolation, placed
from admin.checker.report.sentence import summed
from admin.checker.report.story import Story, tell
from admin.checker.report.violations import SCHEMA, rows_of_report
from admin.checker.verdict import EXAMPLES_MAX, Result, overall
from admin.evidence.bundle import Bundle
from admin.evidence.tables import RUN
from admin.html.page import table
from qsync.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WHERE = "judged on Spark"
_STYLE = """
svg { --good: #1f6fb2; --bad: #c9480c; --ink: #1b1f24; --muted: #5b6570; --soft: #d9dee4; }
svg text { font: 11px system-ui, sans-serif; fill: currentColor; }
"""
_VERDICTS = pa.schema(
    [
        *((name, pa.string()) for name in (RUN, "source", "invariant", "title", "verdict")),
        ("facts", pa.int64()),
        ("violations", pa.int64()),
        ("note", pa.string()),
        ("seconds", pa.float64()),
    ]
)


@dataclass(frozen=True, slots=True)
class RunPicture:
    """A drawing that notebooks show automatically; `svg` is a complete SVG file."""

    svg: str = field(repr=False)

    def _repr_svg_(self) -> str:
        """For notebooks."""
        return self.svg


@dataclass(frozen=True, repr=False)
class EvidenceResult:
    """The verdicts on some runs. `reports` and `paths` are by run.

    ```python
    result = evidence.check()
    result.verdict  # "pass", "fail" or "unknown"
    result.verdicts.where("verdict != 'pass'").show()
    result.violations.toPandas()
    ```
    """

    session: "SparkSession"
    reports: Mapping[str, HistoryReport]
    paths: Mapping[str, Path]

    @property
    def verdict(self) -> Result:
        """The verdict on all runs: fail if any is, else unknown if any is or there are no facts."""
        return overall(each.result for each in self.reports.values())

    @property
    def sentence(self) -> str:
        """The verdict as a sentence."""
        return summed(list(self.reports.values()))

    @property
    def verdicts(self) -> "DataFrame":
        """A row for each run and rule, see `VERDICTS`."""
        rows = [
            {
                RUN: run,
                "source": report.file,
                "invariant": each.verdict.invariant,
                "title": each.title,
                "verdict": each.verdict.result.value,
                "facts": each.verdict.facts,
                "violations": each.verdict.count,
                "note": each.verdict.note or None,
                "seconds": each.seconds,
            }
            for run, report in self.reports.items()
            for each in report.checked
        ]
        return self.session.createDataFrame(
            pa.Table.from_pylist(rows, schema=_VERDICTS), schema=VERDICTS
        )

    @property
    def violations(self) -> "DataFrame":
        """A row for each violation that was kept, see `VIOLATIONS`."""
        rows = [
            row | {RUN: run}
            for run, report in self.reports.items()
            for row in rows_of_report(report)
        ]
        return self.session.createDataFrame(
            pa.Table.from_pylist(rows, schema=SCHEMA), schema=VIOLATIONS
        )

    def save_html(self, file: str | Path) -> Path:
        """Write an HTML report in one self-contained file, as `qsync check --html`.

        Raises OSError.
        """
        seconds = sum(each.seconds for each in self.reports.values())
        place = Path(file)
        how = Circumstances(_WHERE, seconds, qsync.__version__)
        place.write_text(render(list(self.reports.values()), how), encoding="utf-8")
        return place

    def timeline(self, run: str | None = None) -> RunPicture:
        """Return the timeline as a picture: leaders, faults, and the violations.

        `run`: the name of the run, if there are several. Raises ConfigError if the run has no
        bundle.
        """
        story, marks = self._story(run)
        return _picture(timeline.leaders(story, marks, anchor="run"))

    def confirmed(self, run: str | None = None) -> RunPicture:
        """The confirmed index of each node over time. Raises as `timeline` does."""
        return _picture(timeline.confirmed(*self._story(run)))

    @override
    def __repr__(self) -> str:
        return f"EvidenceResult({self.verdict}: {self.sentence})"

    def _repr_html_(self) -> str:
        """For notebooks: the sentence, and the invariants that do not hold."""
        odd = [each for each in summary(self.reports.values()) if each.verdict.count]
        rows = [(escape(e.verdict.invariant), escape(e.title), f"{e.verdict.count:,}") for e in odd]
        heads = ("rule", "says", "violations")
        shown = table(heads, rows, numbers=frozenset({2})) if rows else ""
        return f"<p><b>{self.verdict.value}</b>: {escape(self.sentence)}</p>{shown}"

    def _story(self, run: str | None) -> "tuple[Story, list[PlacedViolation]]":
        name = next(iter(self.reports), "") if run is None else run
        if name not in self.paths or (run is None and len(self.reports) > 1):
            raise ConfigError(
                f"there is no bundle of the run {name!r}",
                hint=f"name one of {', '.join(self.paths) or 'a check of bundles'}",
            )
        bundle = Bundle.open(self.paths[name])
        story = tell(bundle)
        return story, placed(bundle, story, self.reports[name], each_max=EXAMPLES_MAX)


def _picture(drawn: str) -> RunPicture:
    """A drawing of a page as a complete file, with a white background."""
    if not drawn:
        raise ConfigError("the evidence has no times")
    bare = drawn.removeprefix('<div class="wide"><svg ').removesuffix("</svg></div>")
    attributes, _, parts = bare.partition(">")
    look = 'xmlns="http://www.w3.org/2000/svg" style="background: #fff; color: #1b1f24"'
    return RunPicture(
        f"<svg {look} {attributes}><style>{_STYLE}{timeline.STYLE}</style>{parts}</svg>"
    )
