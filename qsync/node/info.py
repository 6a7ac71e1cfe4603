"""The parts of INFO that go by name: `box.info`, the settings in force, the newest events."""

from collections.abc import Callable, Mapping
from typing import Final

from qsync.node.options import effective
from qsync.node.status import status
from qsync.node.view import NodeView
from qsync.status.record import BoxInfo, as_members

SCHEMA: Final = "qsync/info/1"
LOG_START: Final = "log_start"
"""The entry behind which the log begins (`qsync.core.logstart`), as bytes."""
AUDIT: Final = "audit"
"""The head of this node's audit trail, and of the others'."""
EVENTS_SHOWN = 100
"""How many of the newest events an answer holds."""


def parts(node: NodeView) -> Mapping[str, Callable[[], object]]:
    """Return the parts of INFO beside the fields of the record; the empty name is `box.info`."""
    return {
        "": lambda: {"schema": SCHEMA} | as_members(status(node), BoxInfo),
        "settings": lambda: settings(node),
        "events": lambda: node.timeline.latest(EVENTS_SHOWN),
        "stalls": node.timeline.stalls.describe,
        AUDIT: lambda: audit_trails(node),
        LOG_START: lambda: log_start(node),
    }


def log_start(node: NodeView) -> bytes:
    """Return the entry behind which the log begins at this moment."""
    return node.replica.machine.replicated_log.log.start.alone().encode()


def audit_trails(node: NodeView) -> dict[str, object]:
    """Return the head of this node's trail, and the latest of each other that it knows."""
    queries = node.requests.queries
    return {
        "instance": node.identity.instance,
        "head": str(queries.audit.head),
        "others": queries.audit_heads.describe(),
    }


def settings(node: NodeView) -> dict[str, object]:
    """Return the configuration in force, by section, as text; `shared`: the cluster's own part."""
    shared = node.replica.settings
    found: dict[str, object] = {}
    for key, text in effective(node.config, shared).values().items():
        if not key.startswith("peers."):
            section, _, option = key.rpartition(".")
            inside = found.setdefault(section, {}) if section else found
            assert isinstance(inside, dict)
            inside[option] = text
    members = [[int(each.id), each.name, str(each.address)] for each in node.book.members]
    return found | {"peers": members, "shared": dict(shared)}
