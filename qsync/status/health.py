"""Judges a node's health, for metrics, surveys, checks and `box.info.health`."""

from qsync.status.record import HealthCheck, HealthStatus, NodeStatus

BUSY_S_MAX = 1.0
"""How long a write of the log may take before it counts as hanging."""
SOUND = ("box", "disk", "spaces")
"""The checks that do not depend on a leader."""


def judge(node: NodeStatus) -> HealthStatus:
    """Return every check, with what is wrong if it fails.

    A node whose write hangs is not alive: only a restart ends a write that the disk keeps. A node
    that is alive is ready when nothing at all is wrong, and there is a leader.
    """
    found = {
        "box": _takes_part(node),
        "disk": f"cannot write to its disk: {node.disk.error}" if node.disk.error else None,
        "spaces": _rows(node),
        "writer": _hangs(node),
        "leader": None if node.leader else f"no leader in term {node.term}",
    }
    return HealthStatus(
        alive=found["writer"] is None,
        ready=all(why is None for why in found.values()),
        checks={name: HealthCheck(ok=why is None, why=why) for name, why in found.items()},
    )


def wrong(node: NodeStatus, *checks: str) -> str | None:
    """Return the finding of the first failing check of these; None if all pass."""
    judged = judge(node).checks
    return next((judged[name].why for name in checks if not judged[name].ok), None)


def unsound(node: NodeStatus) -> str | None:
    """Return why the node is not sound; None for a sound one."""
    return wrong(node, *SOUND)


def dead(node: NodeStatus) -> str | None:
    """Return why only a restart helps; None for a node that is alive."""
    return None if judge(node).alive else wrong(node, "writer")


def _takes_part(node: NodeStatus) -> str | None:
    if node.quarantined:
        return f"quarantined: {node.quarantined}"
    if node.status == "old_copy":
        return f"old copy: {node.old_copy}"
    if node.status == "superseded":
        return "superseded: " + "; ".join(node.ro_texts[:1])
    return f"status is {node.status}" if node.status not in {"running", ""} else None


def _rows(node: NodeStatus) -> str | None:
    spaces = node.spaces
    if spaces.error:
        return spaces.error
    if spaces.differs:
        where = ", ".join(spaces.differs)
        return f"its rows of {where} differ from the leader's at index {spaces.compared}"
    return None


def _hangs(node: NodeStatus) -> str | None:
    busy = node.disk.busy_s
    return f"a write of its log has not ended for {busy:.2g} s" if busy > BUSY_S_MAX else None
