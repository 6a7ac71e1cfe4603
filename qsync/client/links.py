"""A client's connections: which one is home, when to dial another, what to send on each."""

import random
from collections.abc import Iterator
from typing import Final

from qsync.client import local_sockets, response_timeout, retry_policy
from qsync.client.effects import Close, Dial, Effect, Send
from qsync.client.link import ClientLink, ConnectionPhase
from qsync.client.pending_request import ANSWER_PATIENCE_S, PendingRequest
from qsync.client.response_timeout import FAR
from qsync.client.route import (
    DELAY_MAX_S,
    IDLE_MAX,
    STAGGER_S,
    TURN_DELAY_MAX_S,
    Pace,
    Route,
)
from qsync.client.targets import SeedAddresses
from qsync.errors import Overloaded, QsyncError
from qsync.tls.names import CertifiedName
from qsync.wire.errors import pause_of
from qsync.wire.session import Hello, Party

LATE_S: Final = 0.1
"""From here on a look at the time comes late."""
LATE_MAX_S: Final = 2.0
"""A process that slept longer does not wait longer for nodes that may be gone."""
_STANDINGS: Final = {
    ConnectionPhase.DIALLING: "silent: it has not accepted the connection",
    ConnectionPhase.SHAKING: "silent: it has accepted the connection and said nothing",
    ConnectionPhase.READY: "it is there, but it has not answered this",
}


