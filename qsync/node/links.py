"""The connections of a node to its peers. Messages of the peers come over theirs.

Directed connections make one-way cuts of the network real, and an epoch is simply the number of a
connection: what was acked over an older one does not count.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from election.messages import Replica
from qsync import features
from qsync.config import PeerConfig
from qsync.core.inputs import Connected, Disconnected, Input
from qsync.errors import NotMember, QsyncError
from qsync.lookups import UNRESOLVED, Door
from qsync.node import keepalive
from qsync.node.addresses import AddressBook
from qsync.node.connection import ClosedBy, Connection
from qsync.node.dialling import LOOKUP_TIMEOUT, PeerDial
from qsync.node.effects import Socket
from qsync.node.reactor import Reactor
from qsync.node.tls import NodeTls
from qsync.record import read_instance
from qsync.tls.errors import TlsFailed
from qsync.wire import limits
from qsync.wire.connection_states import ConnectionState
from qsync.wire.frames import SealedFrames
from qsync.wire.proofs import SecretKeys
from qsync.wire.session import Dialer, Greeting, Hello

REDIAL_EARLIEST, REDIAL_LATEST = 0.02, 0.05
"""Seconds between attempts at first; each failure doubles them."""
REDIAL_DOUBLINGS_MAX = 8
REDIAL_DELAY_MAX = 1.0
HANDSHAKE_TIMEOUT = 3.0
"""A peer that has not answered by then is dialled again."""


class LinkStatus(StrEnum):
    """The state of a link, for people."""

    DOWN = "down"
    CONNECTING = "connecting"
    GREETING = "greeting"
    UP = "up"


@dataclass(slots=True)
class PeerLink:
    """One directed connection, or the next attempt at it."""

    peer: PeerConfig
    status: LinkStatus = LinkStatus.DOWN
    epoch: int = 0
    failures: int = 0
    next_dial: float = 0.0
    begun: float = 0.0
    connection: Connection | None = None
    dial: PeerDial | None = None
    doors: list[Door] = field(default_factory=list)
    """Where its name led last; nothing of an address that is no name."""
    message: str = ""
    refused: bool = False
    not_member: str = ""
    """The words of the peer if it refused us as no member, the last time that it answered."""
    forgotten: bool = False
    """It belongs to no peer any more; its events do not matter."""


def _unheard(_cluster: str, _where: str) -> None:
    """The default observer: it drops the event."""


def _no_copy(_why: str) -> None:
    """The default for a node that is no old copy: it does nothing."""


class Links:
    """Dials every node in the address book, again and again; follows changes of the book."""

    hear_superseded: Callable[[str, str], None] = staticmethod(_unheard)
    """Set by a node; called with the id and place of a cluster that was made of ours."""
    hear_old_copy: Callable[[str], None] = staticmethod(_no_copy)
    """Set by a node; called with the reason why its directory is an old copy."""

    def __init__(
        self,
        book: AddressBook,
        *,
        reactor: Reactor,
        hello: Callable[[int], Hello],
        step: Callable[[Input], None],
        check: Callable[[Greeting], None],
        keys: SecretKeys,
        period: Callable[[], float],
        tls: NodeTls | None = None,
    ) -> None:
        """`period`: seconds between two pings of this node."""
        self.book = book
        self.tls = tls
        self.links: dict[Replica, PeerLink] = {}
        self._reactor = reactor
        self._hello = hello
        self._step = step
        self._check = check
        self._keys = keys
        self.period = period
        self._epochs = 0
        self._parted = ""
        self._dice = reactor.effects.dice()

    def _now(self) -> float:
        return self._reactor.effects.now()

    def follow(self) -> None:
        """Drop links to nodes that left the book, and redial those whose address changed.

        The machine is not informed about peers that it has forgotten.
        """
        peers = self.book.dialled()
        for gone in self.links.keys() - peers.keys():
            link = self.links.pop(gone)
            link.forgotten = True
            self._abandon(link, "it is no member any more")
        for replica, peer in peers.items():
            known = self.links.get(replica)
            if known is None:
                self.links[replica] = PeerLink(peer)
            elif known.peer != peer:
                moved = known.peer.dialled != peer.dialled
                known.peer = peer
                if moved:
                    self._abandon(known, f"it is at {peer.dialled} now")
                    known.failures, known.next_dial, known.doors = 0, self._now(), []

    def met(self, peer: Replica) -> None:
        """A peer has just dialled this node: it runs, so it is not left waiting for the next dial.

        A node that starts again can then follow at once, and its vote is heard.
        """
        link = self.links.get(peer)
        if link is not None and link.status is LinkStatus.DOWN:
            link.next_dial = self._now()

    def refusal(self) -> str | None:
        """Return which peer refuses this node as no member, in its words; None if none does."""
        found = (each for each in self.links.values() if each.not_member)
        return next((f"{each.peer.name} refuses it: {each.not_member}" for each in found), None)

    def part(self, why: str) -> None:
        """Close all links, and dial no more."""
        self._parted = why
        for link in self.links.values():
            self._abandon(link, why)

    def deliver(self, peer: Replica, data: bytes) -> None:
        """Queue a frame for a peer; it is lost when the link is not up."""
        link = self.links.get(peer)
        if link is None:
            return
        if link.status is LinkStatus.UP and link.connection is not None:
            self._reactor.send(link.connection, data)

    def deliver_to_all(self, data: bytes) -> None:
        """Send one message to every other member that is connected, at once."""
        for peer in self.links:
            self.deliver(peer, data)
        self._reactor.flush()

    def dial_due(self) -> float:
        """Dial what is due, by the book as it is now. Returns when to call again."""
        if self.book.changed():
            self.follow()
        now = self._now()
        if self._parted:
            return now + REDIAL_DELAY_MAX
        soonest = now + REDIAL_DELAY_MAX
        for link in self.links.values():
            if link.status is LinkStatus.DOWN:
                if link.next_dial <= now:
                    self._dial(link)
                if link.status is LinkStatus.DOWN:
                    soonest = min(soonest, link.next_dial)
            elif link.status is not LinkStatus.UP:
                soonest = min(soonest, self._wait(link, now))
        return max(soonest, now + 0.005)

    def tick(self) -> None:
        """Ping connected peers once a period, and close links that were silent too long."""
        period = self.period()
        for link in self.links.values():
            connection = link.connection
            if link.status is not LinkStatus.UP or connection is None:
                continue
            if keepalive.silent(connection, self._reactor.effects):
                self._abandon(link, f"no word for {keepalive.SILENT_TICKS_MAX * period:g} s")
            else:
                self._reactor.send(connection, keepalive.ping(period))

    def _wait(self, link: PeerLink, now: float) -> float:
        """Give a link its time to come up. Returns when to look at it again."""
        waited = now - link.begun
        if link.dial is not None and link.dial.is_resolving:
            link.dial.wait(waited)
            if waited < LOOKUP_TIMEOUT:
                return link.begun + LOOKUP_TIMEOUT
        if waited > HANDSHAKE_TIMEOUT:
            self._abandon(link, "no answer to the handshake")
        return link.begun + HANDSHAKE_TIMEOUT

    def _abandon(self, link: PeerLink, why: str) -> None:
        if link.connection is not None:
            self._reactor.close(link.connection, why)
        elif link.dial is not None:
            why = UNRESOLVED if link.dial.is_resolving else why
            link.dial.close()
            self._failed(link, why, refused=False)

    def _dial(self, link: PeerLink) -> None:
        link.begun, link.status = self._now(), LinkStatus.CONNECTING
        link.dial = PeerDial(
            self._reactor,
            link.peer.dialled,
            known=link.doors,
            first=link.failures,
            connected=lambda sock: self._dialled(link, sock),
            failed=lambda why, refused: self._failed(link, why, refused=refused),
        )
        link.dial.begin_dial()

    def _dialled(self, link: PeerLink, sock: Socket) -> None:
        link.dial = None
        try:
            stream = sock if self.tls is None else self.tls.dialled(sock, link.peer.name)
        except (OSError, TlsFailed) as error:
            sock.close()
            self._failed(link, str(error), refused=False)
            return
        self._epochs += 1
        link.epoch = self._epochs
        link.status = LinkStatus.GREETING
        connection = Connection(
            stream,
            frame_bytes_max=limits.HANDSHAKE_BYTES_MAX,
            opened_at=self._now(),
            clock=self._reactor.effects.stopwatch,
        )
        dialer = Dialer(self._hello(link.epoch), replica=Replica(link.peer.id), keys=self._keys)
        connection.take = lambda _, payloads: self._shake(link, dialer, payloads)
        connection.lost = lambda gone, why: self._lost(link, dialer, gone, why)
        link.connection = connection
        self._reactor.add(connection)

    def _shake(self, link: PeerLink, dialer: Dialer, payloads: list[bytes]) -> int:
        connection = link.connection
        assert connection is not None
        for payload in payloads:
            if dialer.state is ConnectionState.READY:
                break  # nothing but the handshake and pongs come back over our own connection
            try:
                answer = dialer.received(payload)
                if answer is not None and dialer.greeting is not None:
                    self._check(dialer.greeting)
            except QsyncError as error:
                if dialer.superseded_by:
                    self.hear_superseded(dialer.superseded_by, str(link.peer.dialled))
                link.not_member = error.message if isinstance(error, NotMember) else ""
                if dialer.is_old_copy:
                    self.hear_old_copy(error.message)
                self._reactor.close(connection, str(error))
                return len(payloads)
            if answer is not None:
                self._reactor.send(connection, answer)
        if dialer.state is ConnectionState.READY and link.status is LinkStatus.GREETING:
            assert dialer.greeting is not None
            connection.frames = SealedFrames(limits.HANDSHAKE_BYTES_MAX)
            keepalive.watched(connection.sock)
            self._reactor.send(connection, keepalive.ping(self.period()))
            link.status, link.failures, link.message = LinkStatus.UP, 0, ""
            link.refused, link.not_member = False, ""
            replica, instance = Replica(link.peer.id), read_instance(dialer.greeting.instance)
            self._step(
                Connected(
                    peer=replica,
                    epoch=link.epoch,
                    instance=instance,
                    features=features.told_in(dialer.greeting.features),
                    anonymous=self.book.is_anonymous(replica, instance),
                )
            )
        return len(payloads)

    def _lost(self, link: PeerLink, dialer: Dialer, connection: Connection, why: str) -> None:
        link.connection = None
        # Closed before the greeting: a proxy accepted, and no node is behind it.
        hung_up = connection.closed is ClosedBy.OTHER_SIDE
        self._failed(link, why, refused=dialer.greeting is None and hung_up)

    def _failed(self, link: PeerLink, why: str, *, refused: bool) -> None:
        if link.forgotten:
            return
        was_up = link.status is LinkStatus.UP
        link.status, link.message, link.dial = LinkStatus.DOWN, why, None
        news = refused and not link.refused
        link.refused = refused
        if was_up or news:
            self._step(Disconnected(peer=Replica(link.peer.id), epoch=link.epoch, refused=refused))
        if was_up:
            # Dial at once: a refusal says that the process is gone, and that is worth knowing.
            link.failures, link.next_dial = 0, self._now()
        else:
            doublings = min(link.failures, REDIAL_DOUBLINGS_MAX)
            delay = self._dice.uniform(REDIAL_EARLIEST, REDIAL_LATEST) * 2**doublings
            link.failures += 1
            link.next_dial = self._now() + min(delay, REDIAL_DELAY_MAX)
