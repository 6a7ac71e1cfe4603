"""What one node said of itself at one moment, as a record: the source of every view."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerSample:
    """How a node sees one of the others. `idle` in seconds, `lag` in entries."""

    id: int
    name: str
    status: str
    idle: float | None
    lag: int | None
    acked: int | None
    message: str | None

    @classmethod
    def read(cls, answer: Mapping[str, object]) -> "PeerSample":
        """From a member of STATUS `peers`."""
        return cls(
            id=_int(answer, "id"),
            name=_text(answer, "name"),
            status=_text(answer, "status"),
            idle=_float(answer.get("idle")),
            lag=_int_or_none(answer.get("lag")),
            acked=_int_or_none(answer.get("acked")),
            message=_text_or_none(answer.get("message")),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The oldest pending transaction: who acked it, whose ack is missing."""

    index: int
    acks_from: tuple[int, ...]
    missing: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimboSample:
    """The queue of pending transactions. `age` in seconds, `confirm_lag` in entries."""

    quorum: int = 0
    owner: int = 0
    len: int = 0
    age: float = 0.0
    confirm_lag: int = 0
    waiting: Waiting | None = None

    @classmethod
    def read(cls, answer: Mapping[str, object]) -> "LimboSample":
        """From STATUS `synchro`."""
        oldest = _map(answer, "waiting")
        return cls(
            quorum=_int(answer, "quorum"),
            owner=_int(answer, "owner"),
            len=_int(answer, "len"),
            age=_float(answer.get("age")) or 0.0,
            confirm_lag=_int(answer, "confirm_lag"),
            waiting=Waiting(
                index=_int(oldest, "index"),
                acks_from=_ints(oldest.get("acks_from")),
                missing=_ints(oldest.get("missing")),
            )
            if oldest
            else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSample:
    """One node's own account. `whole` is everything it said, for views that want more."""

    id: int
    name: str
    uuid: str
    address: str
    cluster: str = ""
    version: str = ""
    role: str = ""
    mode: str = ""
    term: int = 0
    leader: int | None = None
    leader_name: str | None = None
    leader_address: str | None = None
    leader_idle: float | None = None
    ro: bool = True
    ro_reason: str | None = None
    ro_reasons: tuple[str, ...] = ()
    status: str = ""
    vclock: Mapping[int, int] = field(default_factory=dict)
    last: int = 0
    written: int = 0
    confirmed: int = 0
    visible: int = 0
    limbo: LimboSample = field(default_factory=LimboSample)
    nodes: tuple[tuple[int, str, str], ...] = ()
    peers: tuple[PeerSample, ...] = ()
    lost: int = 0
    fsync_us: float | None = None
    uptime: float = 0.0
    pid: int = 0
    whole: Mapping[str, object] = field(default_factory=dict, repr=False, compare=False)

    @property
    def leads(self) -> bool:
        """It is the leader, writable or not yet."""
        return self.role == "leader"

    @classmethod
    def read(cls, answer: Mapping[str, object]) -> "NodeSample":
        """From the answer to STATUS; what is missing keeps its default."""
        peers = [each for each in _list(answer, "peers") if isinstance(each, Mapping)]
        return cls(
            id=_int(answer, "id"),
            name=_text(answer, "name"),
            uuid=_text(answer, "uuid"),
            address=_text(answer, "address"),
            cluster=_text(answer, "cluster"),
            version=_text(answer, "version"),
            role=_text(answer, "role"),
            mode=_text(answer, "mode"),
            term=_int(answer, "term"),
            leader=_int_or_none(answer.get("leader")),
            leader_name=_text_or_none(answer.get("leader_name")),
            leader_address=_text_or_none(answer.get("leader_address")),
            leader_idle=_float(answer.get("leader_idle")),
            ro=bool(answer.get("ro", True)),
            ro_reason=_text_or_none(answer.get("ro_reason")),
            ro_reasons=tuple(_reason(each) for each in _list(answer, "ro_reasons")),
            status=_text(answer, "status"),
            vclock={int(str(k)): int(str(v)) for k, v in _map(answer, "vclock").items()},
            last=_int(answer, "last"),
            written=_int(answer, "written"),
            confirmed=_int(answer, "confirmed"),
            visible=_int(answer, "visible"),
            limbo=LimboSample.read(_map(answer, "synchro")),
            nodes=_members(answer),
            peers=tuple(PeerSample.read(each) for each in peers),
            lost=_int(_map(answer, "lost"), "count"),
            fsync_us=_float(_map(answer, "disk").get("fsync_us")),
            uptime=_float(answer.get("uptime")) or 0.0,
            pid=_int(answer, "pid"),
            whole=answer,
        )


def _reason(answer: object) -> str:
    return str(answer.get("text", answer)) if isinstance(answer, Mapping) else str(answer)


def _members(answer: Mapping[str, object]) -> tuple[tuple[int, str, str], ...]:
    return tuple(
        (int(str(each[0])), str(each[1]), str(each[2]))
        for each in _list(answer, "nodes")
        if isinstance(each, list | tuple)
    )


def _map(answer: Mapping[str, object], key: str) -> Mapping[str, object]:
    found = answer.get(key)
    return found if isinstance(found, Mapping) else {}


def _list(answer: Mapping[str, object], key: str) -> list[object]:
    found = answer.get(key)
    return list(found) if isinstance(found, list | tuple) else []


def _int(answer: Mapping[str, object], key: str) -> int:
    return _int_or_none(answer.get(key)) or 0


def _int_or_none(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _ints(value: object) -> tuple[int, ...]:
    return tuple(int(each) for each in value) if isinstance(value, list | tuple) else ()


def _float(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _text(answer: Mapping[str, object], key: str) -> str:
    return _text_or_none(answer.get(key)) or ""


def _text_or_none(value: object) -> str | None:
    return str(value) if value else None
