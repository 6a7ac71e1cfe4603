"""The panels above and beside the table of nodes; each function returns lines of one width."""

from admin.cluster import short
from admin.cluster.lag import is_to_follow
from admin.cluster.past import PastEvent
from admin.cluster.picture import ClusterPicture
from admin.cluster.short import clock, seconds
from admin.cluster.surveys import ClusterHealth
from admin.doctor.facts import Severity
from cli.top import draw
from cli.top.draw import BAD, DIM, GOOD, HEAD, UNEASY, Lines, Signs
from qsync import __version__
from qsync.status.record import NodeStatus

HEALTH = {
    ClusterHealth.HEALTHY: ("  HEALTHY", GOOD),
    ClusterHealth.DEGRADED: ("! DEGRADED", UNEASY),
    ClusterHealth.DOWN: ("x DOWN", BAD),
}
BAR_ENTRIES_MIN = 20
"""What a bar of acks shows at least: who lacks one entry is not shown as if it had nothing."""
_LEVELS = {"E": BAD, "W": UNEASY, "I": ""}
_MARKS = {Severity.CRITICAL: ("x", BAD), Severity.WARNING: ("!", UNEASY)}


def header(picture: ClusterPicture, mode: str, width: int) -> Lines:
    """One line: which cluster, how it is, when, and what the screen does."""
    word, style = HEALTH[picture.verdict.health]
    left = draw.line((f"qsync top  {picture.cluster}  ", HEAD), (word, style))
    now = clock(picture.moment.time)
    rights = (f"{now} UTC  {mode}  qsync {__version__}", f"{now}  {mode}", now)
    room = width - len(left) - 2
    right = next((each for each in rights if len(each) <= room), now)
    draw.fit(left, width - len(right) - 2)
    left.append(f"  {right}", DIM)
    return [draw.fit(left, width)]


def verdict(picture: ClusterPicture, width: int, height: int) -> Lines:
    """Can it commit, what would break it, what to do: sentences."""
    _, style = HEALTH[picture.verdict.health]
    first = next(iter(picture.findings), None)
    fix = "nothing to do" if first is None else f"{first.subject}: {first.fix}"
    if not picture.moment.answers:
        fix = "see that the nodes run, and that the addresses and the network are right"
        fix = next((each.fix for each in picture.survey.silent if each.denied), fix)
    said = draw.wrapped(picture.verdict.sentence, width, height - 1, f"bold {style}")
    todo = draw.wrapped(f"-> {fix}", width, height - len(said))
    return [*said, *todo]


def leader(picture: ClusterPicture, width: int, *, wide: bool = False) -> Lines:
    """The leader, since when, and nodes that disagree."""
    node = picture.leader
    if node is None:
        heard = max((each.term for each in picture.survey.samples), default=0)
        return [draw.fit(draw.line(("LEADER  nobody", BAD), f"  term {heard}"), width)]
    since = next((each for each in picture.leaderships if each.term == node.term), None)
    held = "" if since is None else f"  for {short.lasting(picture.moment.time - since.since)}"
    found = picture.survey
    others = [each for each in found.samples if is_to_follow(found, each)]
    odd = [each for each in others if each.leader != node.id]
    agreed = ("  all agree", "") if not odd else (f"  ! {_disagreement(picture, odd)}", UNEASY)
    style = GOOD if not node.ro and node.stuck is None else BAD
    access = "takes writes" if not node.ro else f"READ-ONLY: {node.ro_reason}"
    if node.stuck is not None:
        access = f"CONFIRMS NOTHING for {seconds(node.stuck)}"
    more = f"  fencing {node.election.fencing}  mode {node.mode}" if wide else ""
    return [
        draw.fitting(
            width,
            ("LEADER  ", HEAD),
            (f"* {node.name}", style),
            f"  term {node.term}{held}",
            agreed,
            (f"  {access}", style),
            more,
        )
    ]


def _disagreement(picture: ClusterPicture, odd: list[NodeStatus]) -> str:
    each = odd[0]
    whom = picture.name(each.leader) if each.leader else "nobody"
    rest = f" and {len(odd) - 1} more" if len(odd) > 1 else ""
    return f"{each.name} follows {whom}{rest}"


