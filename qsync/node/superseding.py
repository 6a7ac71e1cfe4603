"""What a node does when it is proved to it that its history goes on in another cluster (M8 e).

It writes that down before it answers, ends what waits, hangs up on all other nodes, and lives on
to explain why: it answers with its status and its log. It does not start again.
"""

from qsync.core.inputs import SupersededBy
from qsync.errors import StoreError
from qsync.node.view import NodeView
from qsync.store import superseded


def supersede(node: NodeView, cluster: str, where: str) -> None:
    """Supersede this node. If that cannot be written down it holds until the node stops."""
    if node.replica.machine.disk.superseded is not None:
        return
    try:
        superseded.supersede(node.storage.directory.path, cluster=cluster, where=where)
    except StoreError as error:
        node.timeline.append("superseded_unwritten", {"why": str(error)})
    node.timeline.append("superseded_by", {"cluster": cluster, "where": where})
    node.loop.step(SupersededBy(cluster=cluster))
    node.requests.supersede(cluster)
    node.links.part("this node is superseded")
    node.server.part("this node is superseded")
