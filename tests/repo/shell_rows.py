"""Rows of the shell's reference: what is refused, and which injections break what."""

from collections.abc import Iterator

from cli.shell.injections import LINKS, POINTS
from cli.shell.refused import REFUSED
from qsync.faults import ABOUT


def refusals() -> Iterator[str]:
    """Every name that is refused: why, and what to do instead."""
    yield "| name | why there is none | instead |"
    yield "|---|---|---|"
    for name, (why, instead) in REFUSED.items():
        kind, _, rest = name.partition(".")
        shown = f"box.cfg.{rest}" if kind == "cfg" else name
        yield f"| `{shown}` | {why} | {instead.replace('|', chr(92) + '|')} |"


def injections() -> Iterator[str]:
    """Every injection that is known: what it does, and where it can be done."""
    yield "| injection | does | where |"
    yield "|---|---|---|"
    for name, (point, _) in POINTS.items():
        yield f"| `{name}` | {ABOUT[point]} | nodes with `node.faults: true`, as those of a lab |"
    for name, each in LINKS.items():
        what = "is held back for so many seconds" if each.seconds else "goes nowhere"
        whose = "what the node and the others send each other"
        yield f"| `{name}` | {whose} {what} | labs, by the proxies between their nodes |"
