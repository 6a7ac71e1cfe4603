"""Requests of clients, each as a value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Final, NamedTuple

from election.messages import Index, Replica, Term
from qsync.core.consistency import Consistency
from qsync.faultpoints import LASTS_S

Name = str | int
"""A space or an index, by name or number."""
Operations = Sequence[list[object]]
"""Operations of a transaction, or the reads to be validated; each is an array, as yet unopened."""
Value = object
"""Any CBOR value."""


class Verb(IntEnum):
    """The verb of a request."""

    PING = 1
    SCHEMA = 2
    WRITE = 3
    GET = 4
    SELECT = 5
    COUNT = 6
    STATUS = 7
    INFO = 8
    PROMOTE = 9
    DEMOTE = 10
    CLEAR = 11
    ROLLBACK_QUEUE = 12
    LOG = 13
    DIGEST = 14
    LOST = 15
    DRY_RUN = 16
    TX_GET = 17
    WATCH = 18
    CHANGES = 19
    OPTIONS = 20
    SNAPSHOT = 21
    TRACE = 22
    FAULT = 23
    PACKED = 24
    CHANGE_MEMBER = 25
    SNAPSHOT_READ = 26
    RIGHTS = 27
    RELOAD = 28


class WriteFlags(IntFlag):
    """How a transaction is to be committed. No SYNC and no ASYNC: as its spaces say.

    DOUBTED: another attempt under the number may be done yet, so a refusal must be recorded.
    """

    NONE = 0
    SYNC = 1
    ASYNC = 2
    SUBMIT = 4
    NO_WAIT = 8
    DOUBTED = 16


class WriteRequest(NamedTuple):
    """One transaction. `session` is empty when the client does not ask for "exactly once".

    `timeout`: how long the node may keep the client waiting, in seconds. `reads` are validated
    against `snapshot` (optimistic concurrency): keys, ranges, and entries of the log that was read,
    as `qsync.data.operation_kinds.ReadKind` names them.
    """

    id: int
    session: bytes
    seq: int
    low: int
    flags: int
    ops: Operations
    timeout: float | None = None
    snapshot: int = 0
    reads: Operations = ()


@dataclass(frozen=True, slots=True)
class ReadLevel:
    """How fresh a read must be. `term` and `at` (an index) are for AT_LEAST."""

    consistency: Consistency = Consistency.LINEARIZABLE
    term: Term = Term(0)
    at: Index = Index(0)


LINEARIZABLE = ReadLevel()
"""The default of every read."""


class GetRequest(NamedTuple):
    """One tuple by a unique index."""

    id: int
    space: Name
    by: Name
    key: list[object]
    level: ReadLevel = LINEARIZABLE


class SelectRequest(NamedTuple):
    """Tuples in index order. `ops`: what the asking transaction would write, seen by this read."""

    id: int
    space: Name
    by: Name
    iterator: str
    key: list[object]
    limit: int
    offset: int = 0
    after: Value = None
    level: ReadLevel = LINEARIZABLE
    ops: Operations = ()


class CountRequest(NamedTuple):
    """How many tuples a select without limit would give."""

    id: int
    space: Name
    by: Name
    iterator: str
    key: list[object]
    level: ReadLevel = LINEARIZABLE
    ops: Operations = ()


class TxGetRequest(NamedTuple):
    """A get that sees what the asking transaction would write."""

    id: int
    ops: Operations
    space: Name
    by: Name
    key: list[object]
    level: ReadLevel = LINEARIZABLE


class PlainRequest(NamedTuple):
    """One without arguments: PING, SCHEMA, STATUS, ROLLBACK_QUEUE, LOST, SNAPSHOT, RELOAD."""

    id: int
    verb: Verb


class WatchRequest(NamedTuple):
    """A broadcast key. Answered when its value is not `known`, or after `wait` seconds."""

    id: int
    key: str
    known: Value
    wait: float


class ChangesRequest(NamedTuple):
    """Confirmed transactions above `after` that touch `space` (below `prefix` of its keys).

    Answered when there are some, or after `wait` seconds. `after` nil: from now on. `term`: of the
    entry there, which must be in the log; 0: the index alone is meant.
    """

    id: int
    after: Index | int | None
    space: Name | None
    prefix: list[object]
    wait: float
    term: Term = Term(0)


class OptionsRequest(NamedTuple):
    """`box.cfg`: the options by Tarantool's names, after `given` ones were changed."""

    id: int
    given: dict[str, object]


