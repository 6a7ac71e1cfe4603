"""A client's connections: which one is home, when to dial another, what to send on each."""

import random
from collections.abc import Iterator
from typing import Final

from qsync.client import verdicts
from qsync.client.asks import ANSWER_PATIENCE_S, Ask
from qsync.client.effects import Close, Dial, Effect, Send
from qsync.client.link import Link, Phase
from qsync.client.route import Pace, Route
from qsync.client.targets import Target
from qsync.errors import Overloaded, QsyncError
from qsync.wire.session import Hello, Party

PROBE_S: Final = 0.5
"""So long before its patience ends, a client asks the node whether it is there and leads."""
FAR: Final = float("inf")


class Wires:
    """`home` is where asks are sent. Others only wait for answers that are still to come.

    `check_at`: when `Core.tick` has something to look at. `direct`: one address, no wandering.
    """

    def __init__(self, target: Target, *, dice: random.Random, direct: bool) -> None:
        self.route = Route(target.addresses[:1] if direct else target.addresses)
        self.home: Link | None = None
        self.direct = direct
        self.check_at = FAR
        self.effects: list[Effect] = []
        self._hello = Hello(party=Party.CLIENT, user=target.user)
        self._pace = Pace(dice)
        self._links: dict[int, Link] = {}
        self._dialled = 0

    def find(self, id: int) -> Link | None:
        """The connection of that id, if it is not closed."""
        return self._links.get(id)

    def links(self) -> list[Link]:
        """All that are not closed."""
        return list(self._links.values())

    def paused(self, now: float) -> bool:
        """Is it too early to try again?"""
        return now < self._pace.resume_at

    def dial(self, now: float) -> None:
        """Make a home, unless there is one."""
        if self.home is not None:
            return
        address = self.route.take()
        for link in self._links.values():
            if link.address == address:
                self.home = link
                return
        self._dialled += 1
        until = now + self.route.patience(address)
        link = Link(self._dialled, address, self._hello, until=until)
        self._links[link.id] = self.home = link
        self.effects.append(Dial(link.id, address))
        self.soon(link.until)

    def dialled(self, id: int, now: float) -> None:
        """The connection stands; the node will greet."""
        link = self._links.get(id)
        if link is not None:
            link.phase = Phase.SHAKING
            link.until = now + self.route.patience(link.address)
            self.soon(link.until)

    def welcomed(self, link: Link) -> None:
        """The handshake is over: from now on we belong to that cluster."""
        self._hello = Hello(party=Party.CLIENT, user=self._hello.user, cluster=link.cluster)
        self.route.answered(link.address)

    def send(self, link: Link, ask: Ask, now: float) -> None:
        """Send an ask."""
        ask.sent_at = now
        link.inflight[ask.id] = ask
        link.out.append(ask.frame)
        if len(link.inflight) == 1:
            self.soon(now + ask.patience - PROBE_S)

    def steer(self, link: Link, error: QsyncError, now: float) -> None:
        """Home said "not now" or "not me": stay and wait, follow the hint, or try the next."""
        if link is not self.home:
            return
        hint = error.leader
        if isinstance(error, Overloaded):
            after = error.details.get("retry_after")
            self.back_off(now)
            self._pace.pause(now, float(after) if isinstance(after, int | float) else 0.0)
            self.soon(self._pace.resume_at)
        elif hint == link.address or verdicts.stays(error):
            self.back_off(now)
        else:
            if hint:
                self.route.prefer(hint)
            self.leave(link)
            self.back_off(now, free=bool(hint))

    def informed(self, link: Link, answer: list[object], now: float) -> None:
        """A STATUS arrived: learn who is there, and go where the leader is."""
        nodes, leader, address = verdicts.read_nodes(answer)
        for node in nodes:
            self.route.learn(node)
        link.vouched_at = now
        link.deposed = leader != link.replica
        if link.deposed and link.inflight:
            self.soon(now)
        if link is self.home and leader and leader != link.replica and address:
            self.route.prefer(address)
            self.leave(link)
            self.back_off(now, free=True)

    def back_off(self, now: float, *, free: bool = False) -> None:
        """Wait before the next attempt, longer each time."""
        self._pace.failed(now, free=free)
        if self._pace.resume_at > now:
            self.soon(self._pace.resume_at)

    def succeeded(self) -> None:
        """An answer arrived."""
        self._pace.succeeded()

    def leave(self, link: Link) -> None:
        """Send nothing more there; close it when everything in flight is answered."""
        if self.home is link:
            self.home = None
        if not link.inflight:
            self.close(link)

    def close(self, link: Link) -> None:
        """Close it now."""
        if link.phase is not Phase.CLOSED:
            link.phase = Phase.CLOSED
            self._links.pop(link.id, None)
            self.effects.append(Close(link.id))
        if self.home is link:
            self.home = None

    def overdue(self, now: float) -> Iterator[tuple[Link, str]]:
        """Connections that took too long, and why."""
        for link in self.links():
            if link.phase is not Phase.READY and now >= link.until:
                patience = self.route.patience(link.address)
                yield link, f"{link.phase.value} took more than {patience:g} s"
            elif now >= self._patient_until(link):
                yield link, f"no answer within {ANSWER_PATIENCE_S:g} s"

    def doubted(self, now: float) -> list[Link]:
        """Connections on which an answer takes long: is the node there, does it lead?"""
        found = [link for link in self._links.values() if now >= self._probe_at(link)]
        for link in found:
            link.probed_at = now
        return found

    def collect(self) -> list[Effect]:
        """What is to be done now; drained by the call."""
        for link in self._links.values():
            if link.out:
                data = link.out[0] if len(link.out) == 1 else b"".join(link.out)
                link.out.clear()
                self.effects.append(Send(link.id, data))
        effects, self.effects = self.effects, []
        return effects

    def soon(self, at: float) -> None:
        """Look again at that time at the latest."""
        self.check_at = min(self.check_at, at)

    def times(self, now: float) -> Iterator[float]:
        """When something of ours becomes due."""
        for link in self._links.values():
            if link.phase is Phase.READY:
                yield self._patient_until(link)
                yield self._probe_at(link)
            else:
                yield link.until
        if self._pace.resume_at > now:
            yield self._pace.resume_at

    def _patient_until(self, link: Link) -> float:
        """Not to leave a slow node: under load, everything would be sent once more elsewhere."""
        if self.direct or not self.route.alternatives:
            return FAR
        times = [
            ask.patience
            + (
                ask.sent_at
                if link.deposed and ask.wants_leader
                else max(ask.sent_at, link.vouched_at)
            )
            for ask in link.inflight.values()
        ]
        return min(times, default=FAR)

    def _probe_at(self, link: Link) -> float:
        if link.phase is not Phase.READY:
            return FAR
        return max(self._patient_until(link), link.probed_at + 2 * PROBE_S) - PROBE_S
