"""The table of nodes: one line each, columns by what the width allows."""

from collections.abc import Callable
from dataclasses import dataclass

from rich.text import Text

from admin.cluster import short, sides, surveys
from admin.cluster.lag import behind, is_to_follow
from admin.cluster.picture import ClusterPicture
from admin.cluster.short import seconds
from cli.top import draw
from cli.top.draw import BAD, GOOD, HEAD, UNEASY, Lines
from election.messages import Term
from qsync.core.generation import first_term_of, generation_of
from qsync.status.record import NodeStatus

APART_MAX = 3
BACKUPS_MAX = 3
_NARROW = 60


@dataclass(frozen=True, slots=True)
class Column:
    """`from_width`: narrower screens leave it out."""

    title: str
    width: int
    of: Callable[[ClusterPicture, NodeStatus], str]
    from_width: int = 0
    left: bool = False


def mark(picture: ClusterPicture, node: NodeStatus) -> str:
    """`*` leads, `!` in trouble, blank fine."""
    leader = picture.leader
    if leader is not None and node.id == leader.id:
        return "!" if node.ro else "*"
    link = _link(picture, node)
    odd = leader is None or node.leader != leader.id or node.name in picture.troubled
    return "!" if odd or link not in {"up", "-"} else " "


def table(picture: ClusterPicture, width: int, height: int, selected: int) -> Lines:
    """Title and rows, within the height."""
    if width < _NARROW:
        return _terse(picture, width, height, selected)
    columns = [each for each in COLUMNS if width >= each.from_width]
    head = "  " + " ".join(_cell(each, each.title) for each in columns)
    rows = {node.id: _row(picture, node, columns, selected) for node in picture.survey.samples}
    for each in picture.survey.silent:
        name = f"{_pointer(each.id, selected)}{_cell(columns[0], each.name)}"
        if each.denied:
            words = (f"!{name} denied: {each.why}", UNEASY)
            rows[each.id] = draw.line(words)
            continue
        rows[each.id] = draw.line((f"x{name}", BAD), (f" silent: {each.why}", UNEASY))
    if selected in rows:
        rows[selected].stylize("reverse")
    below = [*backups(picture), *apart(picture)]
    ordered = _ordered(picture, list(rows), height - 1 - len(below))
    lines = [draw.line((head, HEAD)), *(rows[id] for id in ordered)]
    if len(ordered) < len(rows):
        rest = len(rows) - len(ordered)
        lines[-1] = draw.line(f"  ... and {rest + 1} more, fine or less urgent")
    return [draw.fit(each, width) for each in [*lines, *below]]


def apart(picture: ClusterPicture) -> Lines:
    """Nodes that answer and are no part of this cluster: why, a line each, but not many."""
    found = picture.survey.apart
    words = [f"! {sides.sentence(each)}" for each in found]
    if len(words) > APART_MAX:
        words[APART_MAX - 1 :] = [f"! {len(found) - APART_MAX + 1} more are no part of it"]
    return [draw.line((each, UNEASY)) for each in words]


def backups(picture: ClusterPicture) -> Lines:
    """Backups under way, a line each with how far it is, but not many."""
    found = [(node, each) for node in picture.survey.samples for each in node.gc.readers]
    lines = [
        draw.line(
            f"  {node.name} gives its snapshot at {each.signature} to {each.address} "
            f"{draw.bar(each.share, 10)} of {short.size(each.bytes_in_all)}"
        )
        for node, each in found
    ]
    if len(lines) > BACKUPS_MAX:
        more = len(lines) - BACKUPS_MAX + 1
        lines[BACKUPS_MAX - 1 :] = [draw.line(f"  {more} more read snapshots")]
    return lines


def size(picture: ClusterPicture) -> int:
    """How many lines the table wants."""
    return 1 + len(picture.rows()) + len(apart(picture)) + len(backups(picture))


def _ordered(picture: ClusterPicture, ids: list[int], room: int) -> list[int]:
    """By id; when they do not fit, those in trouble first."""
    if len(ids) <= room:
        return sorted(ids)
    signs = {node.id: mark(picture, node) for node in picture.survey.samples}
    urgency = {id: "!* ".find(signs[id]) if id in signs else -1 for id in ids}
    return sorted(ids, key=lambda id: (urgency[id], id))[: max(room, 0)]


