"""What a node had on its disk it has in its next life: restarts lose nothing."""

from dataclasses import dataclass

from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import NodeEvent, RunTables, Status, Whose

FORWARD = "lives-forward"


@dataclass(slots=True)
class _Past:
    """What a directory must hold by now: who led had its ballot on it."""

    sample: Status
    led: Status | None = None
    safe: Status | None = None

    def apply(self, each: Status) -> None:
        self.sample = each
        if (each.role == "leader" or each.ro is False) and _term(self.led) < each.term:
            self.led = each
        if _safe(self.safe) < _safe(each):
            self.safe = each


def find(run: RunTables) -> RuleFinding:
    """The first sample of a life is not behind what earlier lives had on the same disk."""
    found = RuleFinding()
    past: dict[Whose, _Past] = {}
    for each in run.status:
        before = past.setdefault(each.whose, _Past(each))
        if before.sample.life != each.life:
            found.facts += 1
            _compare(before, each, found)
        before.apply(each)
    _ballots(run, found)
    return found


def _compare(before: _Past, each: Status, found: RuleFinding) -> None:
    led, safe = before.led, before.safe
    where = {"node": each.node, "index": each.sample, "term": each.term}
    if led is not None and each.term < led.term:
        message = f"node {each.node} led term {led.term}, and starts in term {each.term}"
        found.broken(FORWARD, message, (led.shows(), each.shows()), **where)
    elif safe is not None and each.last is not None and each.last < _safe(safe):
        message = f"node {each.node} had {_safe(safe)} confirmed on disk, and starts at {each.last}"
        found.broken(FORWARD, message, (safe.shows(), each.shows()), **where)


def _ballots(run: RunTables, found: RuleFinding) -> None:
    """No sample is behind the ballot that was on the disk before it."""
    ballots: dict[Whose, list[NodeEvent]] = {}
    for each in run.events if run.manifest.clock == "one" else ():
        if each.name == "ballot":
            ballots.setdefault(each.whose, []).append(each)
    known: dict[Whose, int] = {}
    for sample in run.status:
        written = ballots.get(sample.whose, [])
        at = known.get(sample.whose, 0)
        while at < len(written) and written[at].time_mono < sample.time_mono:
            at += 1
        known[sample.whose] = at
        if not at:
            continue
        found.facts += 1
        ballot = written[at - 1]
        if sample.term < ballot.term:
            message = (
                f"node {sample.node} is in term {sample.term}; its disk had {ballot.term} before"
            )
            where = {"node": sample.node, "index": sample.sample, "term": sample.term}
            found.broken(FORWARD, message, (ballot.shows(), sample.shows()), **where)


def _term(sample: Status | None) -> int:
    return 0 if sample is None else sample.term


def _safe(sample: Status | None) -> int:
    if sample is None or sample.written is None:
        return 0
    return min(sample.confirmed or 0, sample.written)
