"""`qsync check`: whether recorded histories hold what was promised, with the proof if not."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.exits import Exit
from cli.options import json_option
from cli.output import document, say, style, text

if TYPE_CHECKING:
    from admin.checker.elle import Level
    from admin.checker.kinds import Hints
    from admin.checker.quick import Report

_FORMATS = ("history", "jepsen-edn", "jepsen-text", "porcupine-kv")
_MODELS = ("register", "cas-register", "kv", "set", "counter", "bank", "list-append")
_LEVELS = (
    "read-uncommitted",
    "read-committed",
    "snapshot-isolation",
    "serializable",
    "strong-session-snapshot-isolation",
    "strong-snapshot-isolation",
    "strong-session-serializable",
    "strict-serializable",
)


@click.command(
    epilog="Example: qsync check --quick run/history.jsonl; "
    "qsync check --quick --labels corpora/labels.csv"
)
@click.argument("sources", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path))
@click.option("--quick", is_flag=True, help="In this process, without Java.")
@click.option(
    "--labels",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="CSV",
    help="Check the files of a list beside it, and compare with its labels.",
)
@click.option("--format", "format_", type=click.Choice(_FORMATS), help="Instead of guessing it.")
@click.option("--model", type=click.Choice(_MODELS), help="Instead of guessing it, for all keys.")
@click.option(
    "--level",
    type=click.Choice(_LEVELS),
    default="strict-serializable",
    show_default=True,
    help="What transactions were promised.",
)
@click.option(
    "--steps",
    type=click.IntRange(1),
    help="How far to search a key before giving up.  [default: a million configurations]",
)
@click.option("--master", "spark", metavar="URL", help="Another Spark than this machine's own.")
@json_option
def check(
    *,
    sources: tuple[Path, ...],
    quick: bool,
    labels: Path | None,
    format_: str | None,
    model: str | None,
    level: str,
    steps: int | None,
    spark: str | None,
) -> int:
    """Check histories of clients: is every answer explained, and nothing lost or shown twice?

    FILE is a bundle of evidence (see `qsync dump`), whose logs, status, events and digests are
    judged too; our history.jsonl (or a folder with one), a Jepsen history in EDN, the log that
    Jepsen prints, or Porcupine's log of get, put and append. Its content says which. Exits with 0
    only if everything passed; what could not be decided, or examined nothing, is no pass: 6.

    Without --quick bundles are judged on Spark: the same, for very large ones and many at once.
    """
    if labels is not None:
        if sources or format_ or model or not quick:
            raise click.UsageError("--labels goes with --quick, and names its files and formats")
        return _compare(labels)
    if not sources:
        raise click.UsageError("name a history, or --labels CSV")
    from admin.checker import bundles  # noqa: PLC0415 - only here, slow to import
    from admin.checker import quick as checks  # noqa: PLC0415 - only here, slow to import
    from admin.checker.elle import Level  # noqa: PLC0415 - the same
    from admin.checker.kinds import Hints, Kind  # noqa: PLC0415 - the same
    from admin.checker.linear import STEPS_MAX  # noqa: PLC0415 - the same
    from admin.checker.readers import Format  # noqa: PLC0415 - the same
    from admin.evidence.bundle import is_bundle  # noqa: PLC0415 - the same

    hints = Hints(
        format=None if format_ is None else Format(format_),
        kind=None if model is None else Kind(model),
    )
    if not quick:
        return _conclude(_on_spark(sources, hints, Level(level), steps, spark), engine="spark")
    reports: list[Report] = []
    for source in sources:
        try:
            judge = bundles.check_bundle if is_bundle(source) else checks.check_file
            reports.append(judge(source, hints, level=Level(level), steps_max=steps or STEPS_MAX))
        except (OSError, ValueError) as error:
            raise click.UsageError(f"{source}: {error}") from error
    return _conclude(reports)


def _on_spark(
    sources: tuple[Path, ...],
    hints: "Hints",
    level: "Level",
    steps: int | None,
    spark: str | None,
) -> "list[Report]":
    from admin.checker.linear import STEPS_MAX  # noqa: PLC0415 - only here, slow to import
    from admin.evidence.bundle import is_bundle  # noqa: PLC0415 - the same

    odd = [str(each) for each in sources if not is_bundle(each)]
    if odd:
        raise click.UsageError(f"no bundle of evidence: {', '.join(odd)}; add --quick")
    try:
        from admin.checker.spark.reports import check_bundles  # noqa: PLC0415 - needs the extra
        from admin.checker.spark.session import LOCAL  # noqa: PLC0415 - the same
    except ImportError as error:
        raise click.UsageError(
            f"without --quick this needs `pip install 'qsync-cluster[spark]'`: {error}"
        ) from None
    say("starting Spark, which takes a while; --quick does without")
    try:
        return check_bundles(
            sources, hints, level=level, steps_max=steps or STEPS_MAX, spark=spark or LOCAL
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _conclude(reports: "list[Report]", *, engine: str = "quick") -> int:
    from admin.checker.quick import summary  # noqa: PLC0415 - only here, slow to import
    from admin.checker.verdict import Result, overall  # noqa: PLC0415 - the same
    from cli.render import check as render  # noqa: PLC0415 - the same

    result = overall(each.result for each in reports)
    if style().as_json:
        document(
            "check",
            verdict=result.value,
            invariants=[render.members(each) for each in summary(reports)],
            seconds=round(sum(each.seconds for each in reports), 6),
            engine=engine,
            files=[render.report_members(each) for each in reports],
        )
    else:
        for report in reports:
            for line in render.report_lines(report):
                text(line)
    return Exit.DONE if result is Result.PASS else Exit.CHECK_FAILED


def _compare(path: Path) -> int:
    from admin.checker import labels as published  # noqa: PLC0415 - only here, slow to import

    try:
        listed = published.load(path)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    compared = [published.compare(each) for each in listed]
    differing = [each for each in compared if not each.agrees]
    if style().as_json:
        document(
            "check-labels",
            files=len(compared),
            agree=len(compared) - len(differing),
            disagree=[
                {"file": each.file, "label": each.label, "found": each.found, "why": each.why}
                for each in differing
            ],
        )
    else:
        for each in differing:
            text(f"{each.file}: {each.why} (label: {each.label})")
        text(f"{len(compared) - len(differing)} of {len(compared)} verdicts are as published")
    if not compared:
        say("the list is empty")
    return Exit.DONE if compared and not differing else Exit.CHECK_FAILED
