"""`qsync top`: the dashboard; plain lines where there is no terminal."""

from pathlib import Path

import click

from cli.ending import interrupted_politely
from cli.examples import examples
from cli.options import FILE_PATH, Duration, json_option, target_argument


@click.command(
    epilog=examples(
        "qsync top lab",
        "qsync top --once --json",
        "qsync top lab --record run.jsonl.gz",
        "qsync top --replay run.jsonl.gz",
    )
)
@target_argument
@click.option("--once", is_flag=True, help="Print one frame and exit.")
@click.option(
    "--record",
    type=FILE_PATH,
    help="Record one sample per second to a new FILE; .gz in its name compresses it.",
)
@click.option(
    "--replay",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Show a recording instead of a cluster.",
)
@click.option(
    "--rate",
    type=click.FloatRange(0.1, 20),
    default=4.0,
    show_default=True,
    help="Frames per second.",
)
@click.option(
    "--for",
    "seconds",
    type=Duration(),
    default=float("inf"),
    metavar="DURATION",
    help="Exit after this time.",
)
@click.option("--read-only", is_flag=True, help="Disable the keys that change the cluster.")
@json_option
@interrupted_politely()
def top(
    *,
    target: list[str],
    once: bool,
    record: Path | None,
    replay: Path | None,
    rate: float,
    seconds: float,
    read_only: bool,
) -> None:
    """Show a live dashboard: can the cluster commit, what would break it, what to do.

    With --json, or when stdout is not a terminal, it prints one line per second. Press `?` for the
    keys.
    """
    if record is not None and replay is not None:
        raise click.UsageError("--record and --replay exclude each other")
    from cli.top.run import Order, run  # noqa: PLC0415 - trio and rich are slow to import

    run(
        Order(
            target=target,
            once=once,
            record=record,
            replay=replay,
            rate=rate,
            seconds=seconds,
            read_only=read_only,
        )
    )
