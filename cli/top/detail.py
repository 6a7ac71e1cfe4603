"""One node in full: why it does not write, how far it is, its disk, its links, its last votes."""

from rich.text import Text

from admin.cluster import short
from admin.cluster.picture import ClusterPicture
from admin.cluster.short import seconds
from cli.top import draw
from cli.top.draw import DIM, HEAD, UNEASY, Lines
from qsync.status.record import NodeStatus
from qsync.units import how_many

_VOTES_SHOWN = 3
_KEY_WIDTH = 10


def detail(picture: ClusterPicture, id: int, width: int) -> Lines:
    """Of the selected node."""
    node = next((each for each in picture.survey.samples if each.id == id), None)
    if node is None:
        silent = next((each for each in picture.survey.silent if each.id == id), None)
        if silent is None:
            return [draw.line("no node is selected: j and k, or the arrows")]
        how = "it does not let us ask" if silent.denied else "it does not answer"
        return [
            draw.line((f"{silent.name}", HEAD), f"  {silent.address}"),
            draw.line((f"{how}: {silent.why}", UNEASY)),
        ]
    lines = [
        draw.fitting(
            width,
            (node.name, HEAD),
            f"  id {node.id}  {node.address}  {node.status}  pid {node.pid}",
            f"  up {short.lasting(node.uptime)}  {node.version}",
            f"  uuid {node.uuid}",
        ),
    ]
    lines += [_pair("read-only", reason, UNEASY) for reason in node.ro_texts]
    lines += [_pair(name, words) for name, words in _facts(picture, node)]
    lines += _links(node)
    lines += _votes(picture, node)
    return [draw.fit(each, width) for each in lines]


def _facts(picture: ClusterPicture, node: NodeStatus) -> list[tuple[str, str]]:
    disk, spread = node.disk, picture.disks.get(node.id)
    slow = spread.quantile(0.99) if spread is not None else None
    usual = seconds(disk.usual_s)
    free = "?" if disk.free is None or not disk.total else short.size(disk.free)
    counters = [(name, count) for name, count in sorted(node.counters.items()) if count]
    behind = "" if node.behind is None else f"  behind {node.behind}"
    election = (
        f"{node.part} term {node.term} voted {picture.name(node.vote)} mode {node.mode} "
        f"fencing {node.election.fencing} leader {node.leader_name or 'nobody'}"
    )
    log = (
        f"head {node.last}  durable {node.written}  confirmed {node.confirmed}  "
        f"visible {node.visible}  folded {node.folded}{behind}"
    )
    writes = (
        f"{disk.writer}  write {usual}{'' if slow is None else f' p99 {seconds(slow)}'}  "
        f"free {free}  rows in memory {short.amount(node.memory.overlay_rows)}  {disk.error or ''}"
    )
    newest = node.gc.checkpoints[-1].signature if node.gc.checkpoints else "none"
    held = "" if node.gc.held_by is None else f"  kept for {node.gc.held_by.why}"
    kept = (
        f"{short.size(node.memory.log)} of log from {node.gc.signature + 1} on  "
        f"newest snapshot {newest}{held}"
    )
    process = (
        f"memory {short.size(node.memory.rss)}  files {'/'.join(map(str, node.files))}  "
        f"clients {node.clients}  waiting {node.waiters}"
    )
    return [
        ("election", election),
        ("log", log),
        ("disk", writes),
        ("kept", kept),
        ("process", process),
        ("counters", "  ".join(f"{name} {count}" for name, count in counters)),
        (
            "archive",
            f"{how_many(node.lost.entries, 'entry')} cut from its log"
            if node.lost.entries
            else "nothing was cut",
        ),
    ]


def _links(node: NodeStatus) -> Lines:
    return [
        _pair(
            f"-> {peer.name}",
            f"{peer.status}"
            + (f"  acked {peer.acked}  lag {peer.lag}" if peer.acked is not None else "")
            + (f"  heard {seconds(peer.idle)} ago" if peer.idle is not None else "")
            + (f"  {peer.message}" if peer.message else ""),
        )
        for peer in node.peers
    ]


def _votes(picture: ClusterPicture, node: NodeStatus) -> Lines:
    lines: Lines = []
    for each in node.election.tallies[-_VOTES_SHOWN:]:
        said = "  ".join(f"{picture.name(id)} {word}" for id, word in each.answers.items())
        kind = "pre-vote" if each.pre else "vote"
        who = picture.name(each.candidate)
        lines.append(_pair(kind, f"term {each.term} for {who}: {said}"))
    return lines


def _pair(name: str, words: str, style: str = "") -> Text:
    return draw.line((f"{name:<{_KEY_WIDTH}}", DIM), (words, style))
