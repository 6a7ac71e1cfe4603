"""Everything that can go wrong for a user: one tree with stable codes, outcomes and hints."""

from enum import StrEnum
from typing import ClassVar, Final


class Outcome(StrEnum):
    """The outcome of a write: one of exactly three."""

    COMMITTED = "committed"
    ROLLED_BACK = "rolled_back"
    UNKNOWN = "unknown"


class QsyncError(Exception):
    """A bug of qsync. The base class of all errors; `rolled_back` may mean "never began"."""

    code: ClassVar[str] = "INTERNAL"
    number: ClassVar[int] = 1
    retryable: ClassVar[bool] = False
    outcome: Outcome = Outcome.ROLLED_BACK
    hint: str = ""
    hint_alone: ClassVar[str] = ""  # without a leader

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        leader: str | None = None,
        details: dict[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.leader = leader
        self.details = details or {}
        self.hint = hint or ("" if leader else self.hint_alone) or self.hint

    def name_leader(self, address: str | None) -> None:
        """Add the address of the leader, which its raiser did not know."""
        self.leader = address
        if address and self.hint == self.hint_alone:
            self.hint = type(self).hint

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" + (f" ({self.hint})" if self.hint else "")


class NotLeader(QsyncError):
    """Another node leads, or there is no leader yet. `leader` is its address when known."""

    code = "NOT_LEADER"
    number = 2
    retryable = True
    hint = "send it to the leader; clients of this library do so by themselves"
    hint_alone = "`qsync status` shows who leads, or what an election lacks"


class ReadOnly(QsyncError):
    """The node leads or could lead, but takes no writes now. `details["reasons"]` says why."""

    code = "READONLY"
    number = 3
    retryable = True
    hint = "`qsync status` shows the reason and what would lift it"


class QuorumTimeout(QsyncError):
    """The quorum did not answer in time, and the transaction was rolled back for certain."""

    code = "QUORUM_TIMEOUT"
    number = 4
    retryable = True


class OutcomeUnknown(QsyncError):
    """The outcome of the write was not known in time. `token` resolves it: retry with it."""

    code = "OUTCOME_UNKNOWN"
    number = 5
    outcome = Outcome.UNKNOWN
    hint = "retry with the same token: it is applied at most once"

    def __str__(self) -> str:
        return super().__str__() + (f" token {self.token}" if self.token else "")

    @property
    def token(self) -> str:
        """Session and number of the request, as text; empty when it had no number."""
        return str(self.details.get("token", ""))


class RolledBack(QsyncError):
    """The transaction was rolled back, or cut by another leader, for certain."""

    code = "ROLLED_BACK"
    number = 6
    retryable = True


class Conflict(QsyncError):
    """A condition failed or a read changed before commit. Nothing was written."""

    code = "CONFLICT"
    number = 7
    retryable = True


class SplitBrain(QsyncError):
    """The node's confirmed data differs from the leader's. It keeps its data and follows nobody."""

    code = "SPLIT_BRAIN"
    number = 8
    hint = "compare with `qsync log diff`; the node must be rebuilt by hand"


class AccessDenied(QsyncError):
    """The user lacks a privilege, or a peer has no valid certificate or secret."""

    code = "ACCESS_DENIED"
    number = 9


class Overloaded(QsyncError):
    """A queue is full. `details["retry_after"]` is in seconds."""

    code = "OVERLOADED"
    number = 10
    retryable = True


class SyncQueueFull(Overloaded):
    """The limbo is full, and the request asked not to wait."""

    code = "SYNC_QUEUE_FULL"
    number = 11


class FailureReason(StrEnum):
    """The result of a connection to one node."""

    REFUSED = "refused"
    TIMED_OUT = "timed_out"
    BROKEN = "broken"


class Unavailable(QsyncError):
    """No node answered. `details["nodes"]` has the error of each address.

    `reason`: of the one node that was asked. REFUSED: its address refuses, so nothing was sent.
    """

    code = "UNAVAILABLE"
    number = 12
    retryable = True
    reason: FailureReason = FailureReason.BROKEN


class Unanswered(Unavailable):
    """Nodes answered, but none could serve the request in time. Nothing was written."""

    code = "UNANSWERED"
    number = 14


class SessionExpired(QsyncError):
    """The session has expired, so a retry cannot be told from a new request."""

    code = "SESSION_EXPIRED"
    number = 13
    outcome = Outcome.UNKNOWN


class GivenUp(QsyncError):
    """The request was not applied and was cancelled: no late attempt can be applied any more."""

    code = "GIVEN_UP"
    number = 15


class NoSuchSpace(QsyncError):
    """There is no space of that name."""

    code = "NO_SUCH_SPACE"
    number = 20
    hint = "`\\spaces` in `qsync shell` lists those there are"


class NoSuchIndex(QsyncError):
    """The space has no index of that name."""

    code = "NO_SUCH_INDEX"
    number = 21


class SpaceExists(QsyncError):
    """A space or index of that name is already there."""

    code = "SPACE_EXISTS"
    number = 22


class DuplicateKey(QsyncError):
    """A unique index already holds that key."""

    code = "DUPLICATE_KEY"
    number = 23


class WrongTuple(QsyncError):
    """The tuple does not fit the format: field, wanted type and what was given are named."""

    code = "WRONG_TUPLE"
    number = 24


class WrongKey(QsyncError):
    """The key does not fit the index."""

    code = "WRONG_KEY"
    number = 25


class WrongOperation(QsyncError):
    """An update operation cannot be applied to that field."""

    code = "WRONG_OPERATION"
    number = 26


class WrongSchema(QsyncError):
    """A schema change that cannot be made."""

    code = "WRONG_SCHEMA"
    number = 27


class TooLarge(QsyncError):
    """A tuple, transaction or frame is over its limit; the limit is named."""

    code = "TOO_LARGE"
    number = 28


class Compacted(QsyncError):
    """The log does not reach back to where a feed is to go on; `details["first"]` is its oldest."""

    code = "COMPACTED"
    number = 29
    hint = "note `db.status()['confirmed']`, then read the space, and watch after that index"


class LostWrite(QsyncError):
    """A write is not in the log, and never will be: it was cut, or is of another cluster.

    Of a read that was to show it, or a feed that was to go on after it.
    """

    code = "LOST_WRITE"
    number = 30
    hint = "only asynchronous writes can be lost; a feed begins anew, as after COMPACTED"


class ProtocolError(QsyncError):
    """A peer or client broke the wire protocol. Its connection is closed, the node lives on."""

    code = "PROTOCOL"
    number = 40


class WrongVersion(ProtocolError):
    """The other side supports no protocol version that this side supports."""

    code = "WRONG_VERSION"
    number = 41


class ForeignCluster(ProtocolError):
    """The other side belongs to another cluster, or claims the id of another node."""

    code = "FOREIGN_CLUSTER"
    number = 42


class NotMember(ProtocolError):
    """The other side's configuration has no member with that id: removed, or not added yet."""

    code = "NOT_MEMBER"
    number = 43
    hint = "`qsync member add ADDRESS` makes a node that waits at that address a member"


class StoreError(QsyncError):
    """The directory or disk does not work as needed."""

    code = "STORE"
    number = 50


class DirectoryLocked(StoreError):
    """Another process runs on this directory."""

    code = "DIRECTORY_LOCKED"
    number = 51


class WrongFormat(StoreError):
    """The directory has a format version that this release does not know."""

    code = "WRONG_FORMAT"
    number = 52


class Damaged(StoreError):
    """A log record that was acked is damaged. The node must not vote with this log."""

    code = "DAMAGED"
    number = 53


class DiskFull(StoreError):
    """No space is left on the disk, or the limit of the map is reached."""

    code = "DISK_FULL"
    number = 54


class DirectoryGone(StoreError):
    """The files of a running node are not at their path any more: its writes would be lost."""

    code = "DIRECTORY_GONE"
    number = 55
    hint = "bring the volume back, or stop the node; it writes nowhere else"


class Rebuilding(StoreError):
    """The node rebuilds its spaces from its log, and serves no reads from them meanwhile."""

    code = "REBUILDING"
    number = 56
    retryable = True
    hint = "ask another node, or again in a moment; `qsync status` shows how far it is"


class SnapshotLost(StoreError):
    """A snapshot could not be read to its end. Begin again with another one."""

    code = "SNAPSHOT_LOST"
    number = 58
    retryable = True


class DiskUnreadable(StoreError):
    """The disk cannot be read. Nothing was changed."""

    code = "DISK_UNREADABLE"
    number = 57
    hint = "try again when the disk answers; `qsync explain DISK_UNREADABLE` if it never does"


class ConfigError(QsyncError):
    """The configuration is invalid; each problem has file, line, column, option, value, reason."""

    code = "CONFIG"
    number = 60


class Superseded(ConfigError):
    """The history of this directory goes on in another cluster; it is kept for a post-mortem."""

    code = "SUPERSEDED"
    number = 110
    hint = "an empty directory joins that cluster: `qsync init DIR --join TARGET`"


def all_errors() -> list[type[QsyncError]]:
    """Every class of the tree, by number."""
    found: list[type[QsyncError]] = [QsyncError]
    for cls in found:
        found.extend(cls.__subclasses__())
    return sorted(found, key=lambda cls: cls.number)


def error_of(
    number: int,
    message: str,
    *,
    hint: str = "",
    leader: str | None = None,
    details: dict[str, object] | None = None,
) -> QsyncError:
    """The error of that number. One that we do not know keeps its number in `details`."""
    cls = _BY_NUMBER.get(number, QsyncError)
    if cls.number != number:
        details = {**(details or {}), "number": number}
    return cls(message, hint=hint, leader=leader, details=details)


_BY_NUMBER: Final = {cls.number: cls for cls in all_errors()}
