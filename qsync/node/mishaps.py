"""Errors of our own while one peer or client is served: they cost that connection only.

Only where nothing is half changed. What is decoded, checked and read changes nothing; an exception
of the machine or the state itself (`Replica.torn`) may have left a batch half taken, and what is in
memory must then not be relied on: the node stops, and its log is intact.
"""

import traceback
from typing import Final

from qsync.errors import QsyncError
from qsync.node.timeline import Timeline
from qsync.replica import Replica

EVENT: Final = "mishap"
"""In the timeline, with the traceback."""
TRACE_CHARS_MAX: Final = 8000
"""The end of a traceback says most."""


def survive(replica: Replica, timeline: Timeline, error: Exception, doing: str) -> None:
    """Keep the traceback and go on; or raise the error again, if going on is not safe.

    A typed error is a refusal: its connection is at fault, and nothing of ours.
    """
    if replica.torn:
        raise error
    if isinstance(error, QsyncError):
        return
    text = "".join(traceback.format_exception(error))
    timeline.append(
        EVENT, {"doing": doing, "error": repr(error)[:500], "trace": text[-TRACE_CHARS_MAX:]}
    )
