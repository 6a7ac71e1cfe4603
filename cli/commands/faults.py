"""`qsync lab fault`: break a node at one of its fault points."""

from pathlib import Path

import click

from admin.cluster import fault_points
from admin.cluster.ask import only, value
from admin.lab import names as lab_names
from cli.examples import examples
from cli.options import Duration
from cli.output import document, say, style, text
from cli.targets import load_lab
from qsync.faultpoints import POINTS
from qsync.faults import ABOUT, Fault
from qsync.units import how_many
from qsync.wire.verbs import InfoRequest


@click.command(
    epilog=examples(
        "qsync lab fault n1 fail_fsync --times 1",
        "qsync lab fault n1 slow_fsync --seconds 200ms",
        "qsync lab fault n1 --clear",
    )
)
@click.argument("node")
@click.argument(
    "point", required=False, metavar="[POINT]", type=click.Choice(list(map(str, POINTS)))
)
@click.option(
    "--seconds", type=Duration(), default="0s", help="The delay, or how far to move the clock."
)
@click.option("--behind", is_flag=True, help="With clock_jump: move the clock back.")
@click.option(
    "--times", type=click.IntRange(0), default=0, help="How many times.  [default: no limit]"
)
@click.option(
    "--lasts", type=Duration(), default="1h", show_default=True, help="Disarm it after this time."
)
@click.option("--clear", is_flag=True, help="Disarm POINT, or all fault points.")
def fault(
    *,
    node: str,
    point: str | None,
    seconds: float,
    behind: bool,
    times: int,
    lasts: float,
    clear: bool,
    name: str,
    directory: Path | None,
) -> None:
    """Arm or disarm a fault point of a node; without POINT show what is armed.

    The nodes of a lab allow it, unless the lab was made with another `--set cluster.tag`.
    """
    address = load_lab(lab_names.place(name, directory)).node(node).address
    known = None if point is None else Fault(point)
    if clear:
        fault_points.disarm(address, known)
    elif known is not None:
        amount = -seconds if behind else seconds
        fault_points.arm(address, known, seconds=amount, times=times, lasts=lasts)
    armed = only(value(address, InfoRequest(1, "faults"), timeout=fault_points.PATIENCE_S))
    assert isinstance(armed, list)
    if style().as_json:
        document("faults", node=node, armed=armed)
        return
    for each in armed:
        left = "" if each["left"] is None else f", {each['left']} times to go"
        after = f" ({each['seconds']:g} s)" if each["seconds"] else ""
        about = ABOUT[Fault(each["point"])] + after
        text(f"{each['point']}: {about}; struck {each['struck']} times{left}")
    say(f"{node}: {how_many(len(armed), 'fault point')} armed")
