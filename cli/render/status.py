"""The table of nodes and the sentence under it."""

from rich import box
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from admin.cluster import remarks, sides
from admin.cluster.node_rows import COLUMNS, NodeMark, mark, node_rows
from admin.cluster.surveys import ClusterHealth, ClusterSurvey, ClusterVerdict
from qsync.status.record import NodeStatus

NARROW = 60
"""Below this many columns a node is one line of text."""
_COLOURS = {
    ClusterHealth.HEALTHY: "green",
    ClusterHealth.DEGRADED: "yellow",
    ClusterHealth.DOWN: "red",
}


def status(
    found: ClusterSurvey, verdict: ClusterVerdict, *, width: int, plain: bool = False
) -> RenderableType:
    """The whole view at a width."""
    parts: list[RenderableType] = []
    if width < NARROW:
        parts += [Text(_one_line(found, each)) for each in found.samples]
        parts += [Text(f"{NodeMark.DOWN} {each.name} {each.why}") for each in found.silent]
    else:
        parts.append(table(found, width=width, plain=plain))
    parts += [Text(line, style="dim") for line in remarks.details(found)]
    parts += [Text(line, style="dim") for line in remarks.anonymous(found)]
    parts += [Text(f"{NodeMark.WARNING} {sides.sentence(each)}") for each in found.apart]
    parts.append(Text(verdict.sentence, style=f"bold {_COLOURS[verdict.health]}"))
    if verdict.health is not ClusterHealth.HEALTHY:
        parts += [Text(line) for line in remarks.advice(found)]
    return Group(*parts)


def table(found: ClusterSurvey, *, width: int, plain: bool = False) -> Table:
    """One row a node; columns that do not fit are left out, the least telling first."""
    columns = tuple(each for each in COLUMNS if width >= each.from_width)
    made = Table(box=None if plain else box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for each in columns:
        made.add_column(
            each.title,
            justify="right" if each.is_number else "left",
            min_width=each.min_width,
            no_wrap=True,
        )
    for row in node_rows(found, columns):
        made.add_row(*(escape(cell) for cell in row.cells))
    return made


def _one_line(found: ClusterSurvey, node: NodeStatus) -> str:
    access = "ro" if node.ro else "rw"
    return f"{mark(found, node)} {node.name} {node.part} {access} t{node.term} c{node.confirmed}"
