"""The status page: one picture of a cluster as one file of HTML, in the words of `qsync status`."""

from collections.abc import Iterable, Sequence
from typing import Final

from admin.cluster import remarks, sides
from admin.cluster.node_rows import COLUMNS, NodeMark, node_rows
from admin.cluster.past import Leadership, PastEvent
from admin.cluster.picture import SPARKS, ClusterPicture
from admin.cluster.short import amount, clock, lasting, seconds, size
from admin.cluster.surveys import ClusterHealth
from admin.html import page
from admin.page import dress
from admin.page.look import PERIOD_S
from admin.page.sparkline import sparkline
from admin.page.words import as_html, clean, lines, section
from qsync import __version__
from qsync.status import health
from qsync.status.record import NodeStatus

EVENTS_SHOWN: Final = 30
LEADERS_SHOWN: Final = 10
FINDINGS_SHOWN: Final = 20
LINES_SHOWN: Final = 40
NODES_SHOWN: Final = 100
_VERDICTS: Final = {
    ClusterHealth.HEALTHY: "passed",
    ClusterHealth.DEGRADED: "doubtful",
    ClusterHealth.DOWN: "failed",
}
_MARKS: Final = {NodeMark.WARNING: ' class="doubt"', NodeMark.DOWN: ' class="bad"'}
_LEVELS: Final = {"E": ("error", "bad"), "W": ("warning", "doubt"), "I": ("info", "")}


def whole(picture: ClusterPicture, here: NodeStatus) -> str:
    """The file. `here`: the node that shows it."""
    word = picture.verdict.health.value
    body = [
        _header(picture, here),
        '<p id="stale" class="stale" role="alert" hidden></p>',
        "<main>",
        section("verdict", "", _verdict(picture), live=True),
        section("here", "This node", _here(here, picture.moment.time)),
        section("nodes", "Nodes", _nodes(picture)),
        section("limbo", "Limbo", _limbo(picture)),
        section("work", "Writes and reads", _work(picture)),
        section("findings", "What to do", _findings(picture)),
        section("terms", "Who led", _leaders(picture)),
        section("events", "Events", _events(picture.events)),
        "</main>",
        _footer(here),
        f"<script>{dress.SCRIPT}</script>",
    ]
    title = f"{clean(picture.cluster)}: {word} (qsync, seen by {clean(here.name)})"
    return page.whole(title, body, style=dress.STYLE, head=dress.HEAD)


def _header(picture: ClusterPicture, here: NodeStatus) -> str:
    return (
        f"<header><h1>{as_html(picture.cluster)}</h1>"
        f'<p class="muted small">seen by {as_html(here.name)}</p></header>'
    )


def _footer(here: NodeStatus) -> str:
    return (
        f"<footer><p>qsync {as_html(here.version or __version__)}. Read-only. Asked every "
        f"{PERIOD_S:g} s while somebody looks; nothing is kept otherwise. Times are UTC. The same "
        'as data: <a href="status.json">status.json</a>; of this node alone: '
        '<a href="status">status</a>, <a href="metrics">metrics</a>.</p></footer>'
    )


def _verdict(picture: ClusterPicture) -> Iterable[str]:
    """Can it commit, what would break it; and when that was seen."""
    kind = _VERDICTS[picture.verdict.health]
    yield f'<p class="verdict {kind}">{as_html(picture.verdict.sentence)}</p>'
    first = next(iter(picture.findings), None)
    if first is not None:
        yield f'<p class="fix">→ {as_html(first.subject)}: {as_html(first.fix)}</p>'


def _here(here: NodeStatus, time: float) -> Iterable[str]:
    """The status of this node, also when no other node answers."""
    access = "takes writes" if not here.ro else "takes no writes"
    whom = "" if here.leads else f"follows {here.leader_name or 'nobody'}, "
    yield (
        f"<p>{as_html(here.name)} ({as_html(here.address)}) is {as_html(here.part or 'a node')} "
        f"in term {here.term}, {as_html(whom)}{access}; it has run for "
        f"{lasting(here.uptime)}. Seen at {clock(time)} UTC.</p>"
    )
    wrong = health.unsound(here)
    if wrong is not None:
        yield f'<p class="bad">Not sound: {as_html(wrong)}</p>'
    yield lines([f"takes no writes: {each}" for each in here.ro_texts], most=LINES_SHOWN)


def _nodes(picture: ClusterPicture) -> Iterable[str]:
    """The table, and what it has no room for."""
    found = picture.survey
    heads, cells = [], []
    for each in COLUMNS:
        roomy = each.from_width > 0  # what a narrow terminal leaves out
        kinds = [*(["number"] if each.is_number else []), *(["roomy"] if roomy else [])]
        cells.append(f' class="{" ".join(kinds)}"' if kinds else "")
        heads.append(f'<th scope="col"{cells[-1]}>{each.title or "mark"}</th>')
    rows = node_rows(found, COLUMNS)
    body = "".join(
        f"<tr{_MARKS.get(row.mark, '')}>"
        + "".join(
            f"<td{kind}>{as_html(cell)}</td>" for kind, cell in zip(cells, row.cells, strict=True)
        )
        + "</tr>"
        for row in rows[:NODES_SHOWN]
    )
    yield (
        '<div class="wide" tabindex="0" role="region" aria-label="Nodes"><table>'
        f"<thead><tr>{''.join(heads)}</tr></thead><tbody>{body}</tbody></table></div>"
        '<p class="muted small">* leads, ! look at it, x does not answer</p>'
    )
    more = len(rows) - NODES_SHOWN
    said = [f"and {more} more nodes"] if more > 0 else []
    said += remarks.details(found) + remarks.anonymous(found)
    said += [f"{NodeMark.WARNING} {sides.sentence(each)}" for each in found.apart]
    yield lines(said, most=LINES_SHOWN)


