"""The record itself: `box.info`, and what STATUS tells beyond it.

`BoxInfo` is what Tarantool's users know by that name. `NodeStatus` is the whole record; tables,
dashboards, metrics, checks and evidence show parts of it. A field is defined here or in the files
beside this one, and nowhere else.
"""

import functools
from typing import Annotated

import msgspec
from msgspec import Struct, field

from qsync.histogram import Spread
from qsync.status.limbo import SynchroStatus
from qsync.status.members import AnonymousStatus, ElectionStatus, MemberStatus, PeerStatus
from qsync.status.storage import (
    DiskStatus,
    FaultStatus,
    GcStatus,
    LostStatus,
    MemoryStatus,
    SpacesStatus,
)
from qsync.status.tls import TlsStatus
from qsync.status.upgrade import UpgradeStatus

STUCK_S = 5.0
"""What counts as the election timeout of a node that does not tell its own."""


class ReadOnlyInfo(Struct, frozen=True, kw_only=True):
    """Why a node takes no writes."""

    why: Annotated[str, "the reason in one word"] = ""
    text: Annotated[str, "the numbers behind it"] = ""
    lifts: Annotated[str, "what lifts it"] = ""
    node: Annotated[str, "whose reason it is"] = ""


class ClusterName(Struct, frozen=True, kw_only=True):
    """The cluster, as its configuration calls it."""

    name: Annotated[str, "its name"] = ""
    tag: Annotated[str, "its tag, such as `production`"] = ""


class ReplicaSet(Struct, frozen=True, kw_only=True):
    """The cluster, as its directories know it."""

    uuid: Annotated[str, "the cluster's uuid; empty on a stranger"] = ""
    name: Annotated[str, "its name"] = ""


class AnonymousReplicas(Struct, frozen=True, kw_only=True):
    """Those that follow without being members."""

    count: Annotated[int, "how many this node knows"] = 0
    replicas: Annotated[tuple[AnonymousStatus, ...], "each of them"] = ()


class HealthCheck(Struct, frozen=True, kw_only=True):
    """One check of a node's health."""

    ok: Annotated[bool, "whether it passes"] = True
    why: Annotated[str | None, "what is wrong"] = None


class HealthStatus(Struct, frozen=True, kw_only=True):
    """What a node knows to be wrong with itself."""

    alive: Annotated[bool, "whether it need not be restarted"] = True
    ready: Annotated[bool, "whether it may be given work"] = False
    checks: Annotated[
        dict[str, HealthCheck], "`box`, `disk`, `spaces`, `writer`, `leader`, by name"
    ] = field(default_factory=dict)


class BoxInfo(Struct, frozen=True, kw_only=True):
    """One node's account of itself. Every member has a default, for what is not known.

    `errors`: what is not known, and why, by the path of the field.
    """

    id: Annotated[int, "replica id of the node"] = 0
    uuid: Annotated[str, "its instance"] = ""
    name: Annotated[str, "its name"] = ""
    lsn: Annotated[int, "the last number of its own transactions"] = 0
    signature: Annotated[int, "the last index of its log"] = 0
    vclock: Annotated[dict[int, int], "the last lsn of each origin in its log"] = field(
        default_factory=dict
    )
    ro: Annotated[bool, "whether it takes no writes"] = True
    ro_reason: Annotated[str | None, "the weightiest reason in one word; null: it writes"] = None
    ro_reasons: Annotated[tuple[ReadOnlyInfo, ...], "every reason"] = ()
    status: Annotated[
        str, "`running`, `loading` (it counts in no quorum yet), `split_brain` or `superseded`"
    ] = ""
    uptime: Annotated[float, "seconds since its directory was opened"] = 0.0
    version: Annotated[str, "its release"] = ""
    package: Annotated[str, "always `qsync`"] = ""
    upgrade: Annotated[UpgradeStatus, "what it and its log are written in"] = field(
        default_factory=UpgradeStatus
    )
    form: Annotated[str, "`compiled` or `pure`: which form of its hot modules runs"] = ""
    hostname: Annotated[str, "the host that it runs on"] = ""
    pid: Annotated[int, "its process"] = 0
    listen: Annotated[str, "the address where clients reach it"] = ""
    cluster: Annotated[ClusterName, "its cluster, by its configuration"] = field(
        default_factory=ClusterName
    )
    replicaset: Annotated[ReplicaSet, "its cluster, by its directory"] = field(
        default_factory=ReplicaSet
    )
    replication: Annotated[dict[int, MemberStatus], "every member, by replica id"] = field(
        default_factory=dict
    )
    replication_anon: Annotated[AnonymousReplicas, "replicas without an id"] = field(
        default_factory=AnonymousReplicas
    )
    election: Annotated[ElectionStatus, "who leads"] = field(default_factory=ElectionStatus)
    synchro: Annotated[SynchroStatus, "synchronous replication"] = field(
        default_factory=SynchroStatus
    )
    memory: Annotated[MemoryStatus, "what takes room"] = field(default_factory=MemoryStatus)
    gc: Annotated[GcStatus, "what of the log is still needed"] = field(default_factory=GcStatus)
    lost: Annotated[LostStatus, "what was cut off its log"] = field(default_factory=LostStatus)
    faults: Annotated[tuple[FaultStatus, ...], "fault points that are armed"] = ()
    health: Annotated[HealthStatus, "what it knows to be wrong"] = field(
        default_factory=HealthStatus
    )
    errors: dict[str, str] = field(default_factory=dict)


