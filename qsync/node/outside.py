"""What a node says of itself: by its log, and by members that refuse it as one that was removed.

Who was away while it was removed has nothing of that in its log, and no leader will send it more:
the members refuse its connection (`NOT_MEMBER`). This is for people. What the node does goes by its
log alone: a removal that is not decided may still be taken back (membership.md M4 d).
"""

from typing import Final

from qsync.core.writable import Reason, of_consequence, removed
from qsync.member import Standing
from qsync.node.view import NodeView

_REMOVED: Final = Standing.REMOVED
_STRANGER: Final = Standing.STRANGER


def standing_of(node: NodeView) -> Standing:
    """Return the standing of a node: removed also if only the members that refuse it know."""
    return node.replica.machine.operations.changes.standing if _why(node) is None else _REMOVED


def reasons_of(node: NodeView) -> list[Reason]:
    """Return why it may not write, the weightiest reason first; empty if it may."""
    reasons, why = node.replica.machine.reasons(), _why(node)
    return reasons if why is None else of_consequence([removed(by=why), *reasons])


def _why(node: NodeView) -> str | None:
    """Return who refuses it as no member, and why; None while it has a leader, or was never one.

    A stranger that never was a member is refused because it is not added yet. One that was lacks
    the news that its removal is decided.
    """
    machine, config = node.replica.machine, node.replica.machine.config
    if machine.leader is not None or machine.raft.leader is not None:
        return None
    standing = machine.operations.changes.standing
    if standing is _REMOVED:
        return None
    was = machine.replicated_log.configurations.is_former(config.me, config.instance)
    if standing is _STRANGER and not was:
        return None
    return node.links.refusal()