def _terse(picture: ClusterPicture, width: int, height: int, selected: int) -> Lines:
    """Below 60 columns: the essentials of each node."""
    found: list[tuple[int, Text]] = []
    for node in picture.survey.samples:
        access = "rw" if not node.ro else "ro"
        words = f"{node.name} {node.part} {access} t{node.term} c{node.confirmed}"
        sign = f"{mark(picture, node)}{_pointer(node.id, selected)}"
        found.append((node.id, draw.line(sign, words)))
    for each in picture.survey.silent:
        words = f"{each.name} {each.why}"
        cross = ("!", UNEASY) if each.denied else ("x", BAD)
        found.append((each.id, draw.line(cross, _pointer(each.id, selected), words)))
    lines = [text for _, text in sorted(found, key=lambda pair: pair[0])]
    below = [*backups(picture), *apart(picture)]
    return [draw.fit(each, width) for each in [*lines, *below][:height]]


def _pointer(id: int, selected: int) -> str:
    return ">" if id == selected else " "


def _row(picture: ClusterPicture, node: NodeStatus, columns: list[Column], selected: int) -> Text:
    sign = mark(picture, node)
    cells = " ".join(_cell(each, each.of(picture, node)) for each in columns)
    style = {"*": GOOD, "!": UNEASY}.get(sign, "")
    return draw.line((f"{sign}{_pointer(node.id, selected)}{cells}", style))


def _cell(column: Column, text: str) -> str:
    if len(text) > column.width:
        text = text[: column.width - 1] + "~"
    return text.ljust(column.width) if column.left else text.rjust(column.width)


def _link(picture: ClusterPicture, node: NodeStatus) -> str:
    """The leader's connection to it."""
    peer = surveys.peer_of(picture.survey, node.id)
    if peer is None:
        return "-"
    if peer.snapshot is not None:
        return draw.bar(peer.snapshot.share, 5)
    return "catchup" if peer.recruit and peer.status == "up" else peer.status


def _term(_: ClusterPicture, node: NodeStatus) -> str:
    """Of a history that was begun again: `GENERATION:TERM`, counted from the first one there."""
    generation = generation_of(Term(node.term))
    if not generation:
        return str(node.term)
    return f"{generation}:{node.term - first_term_of(generation)}"


def _access(_: ClusterPicture, node: NodeStatus) -> str:
    if not node.ro:
        return "rw"
    ordinary = node.role == "follower" and node.ro_reason == "election"
    return "ro" if ordinary else f"ro {node.ro_reason or '?'}"


def _lag(picture: ClusterPicture, node: NodeStatus) -> str:
    found = picture.survey
    return short.amount(behind(found, node)) if is_to_follow(found, node) else "-"


def _idle(_: ClusterPicture, node: NodeStatus) -> str:
    return "-" if node.leads else seconds(node.leader_idle)


def _fsync_slow(picture: ClusterPicture, node: NodeStatus) -> str:
    spread = picture.disks.get(node.id)
    return "-" if spread is None else seconds(spread.quantile(0.99))


def _vote(picture: ClusterPicture, node: NodeStatus) -> str:
    return picture.name(node.vote)


def _free(_: ClusterPicture, node: NodeStatus) -> str:
    return "-" if node.disk.free is None else short.size(node.disk.free)


COLUMNS = (
    Column("node", 8, lambda _, node: node.name, left=True),
    Column("id", 2, lambda _, node: str(node.id), from_width=165),
    Column("address", 21, lambda _, node: node.address, from_width=102, left=True),
    Column("role", 9, lambda _, node: node.part, left=True),
    Column("access", 11, _access, left=True),
    Column("term", 4, _term),
    Column("vote", 6, _vote, from_width=135, left=True),
    Column("vclock", 22, lambda _, node: short.vclock(node.vclock), from_width=130, left=True),
    Column("confirmed", 9, lambda _, node: str(node.confirmed)),
    Column("head", 9, lambda _, node: str(node.last), from_width=175),
    Column("lag", 5, _lag),
    Column("idle", 5, _idle, from_width=71),
    Column("link", 7, _link, from_width=79, left=True),
    Column("fsync", 5, lambda _, node: seconds(node.disk.usual_s), from_width=65),
    Column("p99", 5, _fsync_slow, from_width=178),
    Column("limbo", 5, lambda _, node: short.amount(node.synchro.queue.len)),
    Column("clients", 7, lambda _, node: str(node.clients), from_width=152),
    Column("free", 5, _free, from_width=140),
    Column("mem", 5, lambda _, node: short.size(node.memory.rss), from_width=145),
    Column("up", 6, lambda _, node: short.lasting(node.uptime), from_width=160),
    Column("version", 8, lambda _, node: node.version, from_width=190, left=True),
)
