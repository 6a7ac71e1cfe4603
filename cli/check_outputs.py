"""The output files of a check: a page, a table of violations, a document."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

import qsync
from cli.output import say
from qsync.disk_errors import naming

if TYPE_CHECKING:
    from admin.checker.engine import EngineChoice
    from admin.checker.quick import HistoryReport

_OURS = frozenset({"admin", "cli", "election", "qsync"})


def lacks_extra(error: ImportError, what: str) -> click.UsageError:
    """Return an error that says what to install for `what`; raises for modules of our own."""
    if (error.name or "").partition(".")[0] in _OURS:
        raise error
    return click.UsageError(f"{what} needs `pip install 'qsync-cluster[spark]'`: {error}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOutputs:
    """The requested output files."""

    html: Path | None
    violations: Path | None
    json: Path | None = None

    @classmethod
    def of_options(
        cls, html: Path | None, violations: Path | None, out: Path | None
    ) -> "CheckOutputs":
        """`out` takes everything that has no place of its own. Raises UsageError.

        What cannot be written is said now, and not when hours of judging are over.
        """
        left = cls(html=html, violations=violations)
        if out is not None:
            left = cls(
                html=html or out / "report.html",
                violations=violations or out / "violations",
                json=out / "report.json",
            )
        for each in (left.html, left.violations, left.json):
            _may_write(each)
        if left.violations is not None:
            _with_extra()
        return left

    def leave(
        self,
        reports: "Sequence[HistoryReport]",
        document: str,
        choice: "EngineChoice",
        *,
        seconds: float,
    ) -> None:
        """Write all of it."""
        if self.html is not None:
            _leave_page(self.html, reports, choice, seconds=seconds)
        if self.violations is not None:
            from admin.checker.report.violations import write  # noqa: PLC0415 - needs the extra

            count = write(reports, self.violations)
            say(f"violations: {self.violations}, {count} rows")
        if self.json is not None:
            with naming(self.json):
                self.json.write_text(document + "\n", encoding="utf-8")
            say(f"document: {self.json}")


def _leave_page(
    place: Path, reports: "Sequence[HistoryReport]", choice: "EngineChoice", *, seconds: float
) -> None:
    from admin.checker.report.page import Circumstances, render  # noqa: PLC0415 - only here

    page = render(reports, Circumstances(choice.sentence, seconds, qsync.__version__))
    place.parent.mkdir(parents=True, exist_ok=True)
    with naming(place):
        place.write_text(page, encoding="utf-8")
    say(f"report: {place}")


def _may_write(place: Path | None) -> None:
    """Whether folders that are there let us."""
    if place is None:
        return
    there = next(each for each in (place, *place.absolute().parents) if each.exists())
    if not (there.is_dir() or there == place):
        raise click.UsageError(f"{place} cannot be written: {there} is a file")
    if not os.access(there, os.W_OK):
        raise click.UsageError(f"{place} cannot be written: {there} does not let us")


def _with_extra() -> None:
    try:
        import pyarrow  # noqa: F401, ICN001, PLC0415 - is it there?
    except ImportError as error:
        raise lacks_extra(error, "--violations") from None
