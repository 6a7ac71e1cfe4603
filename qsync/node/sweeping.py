"""The periodic checks of a node: deadlines, expired sessions, changed files."""

from collections.abc import Mapping

from qsync.errors import ConfigError
from qsync.node import guard
from qsync.node.retention import Retention
from qsync.node.view import NodeView


def sweep(node: NodeView, retention: Retention, now: float) -> float:
    """Check once, at that time of the node's clock; return the time of the next check."""
    node.server.sweep()
    rights = guard.rights_of(node.replica)
    guard.end_sessions(rights, node.reactor)
    queries = node.requests.queries
    queries.audit.write_counts()
    if rights is not None and rights.auth:
        queries.audit.note_users(rights.auth)
        queries.audit_heads.tick(now)
    node.requests.expiry.sweep(now)
    retention.sweep(now)
    if node.storage.look():
        node.timeline.append("directory_gone", {"why": node.storage.gone})
    if node.links.tls is not None:
        note_certificates(node, node.links.tls.look())
    return now + retention.interval


def reload_certificates(node: NodeView) -> dict[str, object]:
    """Read the certificates now; return which is in use, until when, and why no newer one.

    Raises ConfigError where the node speaks no TLS.
    """
    tls = node.links.tls
    if tls is None:
        raise ConfigError(
            "this node speaks no TLS: there are no certificates to read",
            hint="section `tls` of its configuration names them; it is read at the start",
        )
    note_certificates(node, tls.look(always=True))
    used = tls.status()
    return {"serial": used.serial, "expires": used.expires, "error": used.error}


def note_certificates(node: NodeView, news: Mapping[str, object] | None) -> None:
    """Note that files of certificates were read, or could not be used."""
    if news is not None:
        event = "certificate_refused" if "error" in news else "certificate_read"
        node.timeline.append(event, dict(news))
