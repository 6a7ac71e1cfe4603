"""Sessions that are not used any more: the leader ends them by an entry in the log.

Nothing is decided by a local clock alone: the leader's clock only says when to propose it, and all
replicas forget the session at the same place of the log (protocol.md section 5).
"""

from collections.abc import Collection

from qsync.data.operation_kinds import Op
from qsync.data.request import Request
from qsync.errors import QsyncError, Rebuilding
from qsync.replica import Replica

BATCH_MAX = 100
"""Sessions ended by one transaction."""


class Expiry:
    """Remembers when each session was last used while this node leads."""

    def __init__(self, replica: Replica, *, ttl: float) -> None:
        self._replica = replica
        self._ttl = ttl
        self._used: dict[bytes, float] = {}
        self._term = 0
        self._holders = replica.raw.holders

    def used(self, session: bytes, now: float, user: str = "") -> None:
        """Note that a request of that session has come, whatever will be answered.

        Not of one that is unknown here: `sweep` adds it once it is in the log. `user`: who asks,
        where the cluster has users.
        """
        if session in self._used:
            self._used[session] = now
            if user:
                self._holders.note_use(user, session)

    def sweep(self, now: float) -> int:
        """Propose the end of sessions that were silent for too long; return how many."""
        machine = self._replica.machine
        if machine.leader is None or machine.reasons():
            return 0
        if machine.term != self._term:
            # A new leadership gives every session a full period: it did not see their last use.
            self._term, self._used = machine.term, {}
        try:
            known: Collection[bytes] = self._replica.state.sessions.head
        except Rebuilding:
            return 0  # this node leads no longer
        self._holders.forget_closed(known)
        if not known:
            return 0
        for session in known:
            self._used.setdefault(session, now)
        silent = [s for s, at in self._used.items() if now - at > self._ttl and s in known]
        self._used = {s: at for s, at in self._used.items() if s in known}
        silent = silent[:BATCH_MAX]
        if silent:
            self._end(silent)
        return len(silent)

    def _end(self, sessions: list[bytes]) -> None:
        ops = [[int(Op.EXPIRE_SESSION), session] for session in sessions]
        try:
            self._replica.submit(None, Request(ops=ops))
        except QsyncError:
            # Not writable any more: the next leader will see to it.
            self._used.clear()
            return
        for session in sessions:
            del self._used[session]
