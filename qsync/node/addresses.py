"""The addresses of the other nodes: from the log, from this node's settings, or from hellos."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from election.messages import Replica
from qsync.config import Address, NodeConfig, PeerConfig
from qsync.core.configuration import Configuration
from qsync.errors import NotMember, ProtocolError
from qsync.member import MEMBERS_MAX, Member
from qsync.node.anonymous import WORD, AnonymousLeases
from qsync.record import Instance
from qsync.wire.session import Hello

if TYPE_CHECKING:
    from qsync.core.machine import Machine


class AddressBook:
    """The members of the cluster, and the nodes that are not members yet or any more.

    Who is a member stands in the log (membership.md M1). The settings of a node name those whom it
    finds its cluster by, before it has a configuration; they tell the addresses until the first
    change of the configuration does, and a way round (`via`) to an address that they name
    themselves. Somebody whom neither names is dialled where it said it is: it may be a member by a
    log that is newer than ours, and wants an answer (M4 e).
    """

    def __init__(
        self, config: NodeConfig, machine: "Machine", own_address: Callable[[], str]
    ) -> None:
        self.anonymous = AnonymousLeases(
            most=config.replication.anon_max, ttl=config.replication.anon_ttl
        )
        self._config = config
        self._machine = machine
        self._own_address = own_address
        self._settings = {Replica(peer.id): peer for peer in config.peers}
        self._strangers: dict[Replica, PeerConfig] = {}
        self._hellos: dict[Replica, Hello] = {}
        self._read_from: Configuration | None = None
        self._members: dict[Replica, PeerConfig] = dict(self._settings)

    def note_hello(self, hello: Hello) -> None:
        """Keep what a node said when it connected last, also if it is refused."""
        if hello.replica <= MEMBERS_MAX:
            self._hellos[Replica(hello.replica)] = hello

    def last_hello(self, replica: int) -> Hello | None:
        """Return what the node of that id said when it connected last."""
        return self._hellos.get(Replica(replica))

    def introduce(self, hello: Hello, now: float, *, leader_idle: float | None) -> None:
        """Take in a peer that connected, with the address in its hello. `now`: for leases.

        `leader_idle`: seconds since the leader was heard, if one is known. Raises NotMember,
        Overloaded for one anonymous replica too many, and ProtocolError for an address that nobody
        can dial.
        """
        replica = Replica(hello.replica)
        if WORD in hello.features:
            configurations = self._machine.replicated_log.configurations
            self.anonymous.admit(hello, configurations, now)
        elif self._is_out(replica, leader_idle):
            raise NotMember(
                f"replica {replica} is not in the configuration {self._followed}",
                details={"replica": int(replica), "term": int(self._machine.term)},
            )
        if not hello.address:
            return
        try:
            self._strangers[replica] = PeerConfig(
                id=replica, name=hello.name, address=Address.parse(hello.address)
            )
        except ValueError as error:
            raise ProtocolError(f"the address of {hello.name} {error}") from None

    def _is_out(self, replica: Replica, leader_idle: float | None) -> bool:
        """Return whether it is certain enough that this replica is no member.

        A leader refuses whom it does not know: its log has the newest configuration. To anybody
        else the dialer may be a member by a log that is newer, so a follower refuses only who was
        removed, once that is confirmed, and while it hears its leader: who was added again
        meanwhile may lead, and a follower that lags would never hear of it.
        """
        machine = self._machine
        if machine.leader is not None:
            return machine.leader.open and not self.names(replica)
        if leader_idle is None or leader_idle >= machine.config.election_timeout:
            return False
        log = machine.replicated_log
        return log.configurations.has_removed(replica, log.confirmed)

    def is_anonymous(self, replica: Replica, instance: Instance) -> bool:
        """Return whether that directory follows without being a member, and never was one."""
        configurations = self._machine.replicated_log.configurations
        return self.anonymous.has(replica) and not configurations.is_former(replica, instance)

    def depart(self, replica: Replica) -> None:
        """Note that a peer has no connection to this node. A member is dialled all the same."""
        self._strangers.pop(replica, None)

    @property
    def members(self) -> tuple[PeerConfig, ...]:
        """The members of the configuration by id; without one those of the settings."""
        return tuple(peer for _, peer in sorted(self._by_id().items()))

    def names(self, replica: int) -> bool:
        """Return whether the configuration names that replica."""
        return replica in self._by_id()

    def name_of(self, replica: int | None) -> str | None:
        """Return the name of a node, or None if it is unknown."""
        found = self._find(replica)
        return None if found is None else found.name

    def address_of(self, replica: int | None) -> str | None:
        """Return the address for clients of a node, or None if it is unknown."""
        if replica == self._config.node.id:
            return self._own_address()
        found = self._find(replica)
        return None if found is None else str(found.address)

    def dialled(self) -> dict[Replica, PeerConfig]:
        """Return every node that this one dials: all others whose address is known."""
        found = {each: self._find(each) for each in (*self._machine.peers, *self._strangers)}
        return {replica: peer for replica, peer in found.items() if peer is not None}

    def changed(self) -> bool:
        """Return whether `dialled` may differ from what it was at the last call of this. Cheap."""
        seen, self._seen = self._seen, self._now()
        return seen != self._seen

    _seen: tuple[object, ...] = ()

    def _now(self) -> tuple[object, ...]:
        return (
            self._followed,
            tuple(self._strangers.values()),
            tuple(self._machine.peers),
        )

    def _find(self, replica: int | None) -> PeerConfig | None:
        if replica is None:
            return None
        members = self._by_id()
        wanted = Replica(replica)
        return members.get(wanted) or self._settings.get(wanted) or self._strangers.get(wanted)

    @property
    def _followed(self) -> Configuration | None:
        return self._machine.replicated_log.configurations.followed

    def _by_id(self) -> dict[Replica, PeerConfig]:
        followed = self._followed
        if followed is not self._read_from:
            self._read_from = followed
            self._members = self._read(followed)
        return self._members

    def _read(self, followed: Configuration | None) -> dict[Replica, PeerConfig]:
        if followed is None:
            return dict(self._settings)
        found = {each.replica: self._peer(each) for each in followed.members}
        return {replica: peer for replica, peer in found.items() if peer is not None}

    def _peer(self, member: Member) -> PeerConfig | None:
        """Return how to dial a member; None if neither its row nor the settings say."""
        ours = self._settings.get(member.replica)
        founding = self._machine.replicated_log.configurations.founding
        if not member.address or (ours is not None and self._followed is founding):
            return ours
        address = Address.parse(member.address)
        via = ours.via if ours is not None and ours.address == address else None
        return PeerConfig(id=member.replica, name=member.name, address=address, via=via)
