"""`qsync recover`: go on from one survivor when the majority of a cluster is gone for good."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.examples import examples
from cli.new_authority import certified, new_authority_option
from cli.options import DIRECTORY_PATH, json_option, settings_option
from cli.output import document, say, style, text
from qsync.units import how_many

if TYPE_CHECKING:
    from admin.recovery.forcing import Recovered
    from admin.recovery.survey import OtherLog, RecoverySurvey


@click.command(
    epilog=examples(
        "# changes nothing: prints what would be lost",
        "qsync recover ./n1",
        "# found the new cluster",
        "qsync recover ./n1 ./n1-new --lose 3 --others-are-stopped",
        "qsync start ./n1-new",
    )
)
@click.argument("survivor", type=DIRECTORY_PATH)
@click.argument("new", type=DIRECTORY_PATH, required=False)
@click.option(
    "--compare",
    "directories",
    type=DIRECTORY_PATH,
    multiple=True,
    metavar="DIR",
    help="The directory of another member, where its node does not run. Repeatable.",
)
@click.option(
    "--lose",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Maximum number of entries that may be lost.",
)
@click.option(
    "--others-are-stopped",
    is_flag=True,
    help="Confirm that no other member of this cluster runs, or will ever run again.",
)
@settings_option("Set an option of the new node. Repeatable.")
@new_authority_option
@json_option
def recover(
    *,
    survivor: Path,
    new: Path | None,
    directories: tuple[Path, ...],
    lose: int,
    others_are_stopped: bool,
    settings: dict[str, str],
    ca_dir: Path | None,
) -> None:
    """Go on from the directory SURVIVOR, alone, when the other members are lost for good.

    Without NEW it changes nothing: it compares the log of the survivor with the logs of all members
    that it can reach, and prints how much would be lost. Choose the member whose last entry has the
    latest term, and of those the longest log.

    With NEW it creates the directory of a new cluster with one member. Everything in the survivor's
    log counts as confirmed, client sessions end, and nodes of the old cluster cannot connect to the
    new one. SURVIVOR is kept for a post-mortem and cannot be started again. Grow the new cluster
    with `qsync init --join` and `qsync member add`, on empty directories.

    If a majority of the old cluster still runs somewhere, it keeps taking writes, and there are two
    clusters. --others-are-stopped confirms that you have made sure of that.
    """
    from admin.lab import next_steps  # noqa: PLC0415 - only here
    from admin.recovery import forcing  # noqa: PLC0415 - only here
    from admin.recovery.survey import survey  # noqa: PLC0415 - only here
    from admin.recovery.survivor import opened  # noqa: PLC0415 - only here

    with opened(survivor) as left:
        found = survey(left, directories)
        made = None
        if new is not None:
            forcing.check(found, lose=lose, others_are_stopped=others_are_stopped)
            made = forcing.force(left, new, settings, ca_dir)
    if style().as_json:
        document("recover", **_members(found), made=None if made is None else _made(made))
        return
    _show(found)
    if made is not None:
        say(
            f"{new} is a new cluster {made.cluster} of one member, generation {made.generation}: "
            f"{how_many(made.rows, 'row')} as of index {made.index}"
        )
        if ca_dir is not None and new is not None:
            say(certified(new))
        if made.is_uncertified:
            say(
                "its certificate is one of the old cluster: it does not start until "
                f"`qsync cert node {found.name} --cluster {made.cluster}` has made one (or give "
                "--ca-dir)"
            )
        for each in made.dropped:
            say(f"left out, since it does not fit one member: {each}")
        say(f"{survivor} does not start any more; run: {next_steps.start_command(str(new))}")


def _show(found: "RecoverySurvey") -> None:
    text(
        f"{found.name}: {found.last} entries, the last of term {found.term}; {found.confirmed} "
        f"were known as confirmed, {found.pending} more become confirmed"
    )
    if found.doubt:
        text(f"{found.name} may lack what it once had: {found.doubt}")
    for each in found.others:
        text(f"{each.name} at {each.place or 'no address'}: {_compared(each)}")
    known = f"{found.lost} entries are lost for certain" if found.lost else "nothing known is lost"
    unknown = ", ".join(found.unknown)
    text(known + (f"; what only {unknown} had is not known" if unknown else ""))
    if found.better is not None:
        text(f"{found.better.name} has the better log: go on from that one if you can")


def _compared(each: "OtherLog") -> str:
    runs = "runs, " if each.runs else ""
    if each.only_there is None:
        ahead = f"at least {each.at_least} entries that the survivor lacks, " * bool(each.at_least)
        return f"{runs}{ahead}not compared: {each.why}"
    return f"{runs}{each.only_there} entries that the survivor lacks, {each.only_here} fewer"


def _members(found: "RecoverySurvey") -> dict[str, object]:
    return {
        "survivor": found.name,
        "cluster": found.cluster,
        "last": found.last,
        "term": found.term,
        "confirmed": found.confirmed,
        "pending": found.pending,
        "lost": found.lost,
        "unknown": list(found.unknown),
        "doubt": found.doubt or None,
        "others": [
            {
                "name": each.name,
                "place": each.place,
                "runs": each.runs,
                "last": each.last,
                "only_there": each.only_there,
                "only_here": each.only_here,
                "why": each.why or None,
            }
            for each in found.others
        ],
    }


def _made(made: "Recovered") -> dict[str, object]:
    return {
        "cluster": made.cluster,
        "directory": str(made.directory),
        "generation": made.generation,
        "term": made.term,
        "index": made.index,
        "rows": made.rows,
        "dropped": list(made.dropped),
    }
