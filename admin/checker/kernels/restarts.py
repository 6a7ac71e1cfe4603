"""A node keeps the content of its disk after a restart."""

from admin.checker.kernels.columns import Whose
from admin.checker.kernels.kernel import Evidence, Kernel, groups
from admin.checker.rules import texts
from admin.checker.rules.rule import RuleFinding

FORWARD, KEPT = "lives-forward", "confirmed-kept"


def forward(evidence: Evidence) -> RuleFinding:
    """The first sample of a life is not behind the disk content of earlier lives.

    A leader had its ballot of that term on the disk.
    """
    found, status = RuleFinding(), evidence.status
    broken: list[tuple[int, int, str]] = []
    for own in groups(range(len(status)), status.node, status.generation).values():
        led = safe = -1
        for before, at in zip([own[0], *own], own, strict=False):
            if status.life[at] != status.life[before]:
                found.facts += 1
                broken += _lost(evidence, at, led, safe)
            leads = status.role[at] == "leader" or status.ro[at] is False
            if leads and status.term[at] > (status.term[led] if led >= 0 else 0):
                led = at
            if status.safe(at) > (status.safe(safe) if safe >= 0 else 0):
                safe = at
    for at, before, message in sorted(broken):
        found.broken(FORWARD, message, status.shows(before, at), **status.where(at))
    _ballots(evidence, found)
    return found


def _lost(evidence: Evidence, at: int, led: int, safe: int) -> list[tuple[int, int, str]]:
    status = evidence.status
    node, term, last = status.node[at], status.term[at], status.last[at]
    if led >= 0 and term < status.term[led]:
        return [(at, led, f"node {node} led term {status.term[led]}, and starts in term {term}")]
    if safe >= 0 and last is not None and last < status.safe(safe):
        had = f"node {node} had {status.safe(safe)} confirmed on disk"
        return [(at, safe, f"{had}, and starts at {last}")]
    return []


def _ballots(evidence: Evidence, found: RuleFinding) -> None:
    """No sample is behind the ballot that was on the disk before."""
    if evidence.manifest.clock != "one":
        return
    status, events = evidence.status, evidence.events
    written = groups(events.places("ballot"), events.node, events.generation)
    broken: list[tuple[int, int]] = []
    for whose, own in groups(range(len(status)), status.node, status.generation).items():
        ballots, count = written.get(whose, []), 0
        for at in own:
            time = status.time_mono[at]
            while count < len(ballots) and events.time_mono[ballots[count]] < time:
                count += 1
            found.facts += count > 0
            if count and status.term[at] < events.term[ballots[count - 1]]:
                broken.append((at, ballots[count - 1]))
    for at, ballot in sorted(broken):
        who, had = f"node {status.node[at]} is in term {status.term[at]}", events.term[ballot]
        rows = (*events.shows(ballot), *status.shows(at))
        found.broken(FORWARD, f"{who}; its disk had {had} before", rows, **status.where(at))


def kept(evidence: Evidence) -> RuleFinding:
    """Every entry that was on a node's disk and confirmed is still in its log."""
    found, status, ends = RuleFinding(), evidence.status, evidence.ends
    samples = groups(range(len(status)), status.node, status.generation)
    safe: dict[Whose, int] = {
        whose: max(status.safe(at) for at in own) for whose, own in samples.items()
    }
    for facts in evidence.manifest.nodes:
        safe.setdefault(facts.whose, min(facts.confirmed, facts.last))
    logs = {ends.whose(at): at for at in range(len(ends))}
    damaged = {each.whose for each in evidence.manifest.nodes if each.problem}
    newest: dict[int, int] = {}
    for node, generation in (*safe, *logs):
        newest[node] = max(newest.get(node, 0), generation)
    for whose, upto in safe.items():
        # The content of a lost directory is lost with it, and damage is not a violation.
        if upto == 0 or not logs or whose[1] < newest[whose[0]] or whose in damaged:
            continue
        found.facts += 1
        last = ends.index[logs[whose]] if whose in logs else 0
        if last < upto:
            message = texts.ends_before_confirmed(whose[0], upto, last)
            told = [at for at in samples.get(whose, ()) if (status.confirmed[at] or 0) > last]
            end = [logs[whose]] if whose in logs else []
            rows = (*status.shows(*told[:1]), *ends.shows(*end))
            found.broken(KEPT, message, rows, node=whose[0], index=upto)
    return found


KERNELS = (
    Kernel(
        KEPT,
        "confirmed entries stay in the log",
        ("wal",),
        kept,
        idle="no node with a log is known to have a confirmed entry on its disk",
    ),
    Kernel(
        FORWARD,
        "a restart loses nothing that was on the disk",
        ("status",),
        forward,
        events=frozenset({"ballot"}),
        counts="status",
        idle="no sample was taken after a restart or a ballot",
    ),
)
