"""What a node looks at once in a while: who is late, what has expired, which files are others."""

from qsync.node import guard
from qsync.node.retention import Retention
from qsync.node.view import NodeView

SWEEP_INTERVAL = 1.0
"""Seconds between two looks."""


def sweep(node: NodeView, retention: Retention, now: float) -> float:
    """One look, at that time of the node's clock; the time of the next one."""
    node.server.sweep()
    rights = guard.rights_of(node.replica)
    guard.end_sessions(rights, node.reactor)
    if rights is not None:
        node.requests.queries.audit_heads.tick(now)
    node.requests.expiry.sweep(now)
    retention.sweep(now)
    if node.storage.look():
        node.timeline.append("directory_gone", {"why": node.storage.gone})
    tls = node.links.tls
    news = None if tls is None else tls.look()
    if news is not None and "error" in news:
        node.timeline.append("certificate_refused", news)
    elif news is not None:
        node.timeline.append("certificate_read", news)
    return now + SWEEP_INTERVAL
