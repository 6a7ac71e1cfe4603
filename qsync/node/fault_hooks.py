"""The hooks of a node's fault points: in its log, its wall clock, and the messages to peers.

A seam is put in place when a point is armed and taken away when it is disarmed, so that a node
whose points are not armed runs nothing of this.
"""

import errno
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from qsync.core.messages import Append, Heartbeat, Message
from qsync.faultpoints import FaultPoints
from qsync.faults import Fault
from qsync.node.view import NodeView
from qsync.record import EntryKind

if TYPE_CHECKING:
    from election.messages import Index

_ROLLBACK: Final = int(EntryKind.ROLLBACK)


class FaultHooks:
    """The fault points of one node, and the parts of it that they reach."""

    def __init__(self, node: NodeView, *, now: Callable[[], float]) -> None:
        self._node = node
        self.points = FaultPoints(allowed=node.config.node.faults, changed=self._settle, now=now)
        self._healed = threading.Event()

    def _settle(self) -> None:
        """Install the hook of every armed point, and remove the others."""
        points, node = self.points, self._node
        self._healed.set()  # a delayed commit continues now
        self._healed = threading.Event()
        disk = {Fault.SLOW_FSYNC, Fault.FAIL_FSYNC}
        armed = any(points.seconds(each) is not None for each in disk)
        node.storage.log.before_commit = self._commit if armed else None
        node.loop.timers.wall.ahead = points.seconds(Fault.CLOCK_JUMP) or 0.0
        node.loop.loses = self._losing()

    def _commit(self) -> None:
        """Strike just before a commit, in the thread that writes. Raises OSError."""
        healed = self._healed
        delay = self.points.strike(Fault.SLOW_FSYNC)
        if delay is not None:
            healed.wait(delay)
        if self.points.strike(Fault.FAIL_FSYNC) is not None:
            raise OSError(errno.EIO, "input/output error, by the fault point fail_fsync")

    def _losing(self) -> Callable[[Message], bool] | None:
        """Return a filter that says of each message whether it is lost, as decided by now."""
        replicated_log = self._node.replica.machine.replicated_log
        confirm = self.points.seconds(Fault.LOSE_CONFIRM) is not None
        rollback = self.points.seconds(Fault.LOSE_ROLLBACK) is not None
        if not confirm and not rollback:
            return None
        confirmed, last = replicated_log.confirmed, replicated_log.log.last

        def loses(message: Message) -> bool:
            if not isinstance(message, Append | Heartbeat):
                return False
            if confirm and message.confirmed > confirmed:
                return self.points.strike(Fault.LOSE_CONFIRM) is not None
            if rollback and isinstance(message, Append) and self._rolls_back(message, last):
                return self.points.strike(Fault.LOSE_ROLLBACK) is not None
            return False

        return loses

    def _rolls_back(self, message: Append, after: "Index") -> bool:
        """Return whether the log has a ROLLBACK that is younger than the entry `after`."""
        first = type(after)(max(message.prev_index, after) + 1)
        if first > message.last:
            return False
        entries = self._node.replica.machine.replicated_log.entries(first, message.last)
        return any(each.kind == _ROLLBACK for each in entries)
