"""Answers that need no waiting: rows, schema, status, log."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, Protocol, assert_never

from election.messages import Position
from qsync import record
from qsync.core.reads import shown_to_fresh, shows
from qsync.data import telling
from qsync.errors import (
    Compacted,
    ProtocolError,
    QsyncError,
    Rebuilding,
    WrongKey,
    WrongOperation,
)
from qsync.node import guard, operator_requests
from qsync.node.audit_heads import AuditHeads
from qsync.node.auditing import AuditTrail
from qsync.node.connection import Connection
from qsync.node.scans import ScanRequest, SlicedScan, prepare
from qsync.wire import replies, verbs
from qsync.wire.verbs import Verb

if TYPE_CHECKING:
    from qsync.replica import Replica

PLACE_DIGITS_MAX = 9
"""The maximum length of a number in a path of INFO."""

TupleRequest = verbs.GetRequest | verbs.TxGetRequest

Question = (
    verbs.PlainRequest
    | verbs.InfoRequest
    | verbs.LogRequest
    | verbs.DryRunRequest
    | verbs.ChangeMemberRequest
    | verbs.RightsRequest
)


class Queries(Protocol):
    """Answers questions that are not about data, some of them later."""

    audit: AuditTrail
    audit_heads: AuditHeads

    @property
    def busy(self) -> bool:
        """Whether there is anything to look at after a batch."""

    @property
    def waits(self) -> bool:
        """Whether a question waits for a point in time."""

    def handle_request(self, connection: Connection, request: verbs.Request) -> bool:
        """Answers, or keeps the question until it can. False: another part has to answer it."""

    def check_change(self, request: verbs.ChangeMemberRequest) -> None:
        """Check that a node may get a place. Raises WrongVersion."""

    def turn(self) -> None:
        """Look at the questions that wait, after a batch."""

    def tick(self) -> None:
        """Look at the questions whose time may be over."""


class VisibleReads:
    """Reads what is visible at the moment it is called."""

    def __init__(
        self,
        replica: "Replica",
        *,
        status: Callable[[], dict[str, object]],
        parts: Mapping[str, Callable[[], object]],
        queries: Queries,
    ) -> None:
        self.queries = queries
        self._replica = replica
        self._status = status
        self._parts = parts

    def shown_error(
        self, error: QsyncError, user: str, request: verbs.RowsRequest | verbs.DigestRequest
    ) -> QsyncError:
        """Return why a read is refused, as the user may see it who asks."""
        if isinstance(request, verbs.DigestRequest | verbs.GetRequest):
            return error
        shown = self._replica.raw.schemas.shown
        return telling.of_operations(error, user, request.ops, shown)

    def acks(self, index: int) -> int:
        """Return how many voters are known to have the entry, this leader included."""
        machine = self._replica.machine
        leader = machine.leader
        if leader is None:
            return 0
        own = int(machine.replicated_log.written >= index)
        return own + sum(1 for each in leader.counted() if each.match >= index)

    @property
    def place(self) -> Position:
        """The last entry that can be read now."""
        return self._replica.machine.replicated_log.readable_place

    def place_to_read(self, asked: Position) -> Position | None:
        """Return what a follower shows to a read that asked for a place; None: all visible."""
        machine = self._replica.machine
        return None if machine.leader else shown_to_fresh(machine.replicated_log, asked)

    def shows(self, asked: Position | None) -> bool:
        """Return whether the place that a read asked for is (still) visible here."""
        return asked is None or shows(self._replica.machine.replicated_log, asked) is True

    def read(self, request: TupleRequest, place: Position, at: int | None) -> bytes:
        """Return the reply to a read of one tuple. Raises what the data refuses.

        `place`: as it is now, for many reads that are answered together. `at`: the index to which
        the data is shown; None: all that is visible.

        A damaged row costs this node all of its rows, and no client gets a wrong
        answer.
        """
        try:
            return self._read(request, place, at)
        except Rebuilding as error:
            self._replica.lose(error.message)
            raise

    def _read(self, request: TupleRequest, place: Position, at: int | None) -> bytes:
        state = self._replica.state
        # By exact type: patterns that take the fields apart cost as much as the read itself.
        if type(request) is verbs.GetRequest:
            found = state.get(request.space, request.by, request.key, at=at)
            return replies.row(request.id, found, read_from=place)
        assert type(request) is verbs.TxGetRequest
        found = state.preview(request.ops, request.space, request.by, request.key, at=at)
        return replies.row(request.id, found, read_from=place)

    def prepare_scan(self) -> bool:
        """Do a part of what a scan needs first; return false when nothing is left of it."""
        return prepare(self._replica)

    def scan(self, request: ScanRequest, place: Position, at: int | None) -> SlicedScan:
        """Begin a read that may be of many rows; the arguments are those of `read`."""
        return SlicedScan(self._replica, request, place, at)

    def answer(self, request: Question, user: str) -> bytes:
        """Return the reply for that user to anything but reads, writes and operations."""
        match request:
            case verbs.PlainRequest():
                return self.plain(request, user)
            case verbs.RightsRequest():
                rights = guard.rights_of(self._replica)
                return replies.reply(request.id, guard.rights_answer(rights, user, request))
            case verbs.InfoRequest():
                return self.info(request)
            case verbs.LogRequest():
                return self.log(request)
            case verbs.DryRunRequest():
                return self.dry_run(request)
            case verbs.ChangeMemberRequest():
                return self.would_change(request)
            case _:
                assert_never(request)

    def plain(self, request: verbs.PlainRequest, user: str) -> bytes:
        """Return the reply to PING, SCHEMA, STATUS or LOST."""
        if request.verb is Verb.PING:
            return replies.reply(request.id)
        if request.verb is Verb.SCHEMA:
            shape = self._replica.state.schemas.shown
            return replies.reply(request.id, guard.described(shape, user))
        if request.verb is Verb.STATUS:
            return replies.reply(request.id, self._status())
        if request.verb is Verb.LOST:
            return replies.reply(request.id, self._status()["lost"])
        raise ProtocolError(f"{request.verb.name} needs arguments")

    def info(self, request: verbs.InfoRequest) -> bytes:
        """Return the status record, or the part of it (or beside it) at a dotted path."""
        value: object
        path = [part for part in (request.path or "").split(".") if part]
        begun = 1 if path and path[0] in self._parts else 0
        value = self._parts[path[0]]() if begun else self._status()
        for at, part in enumerate(path[begun:], begun):
            number = _number(part)
            if isinstance(value, dict) and part in value:
                value = value[part]
            elif isinstance(value, dict) and number in value:
                value = value[number]
            elif (
                isinstance(value, list | tuple) and number is not None and 1 <= number <= len(value)
            ):
                value = value[number - 1]
            else:
                known = sorted(map(str, value)) if isinstance(value, dict) else []
                hint = f"there are {', '.join(known)}" if known else "it has no members"
                where = repr(".".join(path[:at])) if at else "the status"
                raise WrongKey(f"there is no {part!r} in {where}", hint=hint)
        return replies.reply(request.id, value)

    def log(self, request: verbs.LogRequest) -> bytes:
        """Return entries of the log as stored, as many as the limits allow."""
        replicated_log = self._replica.machine.replicated_log
        first, last = request.first, replicated_log.log.last
        begins = replicated_log.log.start.index + 1
        if 1 <= first < begins:
            raise Compacted(
                f"the log begins at index {begins} here: {first} was trimmed",
                details={"first": begins},
            )
        if first < 1 or first > last:
            return replies.reply(request.id, int(first), int(last), b"")
        upto = replicated_log.log.fit(
            first, entries_max=max(1, request.count_max), bytes_max=max(1, request.bytes_max)
        )
        batch = record.encode(replicated_log.entries(first, upto))
        return replies.reply(request.id, int(first), int(upto), batch)

    def would_change(self, request: verbs.ChangeMemberRequest) -> bytes:
        """Return what a change of the members would do now, in numbers.

        Raises ConfigError, WrongVersion.
        """
        self.queries.check_change(request)
        change = operator_requests.member_change(request)
        changes = self._replica.machine.operations.changes
        return replies.reply(request.id, changes.plan(change, force=request.force))

    def dry_run(self, request: verbs.DryRunRequest) -> bytes:
        """Return what an operation would do now, in numbers. Raises WrongOperation."""
        if request.what not in _FORESEEN:
            raise WrongOperation(
                f"there is no operation {request.what!r} to be planned",
                hint=f"one of {', '.join(_FORESEEN)}",
            )
        return replies.reply(request.id, self._replica.machine.operations.dry_run(request.what))


_FORESEEN: Final = ("promote", "demote", "clear_synchro_queue")
"""The operations that can be planned."""


def _number(part: str) -> int | None:
    """A step of a path that may name a member by its id, or an item by its place."""
    return int(part) if part.isdecimal() and len(part) <= PLACE_DIGITS_MAX else None
