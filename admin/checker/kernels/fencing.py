"""A replaced leader stops accepting writes when its fence expires, at the latest."""

from itertools import pairwise

from admin.checker.kernels.kernel import Evidence, Kernel
from admin.checker.rules.rule import RuleFinding
from admin.evidence.manifest import Manifest
from qsync.core.config import DISCONNECT_FACTOR
from qsync.units import duration

FENCED = "fenced"
SETTING = "fence_seconds"
"""In the manifest: how long a leader may accept writes without a quorum."""
SLACK_S = 1.0
"""Samples of real nodes have the time of the request, which may be this much earlier."""
NANOS = 1_000_000_000


def fence(manifest: Manifest) -> float | None:
    """Return the fence of the manifest, or of the nodes' settings; None if neither has it."""
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
    """Why a late leader cannot be detected."""
    if fence(manifest) is None:
        return "the fence is not known"
    return "" if manifest.clock == "one" else "the clocks of the nodes cannot be compared"


def fenced(evidence: Evidence) -> RuleFinding:
    """After a node accepts writes in a term, a node in a lower term stops within the fence."""
    limit, why = fence(evidence.manifest), excuse(evidence.manifest)
    if limit is None or why:
        return RuleFinding(lacks=why)
    status, time = evidence.status, evidence.status.time_mono
    writable = [at for at, ro in enumerate(status.ro) if ro is False]
    first: dict[int, int] = {}
    for at in writable:
        before = first.setdefault(status.term[at], at)
        if time[at] < time[before]:
            first[status.term[at]] = at
    terms = sorted(first)
    following = dict(pairwise(terms))
    found = RuleFinding(lacks="" if len(terms) > 1 else "no leader was replaced")
    for at in writable:
        term = status.term[at]
        if term not in following:
            continue
        found.facts += 1
        newer = first[following[term]]
        late = time[at] - time[newer] - int(limit * NANOS)
        if status.node[newer] != status.node[at] and late > 0:
            message = (
                f"node {status.node[at]} takes writes in term {term}, {late / NANOS:.3f} s after "
                f"node {status.node[newer]} did in term {status.term[newer]} and the fence of "
                f"{limit:g} s"
            )
            found.broken(FENCED, message, status.shows(newer, at), **status.where(at))
    return found


KERNELS = (
    Kernel(
        FENCED,
        "a replaced leader stops in time",
        ("status",),
        fenced,
        counts="status",
        excuse=excuse,
        idle="no leader was replaced",
    ),
)
