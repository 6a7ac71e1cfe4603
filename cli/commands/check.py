"""`qsync check`: whether recorded histories hold what was promised, with the proof if not."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.check_outputs import CheckOutputs, lacks_extra
from cli.ending import interrupted_politely
from cli.exits import Exit
from cli.options import Duration, json_option, set_options
from cli.output import WIDTH_ELSEWHERE, as_document, console, document, say, style, text
from cli.render import waiting

if TYPE_CHECKING:
    from admin.checker.elle import IsolationLevel
    from admin.checker.kinds import Hints
    from admin.checker.labels import LabelComparison, LabelLine
    from admin.checker.quick import HistoryReport
    from cli.sources import CheckSource

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
_NARROWEST = 76


def _choices() -> str:
    """What may be chosen, in lines as wide as any screen; no word is broken."""
    named = {"FORMAT": _FORMATS, "MODEL": _MODELS, "LEVEL": _LEVELS}
    rows = [
        textwrap.fill(
            ", ".join(choices),
            width=_NARROWEST,
            initial_indent=f"{name + ':':8}",
            subsequent_indent=" " * 8,
            break_on_hyphens=False,
        )
        for name, choices in named.items()
    ]
    return "\b\n" + "\n".join(rows) + "\n\n"


@click.command(
    epilog=_choices() + "Example: qsync check --quick run/history.jsonl; "
    "qsync check evidence --html report.html; "
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
@click.option(
    "--format",
    "format_",
    type=click.Choice(_FORMATS),
    metavar="FORMAT",
    help="Instead of guessing it.",
)
@click.option(
    "--model",
    type=click.Choice(_MODELS),
    metavar="MODEL",
    help="Instead of guessing it, for all keys.",
)
@click.option(
    "--level",
    type=click.Choice(_LEVELS),
    metavar="LEVEL",
    default="strict-serializable",
    show_default=True,
    help="What transactions were promised.",
)
@click.option(
    "--steps",
    type=click.IntRange(1),
    help="How far to search a key before giving up.  [default: a million configurations]",
)
@click.option(
    "--master",
    "spark",
    metavar="URL",
    help="Another Spark than this machine's own: spark://host:port, yarn, k8s://..., or the "
    "Connect server sc://host:port.",
)
@click.option(
    "--conf",
    "conf",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of Spark's; may be given many times.",
)
@click.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also leave a report for people there: one file.",
)
@click.option(
    "--violations",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Also leave all violations with their proofs there, as Parquet.",
)
@click.option(
    "--follow", "follows", is_flag=True, help="FILE is a running cluster: judge it as it goes on."
)
@click.option(
    "--for",
    "seconds",
    type=Duration(),
    metavar="TIME",
    help="With --follow: for so long; without it until Ctrl-C.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="All of it: DIR/report.html, DIR/violations, and DIR/report.json as --json prints it.",
)
@json_option
@interrupted_politely()
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
    conf: tuple[str, ...],
    html: Path | None,
    violations: Path | None,
    follows: bool,
    seconds: float | None,
    out: Path | None,
) -> int:
    """Check histories of clients: is every answer explained, and nothing lost or shown twice?

    FILE is a bundle of evidence (a folder, see `qsync dump`), whose logs, status, events and
    digests are judged too; our history.jsonl (or a folder with one), a Jepsen history in EDN, the
    log that Jepsen prints, Porcupine's log of get, put and append; or the log of a node alone, as
    `qsync log cat --json` prints it. Its content says which. Exits with 0 only if everything
    passed; what could not be decided, or examined nothing, is no pass: 6.

    Without --quick bundles are judged on Spark: the same, for very large ones and many at once.
    With --follow FILE is an address or a lab: Spark judges what its nodes say and confirm, a second
    or two behind, tells events, and raises violations.
    """
    if follows:
        odd = (quick, labels, format_, model, html, violations, out, steps)
        if any(odd) or not sources:
            raise click.UsageError(
                "--follow names a cluster, and goes with --for, --master, --conf"
            )
        from cli.commands.follow import follow  # noqa: PLC0415 - only here

        named = [str(each) for each in sources]
        return follow(named, seconds=seconds, spark=spark, settings=set_options(conf))
    if seconds is not None:
        raise click.UsageError("--for goes with --follow")
    left = CheckOutputs.of_options(html, violations, out)
    if labels is not None:
        if sources or format_ or model or html or violations or out:
            raise click.UsageError("--labels names its files and formats")
        return _compare(labels, None if quick else (spark, set_options(conf)))
    if not sources:
        raise click.UsageError("name a history, or --labels CSV")
    if quick and (spark or conf):
        raise click.UsageError("--master and --conf are for Spark, which --quick does without")
    from admin.checker.elle import IsolationLevel  # noqa: PLC0415 - only here, slow to import
    from admin.checker.kinds import Hints, ObjectKind  # noqa: PLC0415 - the same
    from admin.checker.linear import STEPS_MAX  # noqa: PLC0415 - the same
    from admin.checker.readers import HistoryFormat  # noqa: PLC0415 - the same

    hints = Hints(
        format=None if format_ is None else HistoryFormat(format_),
        kind=None if model is None else ObjectKind(model),
    )
    how = CheckOptions(hints, IsolationLevel(level), steps or STEPS_MAX)
    from cli.sources import bundled  # noqa: PLC0415 - the same

    with bundled(sources) as places:
        found = (
            _in_process(places, how)
            if quick
            else _on_spark(tuple(places), how, spark, set_options(conf))
        )
        reports = [replace(one, file=str(path)) for one, path in zip(found, sources, strict=True)]
    return _conclude(reports, left, engine="quick" if quick else "spark")


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """How to judge histories."""

    hints: "Hints"
    level: "IsolationLevel"
    steps: int


def _in_process(sources: Sequence[Path], how: CheckOptions) -> "list[HistoryReport]":
    from cli.sources import source_of  # noqa: PLC0415 - only here, slow to import

    kinds = [source_of(each) for each in sources]
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
    from cli.sources import CheckSource  # noqa: PLC0415 - the same

    judge = bundles.check_bundle if kind is CheckSource.BUNDLE else checks.check_file
    try:
        return judge(source, how.hints, level=how.level, steps_max=how.steps)
    except OSError as error:
        raise NoEvidence(f"{error.filename or source} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise NoEvidence(f"{source}: {error}") from error


def _on_spark(
    sources: tuple[Path, ...], how: CheckOptions, spark: str | None, settings: dict[str, str]
) -> "list[HistoryReport]":
    from cli.sources import CheckSource, history_needs_quick, source_of  # noqa: PLC0415 - only here

    for each in sources:
        if source_of(each) is CheckSource.HISTORY:
            raise history_needs_quick(each)
    try:
        from admin.checker.spark.progress import silent  # noqa: PLC0415 - needs the extra
        from admin.checker.spark.reports import check_bundles  # noqa: PLC0415 - the same
    except ImportError as error:
        raise lacks_extra(error, "the check without --quick") from None
    try:
        with waiting.waiting(plain=style().plain) as tell:
            return check_bundles(
                sources,
                how.hints,
                level=how.level,
                steps_max=how.steps,
                spark=spark,
                settings=settings,
                tell=tell or silent,
            )
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _conclude(reports: "list[HistoryReport]", left: CheckOutputs, *, engine: str) -> int:
    from admin.checker.quick import summary  # noqa: PLC0415 - only here, slow to import
    from admin.checker.report.sentence import summed  # noqa: PLC0415 - the same
    from admin.checker.verdict import Result, overall  # noqa: PLC0415 - the same
    from cli.render import check as render  # noqa: PLC0415 - the same

    result = overall(each.result for each in reports)
    seconds = sum(each.seconds for each in reports)
    members = {
        "verdict": result.value,
        "sentence": summed(reports),
        "invariants": [render.members(each) for each in summary(reports)],
        "seconds": round(seconds, 6),
        "engine": engine,
        "files": [render.report_members(each) for each in reports],
    }
    try:
        left.leave(reports, as_document("check", members), engine=engine, seconds=seconds)
    finally:
        # Whatever became of the files; and it is the last that is said.
        if style().as_json:
            document("check", **members)
        else:
            _show(reports)
    return Exit.DONE if result is Result.PASS else Exit.CHECK_FAILED


def _show(reports: "Sequence[HistoryReport]") -> None:
    """What is asked about, the table of invariants, the proofs, and the sentence at the end."""
    from admin.checker.quick import summary  # noqa: PLC0415 - only here, slow to import
    from admin.checker.report.sentence import summed  # noqa: PLC0415 - the same
    from cli.render import check as render  # noqa: PLC0415 - the same

    screen = console()
    screen.width = screen.width if screen.is_terminal else WIDTH_ELSEWHERE
    for report in reports:
        text(render.heading(report))
    screen.print(render.table(summary(reports), width=screen.width, plain=style().plain))
    for report in reports:
        lines = render.proofs(report)
        for line in ([f"{report.file}:"] if lines and len(reports) > 1 else []) + lines:
            text(line)
    text(summed(reports))


def _compare(path: Path, on_spark: tuple[str | None, dict[str, str]] | None) -> int:
    from admin.checker import labels as published  # noqa: PLC0415 - only here, slow to import

    try:
        listed = published.load(path)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if on_spark is None:
        compared = [published.compare(each) for each in listed]
    else:
        compared = _compared_on_spark(listed, *on_spark)
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


def _compared_on_spark(
    listed: "list[LabelLine]", spark: str | None, settings: dict[str, str]
) -> "list[LabelComparison]":
    try:
        from admin.checker.spark.clients.published import (  # noqa: PLC0415 - needs the extra
            compare_all,
        )
        from admin.checker.spark.progress import silent  # noqa: PLC0415 - the same
    except ImportError as error:
        raise lacks_extra(error, "the check without --quick") from None
    with waiting.waiting(plain=style().plain) as tell:
        return compare_all(listed, spark=spark, settings=settings, tell=tell or silent)
