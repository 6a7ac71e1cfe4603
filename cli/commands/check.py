"""`qsync check`: whether recorded histories hold what was promised, with the proof if not."""

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from cli.check_engines import ON_SPARK, CheckOptions, EngineOptions, judge_sources
from cli.check_outputs import CheckOutputs, lacks_extra
from cli.ending import interrupted_politely
from cli.examples import examples
from cli.exits import Exit
from cli.options import DIRECTORY_PATH, FILE_PATH, Duration, json_option, set_options
from cli.output import WIDTH_ELSEWHERE, as_document, console, document, say, style, text
from cli.render import waiting

if TYPE_CHECKING:
    from admin.checker.engine import EngineChoice
    from admin.checker.labels import LabelComparison, LabelLine
    from admin.checker.quick import HistoryReport

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
_ENGINES = ("auto", "quick", "spark")
_NARROWEST = 76
_WITH_FOLLOW = frozenset({"sources", "follows", "seconds", "spark", "conf"})
_WITH_LABELS = frozenset({"labels", "engine", "quick", "spark_from", "spark", "conf"})


def _choices() -> str:
    """The choices, in lines that fit any screen, without broken words."""
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
    epilog=_choices()
    + examples(
        "qsync check --quick run/history.jsonl",
        "qsync check evidence --html report.html",
        "qsync check --quick --labels corpora/labels.csv",
    )
)
@click.argument("sources", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path))
@click.option(
    "--engine",
    type=click.Choice(_ENGINES),
    default="auto",
    show_default=True,
    help="quick: in this process, without Java; spark: on Spark; auto: by the size.",
)
@click.option("--quick", is_flag=True, help="Same as --engine quick.")
@click.option(
    "--spark-from",
    type=click.IntRange(1),
    metavar="ROWS",
    help="Number of rows from which auto chooses Spark.  [default: a million]",
)
@click.option(
    "--labels",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="CSV",
    help="Check the files that a CSV lists, and compare with its labels.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(_FORMATS),
    metavar="FORMAT",
    help="Format of FILE.  [default: detected]",
)
@click.option(
    "--model",
    type=click.Choice(_MODELS),
    metavar="MODEL",
    help="Model of all keys.  [default: detected]",
)
@click.option(
    "--level",
    type=click.Choice(_LEVELS),
    metavar="LEVEL",
    default="strict-serializable",
    show_default=True,
    help="Isolation level that was promised.",
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
    help="URL of a Spark cluster: spark://host:port, yarn, k8s://..., or the "
    "Connect server sc://host:port.",
)
@click.option(
    "--conf",
    "conf",
    multiple=True,
    metavar="NAME=VALUE",
    help="A Spark setting. Repeatable.",
)
@click.option(
    "--html",
    type=FILE_PATH,
    metavar="FILE",
    help="Write a report as one HTML page.",
)
@click.option(
    "--violations",
    type=DIRECTORY_PATH,
    metavar="DIR",
    help="Write all violations with their proofs, as Parquet.",
)
@click.option(
    "--follow", "follows", is_flag=True, help="FILE is a running cluster: check it continuously."
)
@click.option(
    "--for",
    "seconds",
    type=Duration(),
    metavar="TIME",
    help="With --follow: stop after this time.  [default: Ctrl-C]",
)
@click.option(
    "--out",
    type=DIRECTORY_PATH,
    metavar="DIR",
    help="Write everything: DIR/report.html, DIR/violations, DIR/report.json.",
)
@json_option
@interrupted_politely()
def check(
    *,
    sources: tuple[Path, ...],
    engine: str,
    quick: bool,
    spark_from: int | None,
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
    """Check recorded histories and evidence: was every answer correct, and nothing lost?

    FILE is a bundle of evidence (a folder, see `qsync dump`), a history of qsync (history.jsonl), a
    Jepsen history in EDN or as Jepsen prints it, a Porcupine log of get, put and append, or the log
    of one node as `qsync log cat --json` prints it. The format is detected. Exits with 0 only if
    every check passed, and with 6 otherwise: also if a check could not decide, or had nothing to
    examine.

    Small evidence is checked in this process, bundles of millions of rows on Spark, which must be
    installed; both give the same verdicts. Where the size chooses, it is said on stderr.

    With --follow FILE is an address or a lab: Spark checks the running nodes, a second or two
    behind, and prints events and violations.
    """
    if quick and engine == "spark":
        raise click.UsageError("--quick is --engine quick, and goes without --engine spark")
    engine = "quick" if quick else engine
    if follows:
        words = "--follow names a cluster, and goes with --for, --master, --conf"
        _refuse_others(_WITH_FOLLOW, words)
        if not sources:
            raise click.UsageError(words)
        from cli.check_follow import follow  # noqa: PLC0415 - only here

        named = [str(each) for each in sources]
        return follow(named, seconds=seconds, spark=spark, settings=set_options(conf))
    if seconds is not None:
        raise click.UsageError("--for goes with --follow")
    if engine == "quick" and (spark or conf):
        raise click.UsageError(
            "--master and --conf are for Spark, which --engine quick does without"
        )
    left = CheckOutputs.of_options(html, violations, out)
    asked = EngineOptions(engine, spark_from, spark, set_options(conf))
    if labels is not None:
        words = "--labels names its files, and goes with --engine, --spark-from, --master, --conf"
        _refuse_others(_WITH_LABELS, words)
        return _compare(labels, asked)
    if not sources:
        raise click.UsageError("name a history, or --labels CSV")
    how = CheckOptions.of_options(format_, model, level, steps)
    from cli.check_sources import bundled  # noqa: PLC0415 - only here, slow to import

    with bundled(sources) as places:
        choice, found = judge_sources(places, how, asked)
        reports = [replace(one, file=str(path)) for one, path in zip(found, sources, strict=True)]
    return _conclude(reports, left, choice)


def _refuse_others(known: frozenset[str], words: str) -> None:
    """Refuse options that are not `known`: they would be ignored. Raises UsageError."""
    context = click.get_current_context()
    for param in context.command.params:
        given = context.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE
        if given and param.expose_value and param.name not in known:
            what = param.opts[0] if isinstance(param, click.Option) else "FILE"
            raise click.UsageError(f"{words}, not with {what}")


def _conclude(reports: "list[HistoryReport]", left: CheckOutputs, choice: "EngineChoice") -> int:
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
        "engine": choice.engine.value,
        "engine_reason": choice.reason,
        "files": [render.report_members(each) for each in reports],
    }
    try:
        left.leave(reports, as_document("check", members), choice, seconds=seconds)
    finally:
        # Whatever became of the files; and it is the last that is said.
        if style().as_json:
            document("check", **members)
        else:
            _show(reports)
    return Exit.DONE if result is Result.PASS else Exit.CHECK_FAILED


