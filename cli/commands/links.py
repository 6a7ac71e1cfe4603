"""`qsync lab cut`, `slow`, `heal` and `links`: spoil the network between the nodes of a lab."""

from pathlib import Path

import click

from admin.lab import lab as labs
from admin.lab import names as lab_names
from admin.links.control import ProxiedLink, spoiled
from admin.links.rules import LinkRule, links_between
from cli.examples import examples
from cli.options import Duration
from cli.output import document, say, style, text
from qsync.units import how_many


@click.command(
    epilog=examples("qsync lab cut n1 n2 --one-way", "# all links of n1", "qsync lab cut n1")
)
@click.argument("one")
@click.argument("other", required=False)
@click.option("--one-way", is_flag=True, help="Block only what ONE sends.")
@click.option("--refuse", is_flag=True, help="Reset connections instead of dropping in silence.")
@click.option("--half-open", is_flag=True, help="Existing connections are dead; new ones work.")
def cut(
    *,
    one: str,
    other: str | None,
    one_way: bool,
    refuse: bool,
    half_open: bool,
    name: str,
    directory: Path | None,
) -> None:
    """Block all traffic between two nodes, or between one node and all others."""
    rule = LinkRule(cut=not refuse and not half_open, refuse=refuse, half_open=half_open)
    _spoil(name, directory, rule, one, other, one_way=one_way)


@click.command(epilog="Example: qsync lab slow n1 n2 200ms --jitter 50ms")
@click.argument("one")
@click.argument("other")
@click.argument("delay", type=Duration())
@click.option("--jitter", type=Duration(), default=0.0, help="Random extra delay, at most this.")
@click.option(
    "--stall", type=float, default=0.0, help="Chance (0..1) of a stall, as after a lost packet."
)
@click.option("--flip", type=float, default=0.0, help="Chance (0..1) of a flipped bit.")
@click.option("--rate", type=float, default=0.0, help="Bandwidth limit in bytes per second.")
@click.option("--one-way", is_flag=True, help="Only what ONE sends.")
def slow(
    *,
    one: str,
    other: str,
    delay: float,
    jitter: float,
    stall: float,
    flip: float,
    rate: float,
    one_way: bool,
    name: str,
    directory: Path | None,
) -> None:
    """Delay the traffic between two nodes, in both directions."""
    rule = LinkRule(delay=delay, jitter=jitter, stall=stall, flip=flip, rate=rate)
    _spoil(name, directory, rule, one, other, one_way=one_way)


@click.command(epilog="Example: qsync lab heal")
def heal(*, name: str, directory: Path | None) -> None:
    """Remove all faults from all links."""
    found = labs.load(lab_names.place(name, directory))
    before = spoiled(found.control.show())
    _show(found.name, found.control.heal(), all_of_them=False)
    if not style().as_json:
        say(f"{how_many(len(before), 'link')} healed")


@click.command(epilog="Example: qsync lab links --json")
def links(*, name: str, directory: Path | None) -> None:
    """List the links between the nodes, and the faults of each."""
    found = labs.load(lab_names.place(name, directory))
    _show(found.name, found.control.show(), all_of_them=True)


def _spoil(
    name: str,
    directory: Path | None,
    rule: LinkRule,
    one: str,
    other: str | None,
    *,
    one_way: bool,
) -> None:
    found = labs.load(lab_names.place(name, directory))
    names = [node.name for node in found.nodes]
    wanted = links_between(names, one, other, one_way=one_way)
    _show(found.name, found.control.set(wanted, rule), all_of_them=False)


def _show(name: str, conditions: list[ProxiedLink], *, all_of_them: bool) -> None:
    if style().as_json:
        rows = [
            {"from": each.link.source, "to": each.link.target, "carried": each.carried}
            | {"rule": each.rule.as_json()}
            for each in conditions
        ]
        document("lab-links", name=name, links=rows)
        return
    for each in conditions if all_of_them else spoiled(conditions):
        text(f"{each.link.source} > {each.link.target}  {each.rule.describe()}")