class NodeStatus(BoxInfo, frozen=True, kw_only=True):
    """All that a node says of itself at one moment.

    `asked`: when it was asked for it, on the monotonic clock of who asked, in nanoseconds; 0 if
    not noted when it happened: it was so then, or later.
    """

    time: Annotated[float | None, "its wall clock, in seconds since 1970"] = None
    mode: Annotated[str, "`candidate`, `voter`, `manual` or `off`"] = ""
    leader_address: Annotated[str | None, "its address"] = None
    behind: Annotated[
        int | None, "entries of the leader that are not on disk here, by its last heartbeat"
    ] = None
    crc: Annotated[int | None, "chain checksum of the entry there"] = None
    written: Annotated[int, "index up to which its log is durable"] = 0
    confirmed: Annotated[int, "index up to which all is decided"] = 0
    visible: Annotated[int, "index up to which it is readable here"] = 0
    folded: Annotated[int, "index up to which it is in the spaces on disk"] = 0
    nodes: Annotated[tuple[tuple[int, str, str], ...], "id, name and address of each member"] = ()
    peers: Annotated[tuple[PeerStatus, ...], "its connections to the others"] = ()
    disk: Annotated[DiskStatus, "how its log is written"] = field(default_factory=DiskStatus)
    spaces: Annotated[SpacesStatus, "its stored rows"] = field(default_factory=SpacesStatus)
    latency: Annotated[Spread, "writes by the seconds from asking to the answer"] = field(
        default_factory=Spread
    )
    counters: Annotated[dict[str, int], "counts since its process began, by name"] = field(
        default_factory=dict
    )
    refused: Annotated[dict[str, int], "connections that were refused, by reason"] = field(
        default_factory=dict
    )
    mishaps: Annotated[int, "connections that a mistake of its own ended"] = 0
    events: Annotated[int, "events in its timeline since its process began"] = 0
    waiters: Annotated[int, "requests that wait for an answer"] = 0
    clients: Annotated[int, "client connections"] = 0
    files: Annotated[tuple[int, ...], "open files, and how many may be open"] = ()
    recruit: Annotated[bool, "whether it counts in no quorum"] = False
    stranger: Annotated[
        bool, "whether its directory is not in the configuration, and it was not removed"
    ] = False
    voters: Annotated[
        tuple[tuple[int, str], ...],
        "id and instance of each voter, by the configuration",
    ] = ()
    members: Annotated[
        tuple[tuple[int, str, str], ...],
        "id, instance and role of each member, by the configuration",
    ] = ()
    standing: Annotated[
        str,
        "`voter`, `learner`, `joining` (a learner that becomes a voter), `stranger`, or `removed`",
    ] = ""
    quarantined: Annotated[str | None, "the damage that it found in its log"] = None
    old_copy: Annotated[
        str | None,
        "how it was found that its directory was an old copy; until it votes as a new instance",
    ] = None
    tls: Annotated[TlsStatus, "what it shows over TLS"] = field(default_factory=TlsStatus)
    asked: int = 0

    @property
    def address(self) -> Annotated[str, "`listen`"]:
        """Where clients reach it."""
        return self.listen

    @property
    def role(self) -> Annotated[str, "`election.state`"]:
        """`leader`, `candidate` or `follower`."""
        return self.election.state

    @property
    def part(self) -> Annotated[str, "`role` of a voter, `standing` of anybody else"]:
        """What it does in the cluster, in one word."""
        return self.role if self.standing in {"voter", ""} else self.standing

    @property
    def term(self) -> Annotated[int, "`election.term`"]:
        """The term that it is in."""
        return self.election.term

    @property
    def vote(self) -> Annotated[int | None, "`election.vote`"]:
        """The candidate that it voted for in this term."""
        return self.election.vote

    @property
    def leader(self) -> Annotated[int | None, "`election.leader`; null: none"]:
        """Replica id of the leader; None where there is none."""
        return self.election.leader or None

    @property
    def leader_name(self) -> Annotated[str | None, "`election.leader_name`"]:
        """The leader's name."""
        return self.election.leader_name

    @property
    def leader_idle(self) -> Annotated[float | None, "`election.leader_idle`"]:
        """Seconds since the leader was heard; 0 on the leader."""
        return self.election.leader_idle

    @property
    def last(self) -> Annotated[int, "`signature`"]:
        """The last index of its log."""
        return self.signature

    @property
    def leads(self) -> bool:
        """It is the leader, writable or not yet."""
        return self.role == "leader"

    @property
    def ro_texts(self) -> list[str]:
        """Every reason for being read-only, with its numbers."""
        return [each.text for each in self.ro_reasons]

    @property
    def margin(self) -> int | None:
        """On the leader: voters that ack, beyond the quorum; negative when they are too few.

        A voter in touch whose disk takes nothing acks nothing: it lacks an entry for longer than a
        silent leader is put up with. While nothing is written it shows nothing of that.
        """
        if not self.leads:
            return None
        ack = [each for each in self.peers if each.counts and not self._is_overdue(each.id)]
        return 1 + len(ack) - self.synchro.quorum

    def _is_overdue(self, id: int) -> bool:
        member = self.replication.get(id)
        downstream = None if member is None else member.downstream
        lag = None if downstream is None else downstream.lag
        return lag is not None and lag > self._patience

    @property
    def _patience(self) -> float:
        return self.election.timeout or STUCK_S

    @property
    def stuck(self) -> float | None:
        """On the leader: since when nothing is confirmed, in seconds; None while it goes on.

        A leader may be writable and in touch with everybody and still confirm nothing: acks come
        from disks, and heartbeats do not. What takes longer than the time after which a silent
        leader is replaced is no longer just slow.
        """
        stalled = self.synchro.queue.stalled
        return stalled if self.leads and stalled > self._patience else None

    @property
    def commits(self) -> bool:
        """A leader that takes writes, has its quorum, and confirms what it takes."""
        in_touch = 1 + sum(each.counts for each in self.peers)
        able = self.leads and in_touch >= self.synchro.quorum
        return able and not self.ro and self.stuck is None


