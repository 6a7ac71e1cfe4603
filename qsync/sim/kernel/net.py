"""The network of a room: reachability, delays, and broken connections."""

import errno
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from qsync.sim.clockwork import VirtualClock
from qsync.sim.kernel.streams import NEVER, SimulatedSocket, StreamChunk
from qsync.sim.swarm import Weather

Pair = tuple[int, int]
PIECE_MIN: Final = 1
SPLIT: Final = 0.15
"""How often what was sent at once arrives in two pieces."""
RETRY_BEATS: Final = 20
"""After this many mean delays a blocked packet is sent again."""
NODES_MAX: Final = 99
"""Machines with higher numbers are clients."""
CLIENTS_MAX: Final = 600
"""Machines with higher numbers than this are operators."""
STRAGGLE_S: Final = 4.0
"""Longer than the session lifetime of one second."""
HANDSHAKE_BYTES: Final = 2048
"""Bits are flipped after the handshake, because frames between members are authenticated then."""


class Net:
    """All connections. `blocked`: directed pairs of machines whose packets are lost now.

    `refusing`: running machines that refuse all connections. `rejecting`: directed pairs between
    which connections are refused. `off`: machines without power. `held_up`: pairs with extra delay.
    """

    def __init__(self, clockwork: VirtualClock, weather: Weather, *, window: int) -> None:
        self.weather = weather
        self.window = window
        self.doors: dict[int, SimulatedSocket] = {}
        self.blocked: dict[Pair, int] = {}
        self.held_up: dict[Pair, Callable[[], float]] = {}
        self.refusing: set[int] = set()
        self.rejecting: set[Pair] = set()
        self.off: set[int] = set()
        self.lost = 0
        """Pieces that will never be read."""
        self._clockwork = clockwork
        self._dice = clockwork.dice("net")
        self._ends: list[SimulatedSocket] = []

    def delay(self) -> float:
        """The delay of one packet."""
        weather, dice = self.weather, self._dice
        found = weather.delay_min + dice.about(weather.delay_mean)
        if dice.chance(weather.late):
            found += dice.random() * weather.late_delay
        if dice.chance(weather.loss):
            found += self._again()  # it is sent again
        return found

    def _again(self) -> float:
        return self._dice.about(self.weather.dial_delay + RETRY_BEATS * self.weather.delay_mean)

    def passes(self, here: int, there: int) -> bool:
        """Whether packets between them pass now."""
        return (here, there) not in self.blocked and there not in self.off

    # -- connections

    def ends(self) -> list[SimulatedSocket]:
        """Open ends of established connections whose bytes are relevant."""
        self._ends = [each for each in self._ends if not each.closed]
        return self._ends

    def dial(self, sock: SimulatedSocket, port: int, now: float) -> None:
        """Send the first packet of a connection; a blocked one is sent again until it passes."""
        if sock.closed or sock.process is None or sock.process.dead:
            return
        there = port % 1000
        way = now + self.delay()
        if not (self.passes(sock.whose, there) and self.passes(there, sock.whose)):
            self._clockwork.after(
                way + self._again() - self._clockwork.now, self._dial_again, sock, port
            )
            return
        door = self.doors.get(port)
        sock.connected_at = way + self.delay()
        refused = there in self.refusing or (sock.whose, there) in self.rejecting
        if door is None or door.closed or refused:
            sock.flaws.error = errno.ECONNREFUSED
            sock.listen_up()
        else:
            other = SimulatedSocket(None, there)
            sock.peer, other.peer = other, sock
            other.connected_at = way
            self._ends += [sock, other]
            assert door.door is not None
            door.door.backlog.append((way, other))
            door.listen_up()
            assert door.process is not None
            door.process.wake(way)
        sock.process.wake(sock.connected_at)

    def _dial_again(self, sock: SimulatedSocket, port: int) -> None:
        self.dial(sock, port, self._clockwork.now)

    def carry(self, sock: SimulatedSocket, data: bytes, now: float) -> None:
        """Bytes leave."""
        peer = sock.peer
        assert peer is not None
        sock.flaws.sent += len(data)
        if sock.flaws.lost:
            self.lost += 1
            return
        if peer.closed:
            self.lost += 1
            if self.passes(sock.whose, peer.whose) and sock.reset_at == NEVER:
                self._reset(sock, now + self.delay() + self.delay())
            return
        if sock.flaws.spoiled and sock.flaws.sent > HANDSHAKE_BYTES:
            sock.flaws.spoiled = False
            at = self._dice.randrange(len(data) * 8)
            data = bytes(
                each ^ (1 << at % 8) if number == at // 8 else each
                for number, each in enumerate(data)
            )
        peer.waiting += len(data)
        if len(data) > PIECE_MIN and self._dice.chance(SPLIT):
            cut = self._dice.randrange(1, len(data))
            self._put(sock, peer, data[:cut], now)
            data = data[cut:]
        self._put(sock, peer, data, now)

    def _put(self, sock: SimulatedSocket, peer: SimulatedSocket, data: bytes, now: float) -> None:
        pair = (sock.whose, peer.whose)
        if not self.passes(*pair):
            at = NEVER
        else:
            at = now + self.delay()
            if self.held_up and pair in self.held_up:
                at += self.held_up[pair]()
            # An operator's request is answered in time only if it arrives in time.
            if NODES_MAX < sock.whose <= CLIENTS_MAX and self._dice.chance(self.weather.stragglers):
                at += self._dice.about(STRAGGLE_S)
            if peer.inbox:
                at = max(at, peer.inbox[-1].at)
        peer.inbox.append(StreamChunk(at, data))
        if at < peer.heard_at:
            peer.listen_up()
        if peer.process is not None and at < NEVER:
            peer.process.wake(at)

    def _reset(self, sock: SimulatedSocket, at: float) -> None:
        sock.reset_at = min(sock.reset_at, at)
        sock.listen_up()
        if sock.process is not None:
            sock.process.wake(at)

    def closing(self, sock: SimulatedSocket, now: float, *, silent: bool = False) -> None:
        """An end is closed by its process, or with it. `silent`: its machine died too."""
        sock.closed = True
        sock.listen_up()
        if sock.process is not None:
            sock.process.forget(sock)
        if sock.door is not None:
            if self.doors.get(sock.door.port) is sock:
                del self.doors[sock.door.port]
            for _, waiting in sock.door.backlog:
                self.closing(waiting, now, silent=silent)
            return
        peer = sock.peer
        if peer is None or peer.closed or silent or sock.flaws.lost:
            return
        if sock.inbox and sock.inbox[0].at <= now and sock.inbox[0].data:
            if self.passes(sock.whose, peer.whose):
                self._reset(peer, now + self.delay())
        else:
            self._put(sock, peer, b"", now)

    # -- partitions

    def block(self, pairs: Iterable[Pair], *, tear: bool) -> None:
        """Block these directed pairs. `tear`: their connections break too."""
        now = self._clockwork.now
        for pair in pairs:
            self.blocked[pair] = self.blocked.get(pair, 0) + 1
            for sock in self._between(pair):
                self._hold(sock, now)
                if tear:
                    self.tear(sock)

    def unblock(self, pairs: Iterable[Pair]) -> None:
        """Remove one block of these pairs."""
        for pair in pairs:
            left = self.blocked.get(pair, 0) - 1
            if left > 0:
                self.blocked[pair] = left
            else:
                self.blocked.pop(pair, None)
                for sock in self._between(pair):
                    self._release(sock)

    def reset(self, pairs: Iterable[Pair]) -> None:
        """Break the connections of these directed pairs once."""
        for pair in pairs:
            for sock in self._between(pair):
                self.tear(sock)

    def tear(self, sock: SimulatedSocket) -> None:
        """Both ends of a connection get the error, each after its delay."""
        now = self._clockwork.now
        for end in (sock, sock.peer):
            if end is not None and not end.closed:
                self._reset(end, now + self._again())

    def refuse(self, number: int) -> None:
        """Its address refuses connections, and open ones break; the process keeps running."""
        self.refusing.add(number)
        for end in self.ends():
            known = end.peer is not None and end.connected_at <= self._clockwork.now
            if known and end.whose == number:
                self.tear(end)

    def heal(self) -> None:
        """Heal the network."""
        pairs = list(self.blocked)
        self.held_up.clear()
        self.refusing.clear()
        self.rejecting.clear()
        self.weather = replace(self.weather, late=0.0, loss=0.0, stragglers=0.0, unresolved=0.0)
        for pair in pairs:
            self.blocked[pair] = 1
        self.unblock(pairs)

    def _between(self, pair: Pair) -> list[SimulatedSocket]:
        """Ends that send bytes in that direction."""
        here, there = pair
        return [
            each
            for each in self.ends()
            if each.whose == here and each.peer is not None and each.peer.whose == there
        ]

    def _hold(self, sock: SimulatedSocket, now: float) -> None:
        assert sock.peer is not None
        for piece in sock.peer.inbox:
            if piece.at > now:
                piece.at = NEVER
        sock.peer.listen_up()

    def _release(self, sock: SimulatedSocket) -> None:
        peer = sock.peer
        if peer is None or sock.flaws.lost:
            return
        at = self._clockwork.now + self._again()
        for piece in peer.inbox:
            if piece.at == NEVER:
                at += self.weather.delay_min
                piece.at = at
        peer.listen_up()
        if peer.process is not None:
            peer.process.wake(at)

    # -- lives of processes and machines

    def stopped(self, ends: Sequence[SimulatedSocket], now: float, *, silent: bool) -> None:
        """A process died, and all its ends with it."""
        for sock in ends:
            self.closing(sock, now, silent=silent)
