"""How `qsync check` has its sources judged: by which engine, and then by it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.check_outputs import lacks_extra
from cli.output import say, style
from cli.render import waiting

if TYPE_CHECKING:
    from admin.checker.elle import IsolationLevel
    from admin.checker.engine import EngineChoice
    from admin.checker.kinds import Hints
    from admin.checker.quick import HistoryReport
    from cli.check_sources import CheckSource

ON_SPARK = "the check on Spark"


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """How to judge histories."""

    hints: "Hints"
    level: "IsolationLevel"
    steps: int

    @classmethod
    def of_options(
        cls, format_: str | None, model: str | None, level: str, steps: int | None
    ) -> "CheckOptions":
        """The options as given; the content of a history decides what was left out."""
        from admin.checker.elle import IsolationLevel  # noqa: PLC0415 - only here, slow to import
        from admin.checker.kinds import Hints, ObjectKind  # noqa: PLC0415 - the same
        from admin.checker.linear import STEPS_MAX  # noqa: PLC0415 - the same
        from admin.checker.readers import HistoryFormat  # noqa: PLC0415 - the same

        hints = Hints(
            format=None if format_ is None else HistoryFormat(format_),
            kind=None if model is None else ObjectKind(model),
        )
        return cls(hints, IsolationLevel(level), steps or STEPS_MAX)


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """The engine options: its name, the number of rows from which on it is Spark, and where."""

    engine: str
    spark_from: int | None
    master: str | None
    settings: dict[str, str]

    def choose(self, paths: Sequence[Path]) -> "EngineChoice":
        """For these bundles and histories; says a choice of its own in a line. Raises NoSpark."""
        from admin.checker.engine import (  # noqa: PLC0415 - only here, slow to import
            CheckEngine,
            EngineChoice,
            EngineLimits,
            choose_engine,
            rows_in,
        )

        asked = CheckEngine(self.engine)
        limits = EngineLimits.of_this_machine(
            spark_from=self.spark_from, url=self.master, settings=bool(self.settings)
        )
        by_size = asked is CheckEngine.AUTO and not limits.named
        if by_size and not paths:
            choice = EngineChoice(CheckEngine.QUICK, "histories alone; Spark judges bundles")
        else:
            choice = choose_engine(asked, rows_in(paths) if by_size else 0, limits)
        if by_size:
            say(choice.sentence)
        return choice


def judge_sources(
    sources: Sequence[Path], how: CheckOptions, asked: EngineOptions
) -> "tuple[EngineChoice, list[HistoryReport]]":
    """Check every source with the requested engine, or with one that suits their size.

    Histories are checked in this process; Spark refuses them. Raises NoEvidence.
    """
    from admin.checker.engine import CheckEngine  # noqa: PLC0415 - only here, slow to import
    from cli.check_sources import CheckSource, history_needs_quick, source_of  # noqa: PLC0415 - the same

    kinds = [source_of(each) for each in sources]
    histories = [e for e, kind in zip(sources, kinds, strict=True) if kind is CheckSource.HISTORY]
    if asked.engine == CheckEngine.SPARK and histories:
        raise history_needs_quick(histories[0])
    bundles = [each for each in sources if each not in histories]
    choice = asked.choose(bundles)
    if choice.engine is CheckEngine.QUICK:
        return choice, _in_process(sources, kinds, how)
    if not bundles:
        raise history_needs_quick(histories[0])
    found = dict(zip(bundles, _on_spark(bundles, how, asked), strict=True))
    here = [CheckSource.HISTORY] * len(histories)
    found |= dict(zip(histories, _in_process(histories, here, how), strict=True))
    return choice, [found[each] for each in sources]


def _in_process(
    sources: Sequence[Path], kinds: "Sequence[CheckSource]", how: CheckOptions
) -> "list[HistoryReport]":
    reports = []
    with waiting.working(plain=style().plain) as tell:
        for number, (source, kind) in enumerate(zip(sources, kinds, strict=True), start=1):
            if tell is not None:
                tell(f"judging {source} ({number} of {len(sources)})")
            reports.append(_judge(source, kind, how))
    return reports


def _judge(source: Path, kind: "CheckSource", how: CheckOptions) -> "HistoryReport":
    from admin.checker import bundles  # noqa: PLC0415 - only here, slow to import
    from admin.checker import quick as checks  # noqa: PLC0415 - the same
    from admin.evidence.manifest import NoEvidence  # noqa: PLC0415 - the same
    from cli.check_sources import CheckSource  # noqa: PLC0415 - the same

    judge = bundles.check_bundle if kind is CheckSource.BUNDLE else checks.check_file
    try:
        return judge(source, how.hints, level=how.level, steps_max=how.steps)
    except OSError as error:
        raise NoEvidence(f"{error.filename or source} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise NoEvidence(f"{source}: {error}") from error


def _on_spark(
    sources: Sequence[Path], how: CheckOptions, asked: EngineOptions
) -> "list[HistoryReport]":
    try:
        from admin.checker.spark.progress import silent  # noqa: PLC0415 - needs the extra
        from admin.checker.spark.reports import check_bundles  # noqa: PLC0415 - the same
    except ImportError as error:
        raise lacks_extra(error, ON_SPARK) from None
    try:
        with waiting.waiting(plain=style().plain) as tell:
            return check_bundles(
                sources,
                how.hints,
                level=how.level,
                steps_max=how.steps,
                spark=asked.master,
                settings=asked.settings,
                tell=tell or silent,
            )
    except ValueError as error:
        raise click.UsageError(str(error)) from error
