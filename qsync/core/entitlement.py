"""Which part of the log a leader sends to a node that is no member (membership.md M4 f)."""

from election.messages import Index
from qsync.core.configuration import Configuration
from qsync.core.progress import Membership, Progress
from qsync.core.replicated_log import ReplicatedLog


def entitled(progress: Progress, replicated_log: ReplicatedLog) -> Index:
    """Return up to where a peer may have the log: all of it, unless the peer is no member.

    Who was removed gets the removal, so that it knows, and nothing behind it once that is
    confirmed, also while a later change is not. Who was no member since this log begins gets
    nothing, unless it follows as an anonymous replica. Another directory of a member gets all: it
    may be given the place (M5).
    """
    last = replicated_log.log.last
    if progress.membership is not Membership.STRANGER:
        return last
    configurations = replicated_log.configurations
    now = configurations.followed
    if now is None or now.member(progress.peer) is not None:
        return last
    left, was = Index(0), _names(configurations.founding, progress)
    for index, configuration in configurations.standing():
        before, was = was, _names(configuration, progress)
        if before and not was:
            left = index
    return left if left <= replicated_log.confirmed else last  # it may be taken back


def _names(known: Configuration | None, progress: Progress) -> bool:
    return known is not None and known.role_of(progress.peer, progress.instance) is not None