def _limbo(picture: ClusterPicture) -> Iterable[str]:
    """The pending entries, for how long they wait, and for which nodes."""
    node = picture.leader
    if node is None:
        yield '<p class="doubt">Unknown: no leader answers.</p>'
        return
    synchro, queue = node.synchro, node.synchro.queue
    quorum = f"{synchro.quorum} of {picture.survey.voters} voters must have each transaction"
    unsafe = "; that is below a majority" if synchro.unsafe else ""
    yield (
        f"<p>{amount(queue.len)} pending, {size(queue.size)}; {quorum}{unsafe}. Confirmed up to "
        f"{node.confirmed}, the log ends at {node.last}.</p>"
    )
    if not queue.len:
        return
    allowed = synchro.timeout or queue.age or 1.0
    waits = ", ".join(each.label for each in queue.missing) or "its quorum"
    yield (
        f"<p>The oldest has waited {seconds(queue.age)} of {synchro.timeout:g}s, for "
        f"{as_html(waits)}.</p>"
        f'<meter min="0" max="{allowed:g}" value="{min(queue.age, allowed):g}" '
        f'high="{allowed / 2:g}" aria-label="how long the oldest one has waited">'
        f"{queue.age:.1f} s</meter>"
    )


def _work(picture: ClusterPicture) -> Iterable[str]:
    """Throughput and latency, now and of late."""
    rates, commit = picture.rates, picture.commit
    top = max(picture.sparks, default=0.0)
    slowest = max((each for each in picture.slow if each is not None), default=None)
    now = next((each for each in reversed(picture.slow[-1:]) if each is not None), None)
    writes = f"writes per second: {amount(rates.writes)} now, at most {amount(top)}"
    slow = f"99 of 100 writes took at most: {seconds(now)} now, {seconds(slowest)} at the worst"
    halves = ", ".join(
        f"{name} {seconds(commit.quantile(share))}"
        for name, share in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))
    )
    yield '<div class="tiles">'
    yield _tile(
        "Writes per second",
        amount(rates.writes),
        sparkline(picture.sparks, places=SPARKS, label=writes),
        f"at most {amount(top)}; of the last {_span(picture.sparks)}",
    )
    yield _tile(
        "Latency of writes, p99",
        seconds(now),
        sparkline(picture.slow, places=SPARKS, label=slow),
        f"of the last minute: {halves}",
    )
    yield _tile(
        "Reads per second",
        amount(rates.reads),
        "",
        f"{amount(rates.conflicts)}/s conflicts, {amount(rates.rolled_back)}/s rolled back; since "
        f"the nodes began: {rates.unknown} outcomes unknown, {rates.lost_async} asynchronous "
        "writes lost",
    )
    yield "</div>"


def _tile(name: str, figure: str, drawn: str, more: str) -> str:
    return (
        f'<div class="tile"><h3>{name}</h3><p class="figure">{as_html(figure)}</p>{drawn}'
        f'<p class="muted small">{as_html(more)}</p></div>'
    )


def _findings(picture: ClusterPicture) -> Iterable[str]:
    """The problems that the doctor found, and the fixes."""
    if not picture.findings:
        yield "<p>Nothing.</p>"
        return
    for each in picture.findings[:FINDINGS_SHOWN]:
        kind = "bad" if each.severity == "critical" else "doubt"
        yield (
            f'<p><span class="{kind}">{as_html(each.severity)}</span> {as_html(each.subject)}: '
            f"{as_html(each.text)}<br>→ {as_html(each.fix)}</p>"
        )
    more = len(picture.findings) - FINDINGS_SHOWN
    if more > 0:
        yield f"<p>and {more} more: <code>qsync doctor</code></p>"


def _leaders(picture: ClusterPicture) -> Iterable[str]:
    """Return leaders, times and reasons; the newest first."""
    known = picture.leaderships[:LEADERS_SHOWN]
    if not known:
        yield "<p>No node remembers an election.</p>"
        return
    yield page.table(
        ("term", "leader", "from", "took", "reason"),
        [_leadership(each) for each in known],
    )


def _leadership(each: Leadership) -> Sequence[str]:
    return (
        str(each.term),
        as_html(each.leader),
        clock(each.since),
        seconds(each.took),
        as_html(each.reason),
    )


def _events(events: Sequence[PastEvent]) -> Iterable[str]:
    """The newest first, of all nodes that answer."""
    rows = []
    for each in list(reversed(events))[:EVENTS_SHOWN]:
        word, kind = _LEVELS[each.level]
        told = as_html(each.sentence)
        rows.append(
            (
                clock(each.time),
                as_html(each.node),
                f'<span class="{kind}">{word}</span>',
                f'<span class="event">{told}</span>',
            )
        )
    if rows:
        yield page.table(("time", "node", "severity", "what"), rows)
    else:
        yield "<p>None known.</p>"


def _span(sparks: Sequence[float]) -> str:
    """For how long numbers are there."""
    return lasting(len(sparks) * PERIOD_S)