class TraceRequest(NamedTuple):
    """Watch the log's stages for `arm` seconds more; answer what is known of entry `at`."""

    id: int
    at: Index | int
    arm: float


class FaultRequest(NamedTuple):
    """Arm a fault point, or disarm it (all, without a name); see `qsync.faultpoints`."""

    id: int
    point: str
    arm: bool
    seconds: float = 0.0
    times: int = 0
    lasts: float = LASTS_S


class InfoRequest(NamedTuple):
    """`box.info`, or the part of it at `path`."""

    id: int
    path: str | None = None


class PromoteRequest(NamedTuple):
    """Make this node the leader; answered when its PROMOTE is confirmed."""

    id: int
    timeout: float


class DemoteRequest(NamedTuple):
    """Give up leadership, to `to` when it is not 0."""

    id: int
    to: Replica | int
    timeout: float


class ClearRequest(NamedTuple):
    """`box.ctl.clear_synchro_queue()`."""

    id: int
    timeout: float


class ChangeMemberRequest(NamedTuple):
    """Change who is a member, or where. `action` and `role` are those of `qsync.member`.

    `instance`, `name` and `address` are for who is added, `address` also for who moves. `force`:
    also where the change may leave the cluster without a quorum for a while. `dry_run`: it is not
    made; the answer is what it would do.
    """

    id: int
    action: str
    replica: Replica | int
    instance: str
    name: str
    address: str
    role: str
    force: bool
    dry_run: bool
    timeout: float


class LogRequest(NamedTuple):
    """Entries from `first`, as they are stored."""

    id: int
    first: Index
    count_max: int
    bytes_max: int


class PackedRequest(NamedTuple):
    """Durable entries from `first`, as rows of one width (see qsync.wire.packed).

    `opening`: how many bytes of every body.
    """

    id: int
    first: Index
    count_max: int
    opening: int


class SnapshotReadRequest(NamedTuple):
    """Bytes of a snapshot file, from the byte `offset` on. `snapshot`: the index of it.

    SNAPSHOT makes one and answers with that. As long as the connection that reads it stays,
    the file does.
    """

    id: int
    snapshot: Index
    offset: int
    bytes_max: int


class DigestRequest(NamedTuple):
    """Hashes of what is visible, of one space or of all."""

    id: int
    space: Name | None = None


class DryRunRequest(NamedTuple):
    """What would `what` do? In numbers."""

    id: int
    what: str


EVERYBODY: Final = "*"
"""As a name in a RightsRequest."""


class RightsRequest(NamedTuple):
    """Who the asker is and what he may do; of the user or role `name`, or EVERYBODY."""

    id: int
    name: str | None = None


RowsRequest = GetRequest | SelectRequest | CountRequest | TxGetRequest
"""What asks for rows."""

NodeRequest = (
    WatchRequest
    | ChangesRequest
    | OptionsRequest
    | TraceRequest
    | FaultRequest
    | PackedRequest
    | SnapshotReadRequest
)
"""What asks about the node rather than its data, or waits for its news."""

Request = (
    WriteRequest
    | RowsRequest
    | NodeRequest
    | PlainRequest
    | InfoRequest
    | PromoteRequest
    | DemoteRequest
    | ClearRequest
    | ChangeMemberRequest
    | LogRequest
    | DigestRequest
    | DryRunRequest
    | RightsRequest
)

VERB_OF: Final[Mapping[type, Verb]] = {
    WriteRequest: Verb.WRITE,
    GetRequest: Verb.GET,
    SelectRequest: Verb.SELECT,
    CountRequest: Verb.COUNT,
    TxGetRequest: Verb.TX_GET,
    InfoRequest: Verb.INFO,
    PromoteRequest: Verb.PROMOTE,
    DemoteRequest: Verb.DEMOTE,
    ClearRequest: Verb.CLEAR,
    ChangeMemberRequest: Verb.CHANGE_MEMBER,
    LogRequest: Verb.LOG,
    DigestRequest: Verb.DIGEST,
    DryRunRequest: Verb.DRY_RUN,
    WatchRequest: Verb.WATCH,
    ChangesRequest: Verb.CHANGES,
    OptionsRequest: Verb.OPTIONS,
    TraceRequest: Verb.TRACE,
    PackedRequest: Verb.PACKED,
    SnapshotReadRequest: Verb.SNAPSHOT_READ,
    FaultRequest: Verb.FAULT,
    RightsRequest: Verb.RIGHTS,
}
"""Of every request but a PlainRequest, which bears its own."""
