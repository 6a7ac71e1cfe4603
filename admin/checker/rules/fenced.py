"""A leader that was replaced stops taking writes, at the latest when its fence says so."""

from admin.checker.rules.rule import Rule, RuleFinding
from admin.checker.rules.run import RunTables, Status
from admin.evidence.manifest import Manifest
from qsync.core.config import DISCONNECT_FACTOR
from qsync.units import duration

FENCED = "fenced"
SETTING = "fence_seconds"
"""In the manifest: how long a leader may go on that hears no quorum."""
SLACK_S = 1.0
"""Samples of real nodes are dated when they were asked for, which may be as long before."""
NANOS = 1_000_000_000


def fence(manifest: Manifest) -> float | None:
    """By the manifest, or by the settings of the nodes that it has; None if it has neither."""
    given = manifest.settings.get(SETTING)
    if isinstance(given, int | float):
        return float(given)
    known = manifest.settings.get("replication")
    timeout = known.get("timeout") if isinstance(known, dict) else None
    try:
        return None if timeout is None else DISCONNECT_FACTOR * duration(str(timeout)) + SLACK_S
    except ValueError:
        return None


def excuse(manifest: Manifest) -> str:
    """Why nobody can say that somebody was late."""
    if fence(manifest) is None:
        return "nobody knows when the fence falls"
    return "" if manifest.clock == "one" else "the clocks of the nodes cannot be compared"


def find(run: RunTables) -> RuleFinding:
    """Once a node takes writes in a term, nobody does in a lower one for longer than the fence."""
    limit, why = fence(run.manifest), excuse(run.manifest)
    if limit is None or why:
        return RuleFinding(lacks=why)
    writable = [each for each in run.status if each.ro is False]
    first: dict[int, Status] = {}
    for each in sorted(writable, key=lambda sample: sample.time_mono):
        first.setdefault(each.term, each)
    terms = sorted(first)
    found = RuleFinding(lacks="" if len(terms) > 1 else "nobody was replaced")
    for each in writable if not found.lacks else ():
        newer = next((first[term] for term in terms if term > each.term), None)
        if newer is None:
            continue
        found.facts += 1
        late = each.time_mono - newer.time_mono - int(limit * NANOS)
        if newer.node != each.node and late > 0:
            message = (
                f"node {each.node} takes writes in term {each.term}, {late / NANOS:.3f} s after "
                f"node {newer.node} did in term {newer.term} and the fence of {limit:g} s"
            )
            where = {"node": each.node, "index": each.sample, "term": each.term}
            found.broken(FENCED, message, (newer.shows(), each.shows()), **where)
    return found


RULE = Rule(
    FENCED,
    "a leader that was replaced stops in time",
    ("status",),
    find,
    counts="status",
    excuse=excuse,
    idle="nobody was replaced",
)
