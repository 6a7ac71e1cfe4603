"""`qsync demo`: real nodes, real clients, the leader killed under load, and then the proof."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.ending import interrupted_politely
from cli.examples import examples
from cli.exits import CheckFailed
from cli.options import DIRECTORY_PATH, Duration, json_option
from cli.output import console, document, say, style, text

if TYPE_CHECKING:
    from admin.drills.demo import DemoPicture, DemoResult

_LINE_EVERY_S = 1.0


@click.command(epilog=examples("qsync demo --seconds 10", "# in scripts", "qsync demo --json"))
@click.option(
    "--nodes", type=click.IntRange(1, 9), default=3, show_default=True, help="How many nodes."
)
@click.option(
    "--seconds", type=Duration(), default="20", show_default=True, help="How long the clients work."
)
@click.option("--no-kill", is_flag=True, help="Do not kill the leader.")
@click.option(
    "--keep",
    type=DIRECTORY_PATH,
    metavar="DIR",
    help="Leave data, logs and a bundle of evidence in DIR, for `qsync check --quick DIR`.",
)
@click.option(
    "--clients", type=click.IntRange(1, 100), default=6, show_default=True, help="How many clients."
)
@click.option(
    "--seed", type=int, default=1, show_default=True, help="Seed for the clients' choices."
)
@json_option
@interrupted_politely()
def demo(
    *,
    nodes: int,
    seconds: float,
    no_kill: bool,
    keep: Path | None,
    clients: int,
    seed: int,
) -> None:
    """Start real nodes, load them, kill the leader with SIGKILL, heal, and check everything.

    Exits with 0 only if no acknowledged write was lost, nothing rolled back is visible, histories
    are linearizable, totals conserved and replicas identical; else with 6.
    """
    from admin.drills import demo as demos  # noqa: PLC0415 - client and checker, only needed here

    # A single node cannot lose its leader and go on; it is killed and restarted all the same.
    plan = demos.DemoPlan(
        nodes=nodes, seconds=seconds, kill=not no_kill, clients=clients, seed=seed, keep=keep
    )
    if style().as_json or not console(stderr=True).is_terminal:
        result = demos.run(plan, _teller())
    else:
        result = _live(plan)
    _conclude(result)


def _teller() -> "Callable[[DemoPicture], None]":
    """One line a second on stderr, and each event as it happens."""
    from cli.render.drill import line  # noqa: PLC0415 - only here, slow to import

    told: list[str] = []
    last = [-_LINE_EVERY_S]

    def tell(now: "DemoPicture") -> None:
        for event in now.events:
            if event not in told:
                told.append(event)
                say(event)
        if now.elapsed - last[0] >= _LINE_EVERY_S:
            last[0] = now.elapsed
            say(line(now))

    return tell


def _live(plan: object) -> "DemoResult":
    from rich.live import Live  # noqa: PLC0415 - only here, slow to import

    from admin.drills import demo as demos  # noqa: PLC0415 - only here, slow to import
    from cli.render.drill import picture  # noqa: PLC0415 - only here, slow to import

    assert isinstance(plan, demos.DemoPlan)
    with Live(console=console(stderr=True), refresh_per_second=8, transient=False) as live:
        return demos.run(plan, lambda now: live.update(picture(now)))


def _conclude(result: "DemoResult") -> None:
    from cli.render.drill import verdict  # noqa: PLC0415 - only here, slow to import

    if style().as_json:
        document(
            "demo",
            acked=result.acked,
            lost=result.lost,
            unknown=result.unknown,
            unknown_resolved=result.unknown_resolved,
            rolled_back_visible=result.rolled_back_visible,
            gap_seconds=result.gap_seconds,
            terms=list(result.terms),
            linearizable=result.proof.linearity.result.value == "pass",
            total_conserved=result.proof.total_conserved,
            replicas_identical=result.proof.replicas_identical,
            seconds=result.seconds,
            keep=result.keep,
        )
        tell = say
    else:
        tell = text
    for each in verdict(result):
        tell(each)
    if not result.passed:
        raise CheckFailed("the cluster did not keep its promises")
