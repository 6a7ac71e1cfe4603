"""Compares two runs of a drill, and the spread of many."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from admin.drills import report
from admin.drills.expectations import NOT_PASSED, scale_of, show
from admin.drills.probes import MeasureUnit
from admin.drills.record import RunEnd
from admin.drills.report_tables import table, text
from qsync.errors import ConfigError

NOISE_S = 0.02
"""A time that grew by less than this counts as unchanged: smaller differences are noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureComparison:
    """One measure before and after; the medians if there were several runs."""

    name: str
    before: float
    after: float
    worse: bool

    def as_json(self) -> dict[str, object]:
        """Return it for scripts."""
        return asdict(self)

    def describe(self) -> str:
        """Return it as a line for people."""
        scale = scale_of(self.name)
        mark = "  WORSE" if self.worse else ""
        return f"{self.name:<20} {show(self.before, scale)} -> {show(self.after, scale)}{mark}"


@dataclass(frozen=True, slots=True)
class RunSeries:
    """One or more runs of a drill."""

    reports: tuple[Mapping[str, object], ...]

    @property
    def middle(self) -> Mapping[str, object]:
        """The run with the median RTO."""
        by_rto = sorted(self.reports, key=lambda each: _measures(each).get("rto") or 0.0)
        return by_rto[(len(by_rto) - 1) // 2]

    @property
    def not_passed(self) -> float:
        """The share of the runs that did not pass."""
        bad = sum(text(each, "verdict") != RunEnd.PASSED for each in self.reports)
        return bad / len(self.reports)

    @property
    def medians(self) -> dict[str, float]:
        """The median of every measure."""
        found = spread([_measures(each) for each in self.reports])
        return {name: each["median"] for name, each in found.items()}


def read_series(path: Path) -> RunSeries:
    """Read one report, or all reports one directory below. Raises ConfigError."""
    single = path.is_file() or (path / report.FILE).is_file()
    places = [path] if single else sorted(each.parent for each in path.glob(f"*/{report.FILE}"))
    if not places:
        raise ConfigError(f"{path}: there is no drill report in it")
    reports = tuple(report.load(place) for place in places)
    drills = {text(each, "drill") for each in reports}
    if len(drills) > 1:
        raise ConfigError(f"{path}: reports of different drills: {', '.join(sorted(drills))}")
    return RunSeries(reports)


def compare(before: RunSeries, after: RunSeries, threshold: float) -> list[MeasureComparison]:
    """Compare every measure that both have. Lower is better for all of them.

    If a run did not pass, the share of such runs is compared too: what a run could not measure is
    in no other row.
    """
    old, new = before.medians, after.medians
    measured = [
        MeasureComparison(
            name=name,
            before=old[name],
            after=new[name],
            worse=_worse(old[name], new[name], threshold, scale_of(name)),
        )
        for name in old
        if name in new
    ]
    return measured + _not_passed(before, after)


def spread(runs: Sequence[Mapping[str, float | None]]) -> dict[str, dict[str, float]]:
    """Return smallest, median, 90 % and largest value of every measure."""
    found: dict[str, dict[str, float]] = {}
    for name in runs[0] if runs else ():
        values = sorted(value for run in runs if (value := run.get(name)) is not None)
        if values:
            found[name] = {
                "min": values[0],
                "median": statistics.median(values),
                "p90": values[min(len(values) - 1, int(len(values) * 0.9))],
                "max": values[-1],
            }
    return found


def _not_passed(before: RunSeries, after: RunSeries) -> list[MeasureComparison]:
    old, new = before.not_passed, after.not_passed
    if not old and not new:
        return []
    return [MeasureComparison(name=NOT_PASSED, before=old, after=new, worse=new > old)]


def _worse(before: float, after: float, threshold: float, scale: MeasureUnit) -> bool:
    noise = NOISE_S if scale is MeasureUnit.SECONDS else 0.0
    return after > before * (1 + threshold) + noise


def _measures(found: Mapping[str, object]) -> dict[str, float | None]:
    return {
        name: float(value) if isinstance(value, int | float) else None
        for name, value in table(found, "measures").items()
    }