class ClientLinks:
    """`home` gets the requests. Other connections are being dialled, or have answers to come.

    `check_at`: when `Core.tick` has something to look at. `direct`: one address, no wandering.
    `credentials`: as whom the next connections log in.
    """

    def __init__(self, target: SeedAddresses, *, dice: random.Random, direct: bool) -> None:
        self.route = Route(target.addresses[:1] if direct else target.addresses)
        self.home: ClientLink | None = None
        self.direct = direct
        self.check_at = FAR
        self.effects: list[Effect] = []
        self._hello = Hello(party=Party.CLIENT)
        self.credentials = target.credentials
        self._dice = dice
        self.pace = Pace(dice)
        self._links: dict[int, ClientLink] = {}
        self._dialled = 0
        self._dial_at = 0.0

    def find(self, id: int) -> ClientLink | None:
        """Return the connection of that id, if it is not closed."""
        return self._links.get(id)

    def links(self) -> list[ClientLink]:
        """All connections that are not closed."""
        return list(self._links.values())

    def dial(self, now: float) -> None:
        """Look for a home, unless there is one: dial one address after the other, side by side.

        The first that welcomes us is it. If it does not lead it says so, and who does.
        """
        while self.home is None and now >= self._dial_at:
            busy = _being_dialled(self)
            address = self.route.next_address(now, busy)
            if address is None:
                self.soon(self.route.rested(busy))
                return
            for link in self._links.values():
                if link.address == address:
                    self.home = link
                    return
            self._dialled += 1
            who = None if local_sockets.path_of(address) is not None else self.credentials
            link = ClientLink(self._dialled, address, self._hello, until=FAR, credentials=who)
            _limit(self, link, now)
            # In this order: whatever is among the links was dialled, and has its limit.
            self.effects.append(Dial(link.id, address))
            self._links[link.id] = link
            self._dial_at = now + STAGGER_S
        if self.home is None:
            self.soon(self._dial_at)

    def dialled(self, id: int, now: float) -> None:
        """Note that a connection is up; the node will greet."""
        link = self._links.get(id)
        if link is not None:
            link.phase = ConnectionPhase.SHAKING
            _limit(self, link, now)

    def welcomed(self, link: ClientLink) -> None:
        """End the handshake: from now on this client belongs to that cluster."""
        self._hello = Hello(party=Party.CLIENT, cluster=link.cluster)
        self.route.answered(link.address)
        if self.home is None or link.address == self.route.hinted:
            self.home = link

    def failed(self, link: ClientLink, why: str, now: float) -> None:
        """Note that a connection is lost. `close` is next."""
        self.route.note_failure(link.address, why)
        if link is self.home:
            self._dial_at = now
            self.back_off(now)
            if link.address == self.route.hinted:
                self.route.hinted = None  # what it says when it is back is not the leader's word
        elif link.phase is not ConnectionPhase.READY:
            self._dial_at = now
        self.route.failed(link.address, now, self._dice)

    def send(self, link: ClientLink, ask: PendingRequest, now: float) -> None:
        """Send a request."""
        ask.sent_at = now
        link.inflight[ask.id] = ask
        link.word_by = min(link.word_by, response_timeout.word_by((ask,), now))
        link.out.append(ask.frame)
        if len(link.inflight) == 1:
            self.soon(now + ask.patience - response_timeout.PROBE_S)

    def steer(self, link: ClientLink, error: QsyncError, now: float) -> None:
        """Handle a refusal of home: stay and wait, follow the hint, or try the next address."""
        if link is not self.home:
            return
        hint = error.leader
        if isinstance(error, Overloaded):
            self.back_off(now)
            self.pace.pause(now, pause_of(error))
            self.soon(self.pace.resume_at)
        elif hint == link.address or retry_policy.stays(error):
            self.back_off(now)
        else:
            self.route.note_failure(link.address, str(error))
            self._turn(hint, now)

    def informed(self, link: ClientLink, answer: list[object], now: float) -> None:
        """Take a STATUS: learn the members, and go where the leader is."""
        nodes, leader, address = retry_policy.read_nodes(answer)
        for node in nodes:
            self.route.learn(node)
        link.vouched_at = now
        link.deposed = leader != link.replica
        if link.deposed and link.inflight:
            self.soon(now)
        if link is self.home and leader and leader != link.replica and address:
            self._turn(address, now)

    def _turn(self, hint: str | None, now: float) -> None:
        """Leave home for the hinted address, or else for the next one.

        Its connection stays open: a client without a leader comes back.
        """
        self.home = None
        self._dial_at = now
        address = self.route.prefer(hint) if hint else None
        if address in _being_dialled(self):
            self._dial_at = now + STAGGER_S  # it is being dialled: the first turn is its own
        self.back_off(now, hint=address, longest=TURN_DELAY_MAX_S)

    def attempts(self) -> dict[str, str]:
        """Return what happened at each address, for people."""
        told = dict.fromkeys(self.route.addresses, "it was not tried yet")
        standing = {link.address: _STANDINGS[link.phase] for link in self._links.values()}
        return told | standing | self.route.met

    def back_off(
        self, now: float, *, hint: str | None = None, longest: float = DELAY_MAX_S
    ) -> None:
        """Wait before the next attempt, longer each time."""
        self.pace.failed(now, hint=hint, longest=longest)
        if self.pace.resume_at > now:
            self.soon(self.pace.resume_at)

    def close(self, link: ClientLink) -> None:
        """Close it now."""
        if link.phase is not ConnectionPhase.CLOSED:
            # In this order: what a signal leaves among the links is not closed.
            self._links.pop(link.id, None)
            link.phase = ConnectionPhase.CLOSED
            self.effects.append(Close(link.id))
        if self.home is link:
            self.home = None

    def overdue(self, now: float) -> Iterator[tuple[ClientLink, str]]:
        """Return the connections that took too long, and why."""
        for link in self.links():
            if now < link.excused_until:
                continue
            if link.phase is not ConnectionPhase.READY and now >= link.until:
                limit = self.route.patience(link.address)
                yield link, f"{_STANDINGS[link.phase]} within {limit:g} s"
            elif now >= self._patient_until(link):
                dead = now >= link.word_by
                yield (
                    link,
                    response_timeout.SILENT
                    if dead
                    else f"no answer within {ANSWER_PATIENCE_S:g} s",
                )

    def _patient_until(self, link: ClientLink) -> float:
        alone = not self.route.alternatives
        return response_timeout.patient_until(link, alone=alone, direct=self.direct)

    def doubted(self, now: float) -> list[ClientLink]:
        """Return the connections with slow answers: their nodes are asked whether they lead."""
        found = [
            link
            for link in self._links.values()
            if now >= response_timeout.probe_at(link, self._patient_until(link))
        ]
        for link in found:
            link.probed_at = now
        return found

    def collect(self) -> list[Effect]:
        """Return what is to be done now, once."""
        for link in self._links.values():
            if link.out:
                data = link.out[0] if len(link.out) == 1 else b"".join(link.out)
                link.out.clear()
                self.effects.append(Send(link.id, data))
        effects, self.effects = self.effects, []
        return effects

    def soon(self, at: float) -> None:
        """Look again by that time."""
        self.check_at = min(self.check_at, at)

    def times(self, now: float) -> Iterator[float]:
        """Return when something of this becomes due."""
        for link in self._links.values():
            if link.phase is ConnectionPhase.READY:
                until = self._patient_until(link)
                yield max(until, link.excused_until)
                yield response_timeout.probe_at(link, until)
            else:
                yield max(link.until, link.excused_until)
        if self.pace.resume_at > now:
            yield self.pace.resume_at


