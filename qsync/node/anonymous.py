"""Anonymous replicas: they follow without being members, and are known by a lease.

Such a replica stands in no configuration, so it is a stranger to the rules of the log, which gets
the log and counts nowhere (membership.md M1 d). It takes no place in `_cluster`, and a cluster
forgets it without writing anything down: when its lease has ended.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from election.messages import Index, Replica
from qsync.core.config import CoreConfig
from qsync.core.configuration import Configurations
from qsync.core.peers import Peers
from qsync.core.replicated_log import ReplicatedLog
from qsync.core.retention import HoldKind, LogHold
from qsync.error_details import RETRY_AFTER
from qsync.errors import ForeignCluster, NotMember, Overloaded
from qsync.record import read_instance
from qsync.wire.session import Hello

WORD: Final = "anonymous"
"""Among the words of a hello: the dialer asks to follow without being a member."""
FOLLOW_AGAIN: Final = (
    "make it a member again with `qsync member add`, or lay out an empty directory: "
    "qsync init DIR --join TARGET --anonymous"
)
RETRY_S: Final = 5.0


@dataclass(slots=True, kw_only=True)
class AnonymousLease:
    """One replica. `until`: on the node's clock, in seconds; renewed while it is connected.

    `index`: up to where it has the log, if this node leads.
    """

    replica: Replica
    instance: str
    name: str
    address: str
    until: float
    connected: bool = True
    index: Index = Index(0)


class AnonymousLeases:
    """The leases that a node knows, by instance; at most `most` at once."""

    def __init__(self, *, most: int, ttl: float) -> None:
        self.known: dict[str, AnonymousLease] = {}
        self._most = most
        self.ttl = ttl

    def has(self, replica: Replica) -> bool:
        """Return whether an anonymous replica has that id."""
        return any(each.replica == replica for each in self.known.values())

    def admit(self, hello: Hello, known: Configurations, now: float) -> None:
        """Add or renew a lease. Raises Overloaded, and ForeignCluster for an id that is taken.

        Raises NotMember for a member that was removed: it gets nothing behind its removal, under
        no name (membership.md M4 f).
        """
        instance, replica = hello.instance or "", Replica(hello.replica)
        if known.is_former(replica, read_instance(instance)):
            raise NotMember(
                f"replica {replica} was removed from the cluster, and its directory cannot follow "
                "as an anonymous one",
                hint=FOLLOW_AGAIN,
            )
        member = None if known.followed is None else known.followed.member(replica)
        if member is not None:
            if member.instance == read_instance(instance):
                self.known.pop(instance, None)  # it was added meanwhile
                return
            raise ForeignCluster(
                f"replica id {replica} is that of a member, {member.name}",
                hint="lay out this replica again: qsync init DIR --join TARGET --anonymous",
            )
        namesake = self._namesake(replica, instance)
        if namesake is not None and namesake.connected:
            raise ForeignCluster(
                f"replica id {replica} is taken by another anonymous replica, {namesake.name}",
                hint="lay this one out again: qsync init DIR --join TARGET --anonymous",
            )
        if namesake is not None:
            del self.known[namesake.instance]  # its disk was lost, or it was laid out again
        former = self.known.get(instance)
        if former is None and len(self.known) >= self._most:
            raise Overloaded(
                f"{len(self.known)} anonymous replicas are known; the limit is "
                "replication.anon_max",
                hint="raise it, or wait until the lease of one that is gone ends",
                details={RETRY_AFTER: RETRY_S},
            )
        self.known[instance] = AnonymousLease(
            replica=replica,
            instance=instance,
            name=hello.name,
            address=hello.address,
            until=now + self.ttl,
            index=Index(0) if former is None else former.index,
        )

    def _namesake(self, replica: Replica, instance: str) -> AnonymousLease | None:
        """Return the lease of another directory that has that id."""
        found = (each for each in self.known.values() if each.replica == replica)
        return next((each for each in found if each.instance != instance), None)

    def renew(
        self, now: float, hears: Callable[[Replica, str], bool], known: Configurations
    ) -> list[AnonymousLease]:
        """Renew the leases of connected replicas; drop and return those that have expired.

        Also those of who is a member by now, or was one and is removed.
        """
        over = []
        for each in list(self.known.values()):
            each.connected = hears(each.replica, each.instance)
            if each.connected:
                each.until = now + self.ttl
            named = None if known.followed is None else known.followed.member(each.replica)
            former = known.is_former(each.replica, read_instance(each.instance))
            if each.until <= now or named is not None or former:
                del self.known[each.instance]
                over.append(each)
        return over

    def follow(self, peers: Peers, log: ReplicatedLog) -> None:
        """Note how far the replicas are, as the leader knows."""
        for each in self.known.values():
            progress = peers.get(each.replica)
            if progress is None or progress.instance != read_instance(each.instance):
                continue
            if progress.is_replicating:
                each.index = max(each.index, min(progress.match, log.confirmed))

    def holds(self, log: ReplicatedLog, config: CoreConfig) -> list[LogHold]:
        """Return what keeps the log for replicas with a lease, within the consumers' limit."""
        return [
            LogHold(
                name=each.name,
                kind=HoldKind.ANONYMOUS,
                index=each.index,
                why="an anonymous replica has the log up to there",
            )
            for each in self.known.values()
            if each.index >= max(1, log.log.start.index)
            and log.log.bytes_between(each.index, log.log.last) <= config.wal_retention_size
        ]
