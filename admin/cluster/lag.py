"""Which nodes are to follow the leader, and by how many entries they are behind it."""

from admin.cluster.surveys import ClusterSurvey
from qsync.member import Standing
from qsync.status.record import NodeStatus


def is_to_follow(found: ClusterSurvey, node: NodeStatus) -> bool:
    """Return whether a node is to have what the leader has. A removed one is not (M4 f)."""
    leader = found.leader
    return leader is not None and leader.id != node.id and node.standing != Standing.REMOVED


def behind(found: ClusterSurvey, node: NodeStatus) -> int:
    """By how many entries its durable log is behind the leader's; 0 if it need not follow."""
    if found.leader is None or not is_to_follow(found, node):
        return 0
    return max(0, found.leader.last - node.written)
