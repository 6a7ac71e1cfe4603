"""Whether the user of this process may read the log, before what ends with reading it begins."""

from collections.abc import Iterable

from admin.cluster import ask
from qsync import features
from qsync.status.record import NodeStatus
from qsync.wire import replies
from qsync.wire.verbs import RightsRequest

_ENOUGH = frozenset({"super", "dump"})


def without_dump(nodes: Iterable[NodeStatus]) -> str | None:
    """Return the name of our user if it lacks the right dump; None if it may read the log.

    `nodes`: that answered; one of them is asked. Raises Unavailable.
    """
    asked = next((each for each in nodes if features.USERS in each.upgrade.features), None)
    if asked is None:
        return None
    told = replies.read_map(ask.value(asked.address, RightsRequest(1)))
    rights = told.get("rights")
    held = rights.get("universe") if isinstance(rights, dict) else None
    return None if isinstance(held, list) and _ENOUGH.intersection(held) else str(told.get("name"))
