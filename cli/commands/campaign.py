"""`qsync campaign`: real nodes under load, everything broken in turn, every answer judged."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.ending import interrupted_politely
from cli.exits import CheckFailed
from cli.options import DIRECTORY_PATH, json_option
from cli.output import document, say, style, text

if TYPE_CHECKING:
    from admin.campaign.campaign import CampaignResult

_MINUTE_S = 60.0


@click.command(epilog="Example: qsync campaign --minutes 10 --seed 7 --keep /tmp/campaign")
@click.option(
    "--minutes",
    type=click.FloatRange(0.1, 7 * 24 * 60),
    default=60.0,
    show_default=True,
    help="How long faults are injected; healing and checking take extra time.",
)
@click.option(
    "--nodes", type=click.IntRange(3, 9), default=3, show_default=True, help="How many nodes."
)
@click.option(
    "--seed",
    type=int,
    default=1,
    show_default=True,
    help="Seed for the choice of faults and their times.",
)
@click.option(
    "--without",
    default="",
    metavar="NAMES",
    help="Faults to leave out; `--without list` prints their names.",
)
@click.option(
    "--keep",
    type=DIRECTORY_PATH,
    metavar="DIR",
    help="Leave the history and the directories of the nodes in DIR.",
)
@click.option("--secure", is_flag=True, help="The nodes speak TLS and have users.")
@json_option
@interrupted_politely()
def campaign(
    *, minutes: float, nodes: int, seed: int, without: str, keep: Path | None, secure: bool
) -> None:
    """Inject random faults of every kind into a lab under load, and check every answer.

    Exit code 6 when a promise was broken; history and directories are kept then, and the seed is
    printed. A request that fails while a fault is active breaks no promise.
    """
    from admin.campaign import campaign as campaigns  # noqa: PLC0415 - imports the whole database
    from admin.campaign.drawing import ABOUT, kinds_without  # noqa: PLC0415 - the same

    if without == "list":
        _list({str(kind): about for kind, about in ABOUT.items()})
        return
    plan = campaigns.CampaignPlan(
        seconds=minutes * _MINUTE_S,
        nodes=nodes,
        seed=seed,
        keep=keep,
        secure=secure,
        kinds=tuple(kinds_without([name for name in without.split(",") if name])),
    )
    say(f"seed {seed}, {nodes} nodes, {minutes:g} minutes")
    _conclude(campaigns.run(plan, say))


def _list(kinds: Mapping[str, str]) -> None:
    if style().as_json:
        document(
            "campaign.faults",
            faults=[{"name": kind, "about": about} for kind, about in kinds.items()],
        )
        return
    for kind, about in kinds.items():
        text(f"{kind:15} {about}")


def _conclude(result: "CampaignResult") -> None:
    from admin.campaign.figures import ABOUT, BrokenPromise  # noqa: PLC0415 - only here

    figures = result.figures
    tell = text
    if style().as_json:
        tell = say
        document(
            "campaign",
            seed=result.plan.seed,
            nodes=result.plan.nodes,
            rounds=result.rounds,
            seconds=result.seconds,
            broken={kind.value: figures.broken[kind] for kind in BrokenPromise},
            counts=dict(sorted(figures.counts.items())),
            faults=dict(sorted(figures.faults.items())),
            violations=[
                {"kind": each.kind.value, "at": each.at, "text": each.text}
                for each in figures.violations
            ],
            keep=None if result.keep is None else str(result.keep),
        )
    tell(f"{result.rounds} rounds: {figures.described()}")
    tell(", ".join(f"{count} {kind}" for kind, count in sorted(figures.faults.items())))
    for each in figures.violations:
        tell(f"  {each.at:.1f} s, {each.kind} ({ABOUT[each.kind]}): {each.text}")
    tell(figures.sentence())
    if not figures.clean:
        raise CheckFailed(
            f"seed {result.plan.seed}: {figures.sentence()}",
            hint=f"the history is in {result.keep}",
        )
