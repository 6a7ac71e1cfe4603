"""`qsync shell`: the admin shell, also for one expression, a file or a pipe."""

import math
import sys
from typing import TYPE_CHECKING

import click

from cli import targets
from cli.examples import examples
from cli.options import Duration, json_option, target_argument
from cli.output import document, raw, say, style, text

if TYPE_CHECKING:
    from cli.shell.oneshot import Job

FORMATS = ("auto", "table", "vertical", "yaml", "json", "jsonl", "lua", "csv")


@click.command(
    epilog=examples(
        "qsync shell", "qsync shell -e 'box.info.ro'", "echo 'return 1 + 1' | qsync shell"
    )
)
@target_argument
@click.option(
    "--execute", "-e", multiple=True, metavar="LUA", help="Run this Lua code. Repeatable."
)
@click.option(
    "--file",
    "-f",
    "file",
    type=click.Path(dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Run a file of Lua; - is stdin.",
)
@click.option(
    "--node", metavar="NODE", help="The node that box.info, box.cfg and box.ctl refer to."
)
@click.option(
    "--format",
    "-o",
    "format",
    type=click.Choice(FORMATS),
    default="auto",
    help="How results are shown; auto is a table or YAML on a terminal, JSON elsewhere.",
)
@click.option("--read-only", is_flag=True, help="Refuse everything that changes the cluster.")
@click.option("--yes", is_flag=True, help="Allow dangerous operations on a production cluster.")
@click.option(
    "--timeout",
    type=Duration(),
    help="Time limit of the script, and of each of its requests.  [default: 10s for each request]",
)
@json_option
def shell(
    *,
    target: list[str],
    execute: tuple[str, ...],
    file: str | None,
    node: str | None,
    format: str,
    read_only: bool,
    yes: bool,
    timeout: float | None,
) -> None:
    """Open an interactive Lua shell: box.info, box.space, box.ctl and the rest.

    Without -e and -f it is interactive, or reads a script from a pipe. Prints the values that a
    chunk returns, one per line; scripts use --format json. A single address selects the node for
    box.info, box.cfg and box.ctl; data always goes to the leader.
    """
    from cli.shell.formats import OutputFormat  # noqa: PLC0415 - only this command needs it
    from cli.shell.oneshot import REQUEST_S, Job, run  # noqa: PLC0415 - the same
    from cli.shell.scripts import read_script  # noqa: PLC0415 - the same
    from cli.shell.voices import ShellOutput  # noqa: PLC0415 - the same

    sources = [("=-e", each) for each in execute]
    if file is not None:
        sources.append((f"@{file}", sys.stdin.read() if file == "-" else read_script(file)))
    interactive = not sources and sys.stdin.isatty()
    if not sources and not interactive:
        sources.append(("=stdin", sys.stdin.read()))
    job = Job(
        target=target,
        sources=sources,
        node=node or targets.single(target),
        format=OutputFormat(format),
        people=sys.stdout.isatty() and not style().plain,
        read_only=read_only,
        yes=yes,
        timeout=REQUEST_S if timeout is None else timeout,
        lasts=math.inf if timeout is None else timeout,
    )
    if interactive:
        _converse(job)
        return
    machine = style().as_json or job.format in {
        OutputFormat.JSON,
        OutputFormat.JSONL,
        OutputFormat.CSV,
    }
    if job.has_fibers:
        from cli.shell.unattended import run_with_fibers as run  # noqa: PLC0415 - it loads trio
    told = text if sys.stdout.isatty() else raw
    voices = ShellOutput(result=told, out=say if machine else told, say=say)
    if style().as_json:
        values: list[object] = []
        run(job, voices, values.extend)
        _document(values)
        return
    run(job, voices)


def _converse(job: "Job") -> None:
    try:
        from cli.shell.prompt import converse  # noqa: PLC0415 - slow to import
    except ImportError as error:
        from cli.shell.failures import NotInstalled  # noqa: PLC0415 - only for this error

        raise NotInstalled(f"the interactive shell needs {error.name}") from None
    converse(job)


def _document(values: list[object]) -> None:
    from cli.shell.formats import plain_json  # noqa: PLC0415 - only this command needs it

    document("shell", values=[plain_json(each) for each in values])