def drop_all(wires: ClientLinks) -> None:
    """Close all connections, whatever was under way on them, and look for a home at once."""
    for link in wires.links():
        link.inflight.clear()
        wires.close(link)
    wires.home, wires.check_at = None, 0.0


def close_idle(wires: ClientLinks, *, asked: bool) -> None:
    """Close connections beside home that owe no answer.

    Some are kept while no leader is found for what is `asked`: nodes without a leader would get a
    new connection, with a handshake and a login, from each client at every turn.
    """
    most = IDLE_MAX if asked and wires.pace.searching else 0
    idle = [
        link
        for link in wires.links()
        if link.phase is ConnectionPhase.READY and not link.inflight and link is not wires.home
    ]
    for link in idle[: max(0, len(idle) - most)]:
        wires.close(link)


def begin_anew(wires: ClientLinks, now: float) -> None:
    """Let nobody be late for the time in which nothing was asked: no look at the time was due."""
    wires.check_at = max(wires.check_at, now)


def excuse(wires: ClientLinks, now: float) -> None:
    """Give nodes as much more time as this process is late: their answers may be unread.

    A busy process would else end every connection before it reads the answer, dial again, and be
    busier still.
    """
    late = now - wires.check_at
    if late >= LATE_S and wires.check_at:
        for link in wires.links():
            link.excuse(min(late, LATE_MAX_S), now)


def certify(wires: ClientLinks, id: int, name: CertifiedName, binding: bytes) -> None:
    """Note that the connection is over TLS, and which node its certificate names."""
    link = wires.find(id)
    if link is not None:
        link.certify(name, binding)


def went_on(wires: ClientLinks, id: int, now: float) -> None:
    """Note that a part of what waits to be sent was sent.

    A long request takes long on a slow network: who leaves then begins it again at every node.
    """
    link = wires.find(id)
    if link is not None and link.phase is ConnectionPhase.READY:
        response_timeout.advanced(link, now)


def _being_dialled(wires: ClientLinks) -> set[str]:
    """The addresses whose connections are not up yet."""
    return {link.address for link in wires.links() if link.phase is not ConnectionPhase.READY}


def _limit(wires: ClientLinks, link: ClientLink, now: float) -> None:
    """Limit the time of the next step. A client of one node has no limit but that of its calls.

    A connection on which nobody said anything is then not used any more.
    """
    if wires.direct:
        link.word_by = now + response_timeout.SILENCE_S
    else:
        link.until = now + wires.route.patience(link.address)
        wires.soon(link.until)
