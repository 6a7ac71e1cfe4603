"""The node's disk as the core sees it: what is durable, whether it writes, whether it is stuck."""

from election.messages import Ballot
from qsync.core.ready import Write
from qsync.core.replicated_log import ReplicatedLog


class DiskState:
    """One Write at a time; a failed one is retried after a while."""

    def __init__(
        self, replicated_log: ReplicatedLog, *, durable: Ballot, quarantined: str | None = None
    ) -> None:
        self.ballot = durable
        """The ballot that is durable; nothing may be said that rests on a newer one."""
        self.error: str | None = None
        self.quarantined = quarantined
        """The damage at or below the acked index, found when the node started."""
        self.lost: str | None = None
        """Why the spaces cannot be read and are rebuilt from the log; None if they are valid."""
        self.superseded: str | None = None
        """The superseding cluster, once the directory has it (M8 e)."""
        self._replicated_log = replicated_log
        self._began = 0.0

    def next_write(self, ballot: Ballot) -> Write | None:
        """Return all that is not durable yet; None during a write, or just after one failed."""
        if self.error is not None:
            return None
        replicated_log = self._replicated_log
        write = replicated_log.pending_writes.next_write(
            replicated_log.entries,
            last=replicated_log.log.last,
            ballot=ballot,
            durable=self.ballot,
            confirmed=replicated_log.confirmed,
        )
        if write is not None:
            self._began = replicated_log.now
        return write

    def write_confirmed(self) -> None:
        """The confirmed index becomes durable soon, and not with the next entries only.

        Where there is no room for more entries these wait for it: nothing is folded that a restart
        would not know as confirmed.
        """
        replicated_log = self._replicated_log
        if replicated_log.durable_confirmed < replicated_log.confirmed:
            replicated_log.pending_writes.overdue = True

    def wrote(self, write_id: int) -> bool:
        """Take note that the write is durable. True if a newer ballot became durable with it."""
        ballot = self._replicated_log.wrote(write_id)
        news = ballot != self.ballot
        self.ballot = ballot
        return news

    def failed(self, write_id: int, why: str) -> None:
        """Forget the write: nothing of it may be relied on."""
        self._replicated_log.pending_writes.failed(write_id)
        self.error = why

    def retry(self) -> None:
        """Let the next write try again: enough time has passed since the failure."""
        self.error = None

    @property
    def stuck(self) -> float:
        """For how many seconds the write that is under way has lasted."""
        return (
            self._replicated_log.now - self._began
            if self._replicated_log.pending_writes.under_way
            else 0.0
        )