NOT_TOLD = frozenset({"errors", "asked"})
"""Fields of the record that are no part of what a node says."""
TOLD_AGAIN = ("address", "role", "term", "vote", "leader", "leader_name", "leader_idle", "last")
"""Properties that a status tells as members too, for programs that look for them at the top."""


for _kind in (BoxInfo, NodeStatus):
    # msgspec reads the types of a struct when it first decodes one, and a second thread that
    # decodes at that moment meets what is half read, and ends the process. So it reads them now.
    msgspec.json.Decoder(_kind)


@functools.cache
def names(kind: type[BoxInfo]) -> tuple[str, ...]:
    """The members that a node tells, in their order."""
    return tuple(name for name in kind.__struct_fields__ if name not in NOT_TOLD)


def as_members(status: NodeStatus, kind: type[BoxInfo] = NodeStatus) -> dict[str, object]:
    """As plain values, for the wire and for JSON; what is not known as `{"error": ...}`.

    With `BoxInfo` only the members of `box.info`.
    """
    told: dict[str, object] = msgspec.to_builtins(status, enc_hook=_plain)
    failed = {name: {"error": why} for name, why in status.errors.items()}
    members = {name: failed.get(name, told[name]) for name in names(kind)}
    if kind is NodeStatus:
        members |= {name: getattr(status, name) for name in TOLD_AGAIN}
    return members


def _plain(value: object) -> object:
    """Texts of a type of their own, such as addresses."""
    if isinstance(value, str):
        return str(value)
    raise TypeError(f"a status holds no {type(value).__name__}")