def limbo(picture: ClusterPicture, width: int) -> Lines:
    """The pending entries, how long they wait, and for which nodes."""
    node = picture.leader
    if node is None:
        return [draw.fit(draw.line(("LIMBO   ", HEAD), "unknown without a leader"), width)]
    synchro, queue = node.synchro, node.synchro.queue
    share = queue.age / synchro.timeout if synchro.timeout and queue.len else 0.0
    style = BAD if share > _HALF else UNEASY if share > _TENTH else ""
    age = f"{seconds(queue.age)} of {synchro.timeout:g}s " if queue.len else ""
    waits = _waits_for(node)
    return [
        draw.fitting(
            width,
            ("LIMBO   ", HEAD),
            f"{short.amount(queue.len)} pending {short.size(queue.size)}  ",
            (f"oldest {age}{draw.bar(share, 10)}" if queue.len else "nothing waits", style),
            (f"  waits for {waits}" if waits else "", UNEASY),
            f"  confirmed {node.confirmed} head {node.last}",
        )
    ]


def _waits_for(node: NodeStatus) -> str:
    return ", ".join(each.label for each in node.synchro.queue.missing)


def quorum(picture: ClusterPicture, width: int) -> Lines:
    """How many there are, how many it takes, how many may go."""
    node, found = picture.leader, picture.verdict
    if node is None:
        needed = picture.survey.voters // 2 + 1
        there = len(picture.survey.voting)
        words = f"{there} of {picture.survey.voters} voters answer, an election takes {needed}"
        return [draw.fit(draw.line(("QUORUM  ", HEAD), (words, BAD)), width)]
    acked = "  ".join(
        f"{peer.name} {peer.acked if peer.acked is not None else '?'}" for peer in node.peers
    )
    style = BAD if found.margin < 0 else UNEASY if found.margin == 0 else GOOD
    margin = f"margin {found.margin}" + (" (any loss stops writes)" if found.margin == 0 else "")
    unsafe = "  BELOW A MAJORITY" if node.synchro.unsafe else ""
    words = f"{node.synchro.quorum} of {picture.survey.voters} voters  "
    on_disk = f"  on disk: {node.name} {node.written}  {acked}"
    return [
        draw.fit(
            draw.line(("QUORUM  ", HEAD), words, (margin, style), (unsafe, BAD), on_disk), width
        )
    ]


def work(picture: ClusterPicture, width: int, signs: Signs) -> Lines:
    """Throughput and latency in a line."""
    rates, commit = picture.rates, picture.commit
    half, slow, most = (commit.quantile(share) for share in (0.5, 0.99, 1.0))
    alarm = UNEASY if rates.unknown or rates.lost_async else ""
    longest = f" max {seconds(most)}" if width >= _ROOMY else ""
    return [
        draw.fitting(
            width,
            ("WRITE   ", HEAD),
            f"{short.amount(rates.writes)}/s {draw.spark(picture.sparks, 8, signs)}  ",
            f"p50 {seconds(half)} p99 {seconds(slow)}{longest}  ",
            f"read {short.amount(rates.reads)}/s  ",
            (f"unknown {rates.unknown} lost {rates.lost_async}", alarm),
        )
    ]


def performance(picture: ClusterPicture, width: int, signs: Signs) -> Lines:
    """The last minute in several lines."""
    rates, commit = picture.rates, picture.commit
    shares = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0))
    latency = "  ".join(f"{name} {seconds(commit.quantile(share))}" for name, share in shares)
    disks = "  ".join(
        f"{picture.name(id)} {seconds(each.quantile(0.99))}"
        for id, each in sorted(picture.disks.items())
    )
    clients = "  ".join(f"{each.clients} on {each.name}" for each in picture.survey.samples)
    top = max(picture.sparks, default=0.0)
    rows = (
        ("writes", f"{short.amount(rates.writes)}/s  max {short.amount(top)}/s"),
        ("", draw.spark(picture.sparks, max(0, min(60, width - 12)), signs)),
        ("commit", latency),
        ("fsync", f"p99 {disks}"),
        ("reads", f"{short.amount(rates.reads)}/s   conflicts {short.amount(rates.conflicts)}/s"),
        ("undone", f"{short.amount(rates.rolled_back)}/s rolled back"),
        ("since start", f"unknown {rates.unknown}  lost asynchronous {rates.lost_async}"),
        ("clients", clients),
    )
    return [draw.line((f"{name:<12}", DIM), words) for name, words in rows]


