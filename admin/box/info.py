"""`box.info` as a typed record: what the node could not tell is in `errors`, the rest is there."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TypeVar, get_type_hints

import msgspec

T = TypeVar("T")
SCHEMA = "qsync/info/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """What comes to this node from a member. Times are seconds; `behind` counts entries."""

    status: str = ""
    idle: float | None = None
    lag: float | None = None
    peer: str | None = None
    message: str | None = None
    behind: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Downstream:
    """What the leader knows of a follower. `counts`: its acks count in the quorum."""

    status: str = ""
    idle: float | None = None
    lag: float | None = None
    vclock: dict[int, int] = field(default_factory=dict)
    message: str | None = None
    acked: int = 0
    behind: int = 0
    counts: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaInfo:
    """A member of the replica set; this node itself has neither upstream nor downstream."""

    id: int
    uuid: str | None = None
    name: str | None = None
    lsn: int = 0
    upstream: Upstream | None = None
    downstream: Downstream | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Election:
    """Role and term of the node, and whom it follows (0: nobody)."""

    state: str = ""
    term: int = 0
    vote: int | None = None
    leader: int = 0
    leader_name: str | None = None
    leader_idle: float | None = None
    fencing: str = ""
    fenced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Lacking:
    """A voter that has not acked the oldest pending transaction."""

    id: int
    name: str | None = None
    acked: int = 0
    behind: int = 0
    idle: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OldestPending:
    """The oldest pending transaction. `acks` is None where only the leader would know."""

    index: int
    term: int
    lsn: int
    origin: int
    since: float
    age: float
    quorum: int
    acks: int | None = None
    acked_by: tuple[str | None, ...] = ()
    missing: tuple[Lacking, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LimboInfo:
    """The limbo. `size` in bytes, `age` and `confirm_lag` in seconds."""

    len: int = 0
    size: int = 0
    owner: int = 0
    term: int = 0
    age: float = 0.0
    busy: bool = False
    confirm_lag: float = 0.0
    waiting: OldestPending | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Synchro:
    """Synchronous replication: the quorum in force, and the queue."""

    quorum: int = 0
    quorum_expression: str = ""
    timeout: float = 0.0
    policy: str = ""
    queue: LimboInfo = field(default_factory=LimboInfo)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOnlyInfo:
    """Why a node is read-only: its name, the numbers behind it, what lifts it."""

    why: str
    text: str
    lifts: str
    node: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedId:
    """A name with an id or a tag."""

    name: str = ""
    uuid: str = ""
    tag: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostInfo:
    """Asynchronous transactions that were answered and then cut, and the tails that hold them."""

    count: int = 0
    tails: tuple[dict[str, object], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check of a node's health."""

    ok: bool
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthInfo:
    """`alive`: it need not be restarted. `ready`: it may be given work."""

    alive: bool = True
    ready: bool = False
    checks: dict[str, Check] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxInfo:
    """One node's account of itself. Every member has a default, for what could not be told."""

    id: int = 0
    uuid: str = ""
    name: str = ""
    lsn: int = 0
    signature: int = 0
    vclock: dict[int, int] = field(default_factory=dict)
    ro: bool = True
    ro_reason: str | None = None
    ro_reasons: tuple[ReadOnlyInfo, ...] = ()
    status: str = ""
    uptime: float = 0.0
    version: str = ""
    package: str = ""
    hostname: str = ""
    pid: int = 0
    listen: str = ""
    cluster: NamedId = field(default_factory=NamedId)
    replicaset: NamedId = field(default_factory=NamedId)
    replication: dict[int, ReplicaInfo] = field(default_factory=dict)
    replication_anon: dict[str, int] = field(default_factory=dict)
    election: Election = field(default_factory=Election)
    synchro: Synchro = field(default_factory=Synchro)
    memory: dict[str, int] = field(default_factory=dict)
    gc: dict[str, object] = field(default_factory=dict)
    lost: LostInfo = field(default_factory=LostInfo)
    health: HealthInfo = field(default_factory=HealthInfo)
    errors: dict[str, str] = field(default_factory=dict)
    whole: Mapping[str, object] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, answer: Mapping[str, object]) -> "BoxInfo":
        """From what the node said, part by part. Never fails."""
        found: dict[str, object] = {}
        errors: dict[str, str] = {}
        for name, kind in _kinds().items():
            if name not in answer:
                errors[name] = "the node does not tell it"
                continue
            value = answer[name]
            if isinstance(value, dict) and set(value) == {"error"}:
                errors[name] = str(value["error"])
                continue
            try:
                found[name] = msgspec.convert(value, kind)
            except msgspec.ValidationError as error:
                errors[name] = str(error)
        return _make(cls, {**found, "errors": errors, "whole": answer})


def _make(maker: Callable[..., T], values: Mapping[str, object]) -> T:
    return maker(**values)


def _kinds() -> dict[str, object]:
    hints = get_type_hints(BoxInfo)
    return {each.name: hints[each.name] for each in fields(BoxInfo) if each.name not in _OURS}


_OURS = frozenset({"errors", "whole"})