def _show(reports: "Sequence[HistoryReport]") -> None:
    """The input, the table of invariants, the proofs, and the final sentence."""
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


def _compare(path: Path, asked: EngineOptions) -> int:
    from admin.checker import labels as published  # noqa: PLC0415 - only here, slow to import
    from admin.checker.engine import CheckEngine  # noqa: PLC0415 - the same

    try:
        listed = published.load(path)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    choice = asked.choose([each.file for each in listed])
    if choice.engine is CheckEngine.QUICK:
        compared = [published.compare(each) for each in listed]
    else:
        compared = _compared_on_spark(listed, asked)
    differing = [each for each in compared if not each.agrees]
    if style().as_json:
        document(
            "check-labels",
            files=len(compared),
            agree=len(compared) - len(differing),
            engine=choice.engine.value,
            engine_reason=choice.reason,
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


def _compared_on_spark(listed: "list[LabelLine]", asked: EngineOptions) -> "list[LabelComparison]":
    try:
        from admin.checker.spark.clients.published import (  # noqa: PLC0415 - needs the extra
            compare_all,
        )
        from admin.checker.spark.progress import silent  # noqa: PLC0415 - the same
    except ImportError as error:
        raise lacks_extra(error, ON_SPARK) from None
    with waiting.waiting(plain=style().plain) as tell:
        return compare_all(listed, spark=asked.master, settings=asked.settings, tell=tell or silent)