def acks(picture: ClusterPicture, width: int) -> Lines:
    """The durable index of every node, and the index that a quorum has reached."""
    node = picture.leader
    if node is None:
        return [draw.line("no leader, so nobody counts acks")]
    synchro, queue = node.synchro, node.synchro.queue
    reached = {node.name: node.written}
    reached |= {peer.name: peer.acked for peer in node.peers if peer.acked is not None}
    missing = _waits_for(node)
    age = (
        f"{seconds(queue.age)} of {synchro.timeout:g}s, then {synchro.policy}" if queue.len else "-"
    )
    lines = [
        draw.line(
            f"owner {picture.name(queue.owner)}  term {queue.term}  ",
            f"{queue.len} pending  {short.size(queue.size)} of {short.size(queue.bytes_max)}",
        ),
        draw.line(f"oldest {age}", ("  busy" if queue.busy else "", UNEASY)),
        draw.line(("missing " + missing, UNEASY) if missing else "no ack is missing"),
        draw.line(("durable up to", HEAD), f"    confirmed {node.confirmed}, head {node.last}"),
    ]
    span = max(node.last - min([node.confirmed, *reached.values()]), BAR_ENTRIES_MIN)
    for name, index in sorted(reached.items()):
        full = draw.bar(1 - (node.last - index) / span, max(8, width - 28))
        lines.append(draw.line(f"{name[:8]:<8} {index:>10} {full}"))
    return lines


def matrix(picture: ClusterPicture, width: int) -> Lines:
    """Connections between nodes: the row sends to the column."""
    rows = picture.rows()
    cell = max(5, min(11, (width - 10) // max(len(rows), 1)))
    head = "from \\ to " + "".join(f"{name[: cell - 1]:<{cell}}" for _, name in rows)
    lines = [draw.line((head, HEAD))]
    samples = {each.id: each for each in picture.survey.samples}
    for id, name in rows:
        made = draw.line(f"{name[:9]:<10}")
        for other, _ in rows:
            text, style = _link(samples.get(id), other)
            made.append(f"{text[: cell - 1]:<{cell}}", style)
        lines.append(made)
    return lines


def _link(node: NodeStatus | None, other: int) -> tuple[str, str]:
    if node is None:
        return "?", DIM
    if node.id == other:
        return ".", DIM
    peer = next((each for each in node.peers if each.id == other), None)
    if peer is None:
        return "-", DIM
    if peer.status != "up":
        return f"x {peer.status}", BAD
    if peer.recruit:
        return "! catchup", UNEASY
    return ("ok" if not peer.lag else f"ok -{short.amount(peer.lag)}"), ""


def history(picture: ClusterPicture) -> Lines:
    """Past leaders, since when, for how long, and why."""
    lines = [
        draw.line((f"{'term':>5} {'leader':<8} {'from':<9}{'held':>7}  {'took':>6}  reason", HEAD))
    ]
    until = picture.moment.time
    for each in picture.leaderships:
        if picture.leader is None or each.term != picture.leader.term:
            until = min(until, each.ended or until)
        took = seconds(each.took)
        held = short.lasting(max(until - each.since, 0.0))
        until = each.since
        when = clock(each.since)
        lines.append(
            draw.line(
                f"{each.term:>5} {each.leader[:8]:<8} {when:<9}{held:>7}  {took:>6}  {each.reason}"
            )
        )
    return lines if len(lines) > 1 else [draw.line("no node remembers an election")]


def findings(picture: ClusterPicture, width: int) -> Lines:
    """The problems that the doctor found, and the fixes."""
    if not picture.findings:
        calm = "nothing" if picture.moment.answers else "nobody answers, so nobody can say"
        return [draw.line(calm)]
    lines: Lines = []
    for each in picture.findings:
        sign, style = _MARKS[each.severity]
        said = draw.wrapped(f"{sign} {each.subject}: {each.text}", width, 2, style)
        lines += [*said, *draw.wrapped(f"  -> {each.fix}", width, 2)]
    return lines


def events(picture: ClusterPicture, width: int, height: int, wanted: str = "") -> Lines:
    """The newest first."""
    shown = [each for each in reversed(picture.events) if wanted in f"{_plain(each)} {each.name}"]
    return [
        draw.fit(draw.line((_plain(each), _LEVELS[each.level])), width) for each in shown[:height]
    ]


def _plain(event: PastEvent) -> str:
    return f"{clock(event.time)} {event.node:<4} {event.level} {event.sentence}"


_HALF, _TENTH = 0.5, 0.1
_ROOMY = 100
