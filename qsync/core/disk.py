"""The node's disk as the core sees it: what is durable, whether it writes, whether it is stuck."""

from typing import TYPE_CHECKING

from election.messages import Ballot
from qsync.core import handover
from qsync.core.inputs import LogUnreadable, WriteFailed
from qsync.core.ledger import Ledger
from qsync.core.ready import TimerKind, Write

if TYPE_CHECKING:
    from qsync.core.machine import Machine


class DiskState:
    """One Write at a time; a failed one is tried again after a while."""

    def __init__(self, ledger: Ledger, *, durable: Ballot, quarantined: str | None = None) -> None:
        self.ballot = durable
        """The ballot that is durable; nothing may be said that rests on a newer one."""
        self.error: str | None = None
        self.quarantined = quarantined
        """What was damaged at or below what had been acked, when the node started."""
        self.lost: str | None = None
        """Why the spaces cannot be read and are made anew from the log; None when all is well."""
        self._ledger = ledger
        self._began = 0.0

    def next_write(self, ballot: Ballot) -> Write | None:
        """All that is not durable yet; None while a write is under way or the disk just failed."""
        if self.error is not None:
            return None
        ledger = self._ledger
        write = ledger.flight.take(
            ledger.entries,
            last=ledger.log.last,
            ballot=ballot,
            durable=self.ballot,
            confirmed=ledger.confirmed,
        )
        if write is not None:
            self._began = ledger.now
        return write

    def wrote(self, write_id: int) -> bool:
        """The write is durable. True if a newer ballot became durable with it."""
        ballot = self._ledger.wrote(write_id)
        news = ballot != self.ballot
        self.ballot = ballot
        return news

    def failed(self, write_id: int, why: str) -> None:
        """Nothing of the write may be relied on."""
        self._ledger.flight.failed(write_id)
        self.error = why

    def retry(self) -> None:
        """Enough time has passed since the failure: the next write tries again."""
        self.error = None

    @property
    def stuck(self) -> float:
        """For how many seconds the write that is under way has been."""
        return self._ledger.now - self._began if self._ledger.flight.under_way else 0.0


def written(machine: "Machine", write_id: int) -> None:
    """A Write is durable, and maybe a ballot with it."""
    if machine.disk.wrote(write_id):
        machine.raft.ballot_written(machine.disk.ballot)
        machine.follow_raft()
    if machine.leader is not None:
        machine.leader.count()


def failed(machine: "Machine", event: WriteFailed | LogUnreadable) -> None:
    """A leader that cannot write steps down; everybody tries again after a while.

    One that cannot read its log back cannot bring anybody to its end, and steps down too.
    """
    if isinstance(event, WriteFailed):
        machine.disk.failed(event.id, event.why)
        what = "written"
    else:
        machine.disk.error = machine.disk.error or event.why
        what = "read"
    machine.out.note("disk_failed", why=event.why)
    brings = isinstance(event, WriteFailed)
    handover.leave(machine, f"the log cannot be {what}: {event.why}", brings=brings)
    machine.out.arm(TimerKind.DISK, machine.config.disk_retry_delay)
