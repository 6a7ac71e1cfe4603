"""What one node said of itself at one moment, as a record: the source of every view."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from admin.status import fields
from admin.status.fields import Answer
from admin.status.stored import SpacesSample
from qsync.histogram import Spread

STUCK_S = 5.0
"""What counts as the election timeout of a node that does not tell its own."""
BUSY_S_MAX = 1.0
"""A write of the log that takes longer is said to hang."""
IN_TOUCH = "up"
"""The status of a link that works."""


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
    recruit: bool = False
    stranger: bool = False

    @property
    def counts(self) -> bool:
        """Its acks count in a quorum, as far as the leader knows."""
        return self.status == IN_TOUCH and not self.recruit

    @classmethod
    def read(cls, answer: Answer) -> "PeerSample":
        """From a member of STATUS `peers`."""
        return cls(
            id=fields.integer(answer, "id"),
            name=fields.text(answer, "name"),
            status=fields.text(answer, "status"),
            idle=fields.number(answer, "idle"),
            lag=fields.integer_or_none(answer, "lag"),
            acked=fields.integer_or_none(answer, "acked"),
            message=fields.text_or_none(answer, "message"),
            recruit=bool(answer.get("recruit")),
            stranger=bool(answer.get("stranger")),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingSample:
    """The oldest pending transaction: who acked it, whose ack is missing."""

    index: int
    acks_from: tuple[int, ...]
    missing: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimboSample:
    """The queue of pending transactions.

    `age` of the oldest and `timeout` in seconds, `size` in bytes, `confirm_lag` in entries.
    `stalled`: for how many seconds nothing has been confirmed although something waits.
    `unsafe`: the quorum is below a majority.
    """

    quorum: int = 0
    unsafe: bool = False
    owner: int = 0
    term: int = 0
    len: int = 0
    size: int = 0
    age: float = 0.0
    stalled: float = 0.0
    timeout: float = 0.0
    policy: str = ""
    entries_max: int = 0
    bytes_max: int = 0
    busy: bool = False
    confirm_lag: int = 0
    waiting: PendingSample | None = None

    @classmethod
    def read(cls, answer: Answer) -> "LimboSample":
        """From STATUS `synchro`."""
        oldest = fields.mapping(answer, "waiting")
        return cls(
            quorum=fields.integer(answer, "quorum"),
            unsafe=bool(answer.get("unsafe")),
            owner=fields.integer(answer, "owner"),
            term=fields.integer(answer, "term"),
            len=fields.integer(answer, "len"),
            size=fields.integer(answer, "size"),
            age=fields.number(answer, "age") or 0.0,
            stalled=fields.number(answer, "stalled") or 0.0,
            timeout=fields.number(answer, "timeout") or 0.0,
            policy=fields.text(answer, "policy"),
            entries_max=fields.integer(answer, "entries_max"),
            bytes_max=fields.integer(answer, "bytes_max"),
            busy=bool(answer.get("busy")),
            confirm_lag=fields.integer(answer, "confirm_lag"),
            waiting=PendingSample(
                index=fields.integer(oldest, "index"),
                acks_from=fields.integers(oldest, "acks_from"),
                missing=fields.integers(oldest, "missing"),
            )
            if oldest
            else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskSample:
    """How the log is written. `write_s` is the median of the recent writes, `writes` all of them.

    `busy_s`: how long the write that is under way has taken so far.
    `free` and `total` are the bytes of the file system; None where that cannot be asked.
    """

    writer: str = ""
    probe_s: float | None = None
    write_s: float | None = None
    write_s_max: float | None = None
    writes: Spread = field(default_factory=Spread)
    busy_s: float = 0.0
    error: str | None = None
    free: int | None = None
    total: int | None = None
    overlay_rows: int = 0

    @property
    def trouble(self) -> str | None:
        """What is wrong with it right now, in words."""
        if self.error:
            return f"cannot write its log: {self.error}"
        if self.busy_s > BUSY_S_MAX:
            return f"a write of its log has not ended for {self.busy_s:.2g} s"
        return None

    @property
    def usual_s(self) -> float | None:
        """What a durable write takes here: of late, or when the node was started."""
        return self.write_s or self.probe_s

    @classmethod
    def read(cls, answer: Answer) -> "DiskSample":
        """From STATUS `disk`."""
        return cls(
            writer=fields.text(answer, "writer"),
            probe_s=_seconds(answer, "fsync_us"),
            write_s=_seconds(answer, "write_us"),
            write_s_max=_seconds(answer, "write_us_max"),
            writes=Spread.read(fields.mapping(answer, "writes")),
            busy_s=fields.number(answer, "busy_s") or 0.0,
            error=fields.text_or_none(answer, "error"),
            free=fields.integer_or_none(answer, "free"),
            total=fields.integer_or_none(answer, "total"),
            overlay_rows=fields.integer(answer, "overlay_rows"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultSample:
    """A fault point that is armed: the node is broken on purpose. `struck`: how often so far."""

    point: str
    seconds: float = 0.0
    left: int | None = None
    struck: int = 0

    @classmethod
    def read(cls, answer: Answer) -> "FaultSample":
        """From its part of the answer."""
        return cls(
            point=fields.text(answer, "point"),
            seconds=fields.number(answer, "seconds") or 0.0,
            left=fields.integer_or_none(answer, "left"),
            struck=fields.integer(answer, "struck"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSample:
    """One node's own account. `whole` is everything it said, for views that want more.

    `behind`: entries that a follower lacks on disk. `lost`: entries kept in its archive.
    `latency`: of writes, from asking to the answer. `counters`: since its process began.
    `stranger`: the configuration does not name its directory. `voters`: id and instance of those
    that it names. `patience`: its election timeout, in seconds. `crc`: the chain checksum of the
    entry at `last`. `asked`: when it was asked for it, on the monotonic clock of who asked, in ns;
    0 if nobody noted it. It was so then, or later.
    """

    id: int
    name: str
    uuid: str
    address: str
    cluster: str = ""
    cluster_uuid: str = ""
    version: str = ""
    role: str = ""
    mode: str = ""
    term: int = 0
    vote: int | None = None
    leader: int | None = None
    leader_name: str | None = None
    leader_address: str | None = None
    leader_idle: float | None = None
    behind: int | None = None
    ro: bool = True
    ro_reason: str | None = None
    ro_reasons: tuple[str, ...] = ()
    status: str = ""
    vclock: Mapping[int, int] = field(default_factory=dict)
    last: int = 0
    crc: int | None = None
    written: int = 0
    confirmed: int = 0
    visible: int = 0
    folded: int = 0
    limbo: LimboSample = field(default_factory=LimboSample)
    nodes: tuple[tuple[int, str, str], ...] = ()
    peers: tuple[PeerSample, ...] = ()
    lost: int = 0
    disk: DiskSample = field(default_factory=DiskSample)
    spaces: SpacesSample = field(default_factory=SpacesSample)
    latency: Spread = field(default_factory=Spread)
    counters: Mapping[str, int] = field(default_factory=dict)
    refused: Mapping[str, int] = field(default_factory=dict)
    mishaps: int = 0
    fencing: str = ""
    patience: float = 0.0
    recruit: bool = False
    stranger: bool = False
    voters: tuple[tuple[int, str], ...] = ()
    quarantined: str | None = None
    faults: tuple[FaultSample, ...] = ()
    clients: int = 0
    waiters: int = 0
    memory: int = 0
    files: tuple[int, ...] = ()
    events: int = 0
    time: float | None = None
    uptime: float = 0.0
    pid: int = 0
    asked: int = 0
    whole: Mapping[str, object] = field(default_factory=dict, repr=False, compare=False)

    @property
    def leads(self) -> bool:
        """It is the leader, writable or not yet."""
        return self.role == "leader"

    @property
    def margin(self) -> int | None:
        """On the leader: voters in touch beyond the quorum; negative when they are too few."""
        if not self.leads:
            return None
        return 1 + sum(each.counts for each in self.peers) - self.limbo.quorum

    @property
    def stuck(self) -> float | None:
        """On the leader: since when nothing is confirmed, in seconds; None while it goes on.

        A leader may be writable and in touch with everybody and still confirm nothing: acks come
        from disks, and heartbeats do not. What takes longer than the time after which a silent
        leader is replaced is no longer just slow.
        """
        patience = self.patience or STUCK_S
        return self.limbo.stalled if self.leads and self.limbo.stalled > patience else None

    @property
    def commits(self) -> bool:
        """A leader that takes writes, has its quorum, and confirms what it takes."""
        margin = self.margin
        return margin is not None and margin >= 0 and not self.ro and self.stuck is None

    @property
    def healthy(self) -> bool:
        """It takes part and says of itself that nothing is wrong."""
        wrong = self.quarantined or self.disk.error or self.spaces.error or self.spaces.differs
        return self.status == "running" and not wrong

    @classmethod
    def read(cls, answer: Answer) -> "NodeSample":
        """From the answer to STATUS; what is missing keeps its default."""
        return cls(
            id=fields.integer(answer, "id"),
            name=fields.text(answer, "name"),
            uuid=fields.text(answer, "uuid"),
            address=fields.text(answer, "address"),
            cluster=fields.text(answer, "cluster"),
            cluster_uuid=fields.text(answer, "cluster_uuid"),
            version=fields.text(answer, "version"),
            role=fields.text(answer, "role"),
            mode=fields.text(answer, "mode"),
            term=fields.integer(answer, "term"),
            vote=fields.integer_or_none(answer, "vote"),
            leader=fields.integer_or_none(answer, "leader"),
            leader_name=fields.text_or_none(answer, "leader_name"),
            leader_address=fields.text_or_none(answer, "leader_address"),
            leader_idle=fields.number(answer, "leader_idle"),
            behind=fields.integer_or_none(answer, "behind"),
            ro=bool(answer.get("ro", True)),
            ro_reason=fields.text_or_none(answer, "ro_reason"),
            ro_reasons=tuple(_reason(each) for each in fields.array(answer, "ro_reasons")),
            status=fields.text(answer, "status"),
            vclock={int(str(k)): int(str(v)) for k, v in fields.mapping(answer, "vclock").items()},
            last=fields.integer(answer, "last"),
            crc=fields.integer_or_none(answer, "crc"),
            written=fields.integer(answer, "written"),
            confirmed=fields.integer(answer, "confirmed"),
            visible=fields.integer(answer, "visible"),
            folded=fields.integer(answer, "folded"),
            limbo=LimboSample.read(fields.mapping(answer, "synchro")),
            nodes=_members(answer),
            peers=tuple(PeerSample.read(each) for each in fields.maps(answer, "peers")),
            lost=fields.integer(fields.mapping(answer, "lost"), "entries"),
            disk=DiskSample.read(fields.mapping(answer, "disk")),
            spaces=SpacesSample.read(fields.mapping(answer, "spaces")),
            latency=Spread.read(fields.mapping(answer, "latency")),
            counters=fields.counts(answer, "counters"),
            refused=fields.counts(answer, "refused"),
            mishaps=fields.integer(answer, "mishaps"),
            fencing=fields.text(fields.mapping(answer, "election"), "fencing"),
            patience=fields.number(fields.mapping(answer, "election"), "timeout") or 0.0,
            recruit=bool(answer.get("recruit")),
            stranger=bool(answer.get("stranger")),
            voters=_voters(answer),
            quarantined=fields.text_or_none(answer, "quarantined"),
            faults=tuple(FaultSample.read(each) for each in fields.maps(answer, "faults")),
            clients=fields.integer(answer, "clients"),
            waiters=fields.integer(answer, "waiters"),
            memory=fields.integer(answer, "memory"),
            files=fields.integers(answer, "files"),
            events=fields.integer(answer, "events"),
            time=fields.number(answer, "time"),
            uptime=fields.number(answer, "uptime") or 0.0,
            pid=fields.integer(answer, "pid"),
            asked=fields.integer(answer, "asked"),
            whole=answer,
        )


def _seconds(answer: Answer, key: str) -> float | None:
    found = fields.number(answer, key)
    return None if found is None else found / 1e6


def _reason(answer: object) -> str:
    return str(answer.get("text", answer)) if isinstance(answer, Mapping) else str(answer)


def _voters(answer: Answer) -> tuple[tuple[int, str], ...]:
    pairs = [each for each in fields.array(answer, "voters") if isinstance(each, list | tuple)]
    return tuple((int(str(id)), str(instance)) for id, instance in pairs)


def _members(answer: Answer) -> tuple[tuple[int, str, str], ...]:
    return tuple(
        (int(str(each[0])), str(each[1]), str(each[2]))
        for each in fields.array(answer, "nodes")
        if isinstance(each, list | tuple)
    )
