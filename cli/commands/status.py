"""`qsync status` and `qsync info`: what the nodes say of themselves."""

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from admin.cluster import ask, documents, surveys
from cli import targets
from cli.examples import examples
from cli.exits import CheckFailed
from cli.options import (
    GIVEN_TWICE,
    Duration,
    TargetOption,
    json_option,
    target_argument,
    target_option,
    timeout_option,
)
from cli.output import WIDTH_ELSEWHERE, complain, console, document, style
from cli.output import value as print_value
from qsync.errors import Unavailable
from qsync.wire.verbs import InfoRequest

if TYPE_CHECKING:
    from admin.cluster.surveys import ClusterHealth, ClusterSurvey, ClusterVerdict

_FAILS = {
    "degraded": frozenset({surveys.ClusterHealth.DEGRADED, surveys.ClusterHealth.DOWN}),
    "down": frozenset({surveys.ClusterHealth.DOWN}),
}


@click.command(
    epilog=examples(
        "qsync status 127.0.0.1:3301 --watch 2s",
        "# in scripts",
        "qsync status --json --fail-on degraded",
    )
)
@target_argument
@click.option(
    "--watch", type=Duration(), metavar="PERIOD", help="Repeat until interrupted, or --fail-on."
)
@click.option(
    "--fail-on",
    type=click.Choice(sorted(_FAILS)),
    help="Exit with 6 if the cluster is in this state or worse.",
)
@timeout_option("2s")
@json_option
def status(*, target: list[str], watch: float | None, fail_on: str | None, timeout: float) -> None:
    """Show all nodes in a table, and in one sentence: can it commit, what would break it.

    TARGET is host:port, several with commas, qsync://host1,host2/, a lab's name, or a context. One
    address is enough, the other nodes are discovered. Nodes that are superseded or of another
    cluster are listed under the table, and do not count in the verdict.
    """
    if watch is None:
        _show(target, fail_on, timeout, clear=False)
        return
    while True:
        try:
            _show(target, fail_on, timeout, clear=True)
        except Unavailable as error:
            if fail_on is not None:
                raise
            complain(error, replace(style(), documents=0))  # a document for each round
        time.sleep(watch)


@click.command(
    epilog=examples("qsync info 127.0.0.1:3302 synchro.queue.len", "qsync info election.leader")
)
@click.argument("words", nargs=-1, metavar="[TARGET] [PATH]")
@target_option
@timeout_option("2s")
@json_option
@click.pass_context
def info(
    ctx: click.Context, /, *, words: tuple[str, ...], target: list[str], timeout: float
) -> None:
    """Print the status of one node, or the part of it at PATH, as JSON.

    Asks the first node of the target that answers; a single address selects the node. One word
    alone is the target if it names one, else the path.
    """
    named, path = _target_and_path(ctx, words)
    target = target if named is None else named
    address = ask.first_to_answer(target, timeout=timeout)
    answer = ask.only(ask.value(address, InfoRequest(1, path), timeout=timeout))
    if style().as_json:
        document("info", path=path, value=answer)
    else:
        print_value(answer)


def _target_and_path(
    ctx: click.Context, words: tuple[str, ...]
) -> tuple[list[str] | None, str | None]:
    """Tell the two arguments of `info` apart. Raises UsageError."""
    if len(words) > 2:  # noqa: PLR2004 - a target and a path
        raise click.UsageError(f"a target and a path are wanted, not {len(words)} words")
    given = ctx.get_parameter_source("target") is ParameterSource.COMMANDLINE
    if len(words) == 2:  # noqa: PLR2004 - both
        if given:
            raise click.UsageError(GIVEN_TWICE)
        return TargetOption().convert(words[0], None, ctx), words[1]
    if not words or given:
        return None, next(iter(words), None)
    try:
        return targets.resolve(words[0]), None
    except ValueError:
        return None, words[0]


def _show(target: list[str], fail_on: str | None, timeout: float, *, clear: bool) -> None:
    """One round. Raises CheckFailed for a state of `fail_on`, Unavailable if no node answers."""
    found = surveys.survey(target, timeout=timeout)
    verdict = surveys.judge(found)
    if style().as_json:
        document("status", **documents.survey_members(found, verdict))
    else:
        _print(found, verdict, clear=clear)
    _fail(verdict.health, fail_on, verdict.sentence)


def _print(found: "ClusterSurvey", verdict: "ClusterVerdict", *, clear: bool) -> None:
    from cli.render.status import status as render  # noqa: PLC0415 - rich is slow to import

    if clear and console().is_terminal:
        click.clear()
    screen = console()
    width = screen.width if screen.is_terminal else WIDTH_ELSEWHERE
    screen.width = width
    screen.print(render(found, verdict, width=width, plain=style().plain))


def _fail(health: "ClusterHealth", fail_on: str | None, sentence: str) -> None:
    if fail_on is not None and health in _FAILS[fail_on]:
        raise CheckFailed(sentence)
