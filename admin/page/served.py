"""The look of one node at its cluster, as it is served: HTML for people, JSON for programs."""

import json
from functools import partial
from typing import Final

from admin.cluster import documents
from admin.cluster.picture import ClusterPicture
from admin.cluster.sampler import OwnAccount
from admin.page import status_page
from admin.page.look import ClusterLook, RenderedPage
from qsync.node import info, mishaps
from qsync.node.node import Node
from qsync.node.status import status
from qsync.status.record import NodeStatus, as_members

SCHEMA: Final = "qsync/page/1"


def look_of(node: Node) -> ClusterLook:
    """Return a node's look at its cluster. Errors of the page go to its timeline."""
    return ClusterLook(
        partial(own_account, node),
        lambda picture: rendered(picture, status(node)),
        survive=lambda error: mishaps.survive(
            node.replica, node.timeline, error, "showing the status page"
        ),
    )


def own_account(node: Node) -> OwnAccount:
    """The status of that node, as it would answer a request over the wire."""
    return OwnAccount(
        answer=as_members(status(node)),
        events=tuple(node.timeline.latest(info.EVENTS_SHOWN)),
        settings=info.settings(node),
    )


def rendered(picture: ClusterPicture, here: NodeStatus) -> RenderedPage:
    """One picture, made once for all who look. `here`: the node that shows it."""
    members = {
        "schema": SCHEMA,
        "seen_by": here.name,
        **documents.picture_members(picture),
        "writes_per_second": picture.sparks,
        "commit_p99_s": picture.slow,
        "events": [
            {
                "time": each.time,
                "node": each.node,
                "event": each.name,
                "level": each.level,
                "words": each.words,
                "sentence": each.sentence,
            }
            for each in picture.events[-status_page.EVENTS_SHOWN :]
        ],
    }
    return RenderedPage(
        html=status_page.whole(picture, here).encode(),
        document=json.dumps(members, default=str).encode() + b"\n",
    )
