"""Links between replicas: delay, loss, duplicates, reordering, partitions and connection epochs."""

from collections.abc import Callable, Iterable
from typing import Protocol

from election.messages import Replica
from qsync.core.messages import Message
from qsync.record import Instance
from qsync.sim.clockwork import VirtualClock
from qsync.sim.dice import RandomStream
from qsync.sim.swarm import Weather

Pair = tuple[int, int]
Loses = Callable[[Message], bool]

GONE_AFTER_BEATS = 20
"""A peer that vanished without a word is noticed after about so many mean delays and dials."""
GONE_SPREAD_MAX = 3
"""And at the latest after so many times that: nodes close links on which nothing comes."""


class Endpoint(Protocol):
    """What the network needs to know of a process. `life` 0 means that it is down."""

    @property
    def life(self) -> int:
        """Counts starts of the process; 0 while it is down."""

    @property
    def reachable(self) -> bool:
        """It answers handshakes."""

    @property
    def instance(self) -> Instance:
        """On which directory it runs; said in the handshake."""

    def receive(self, sender: Replica, message: Message, instance: Instance) -> None:
        """A message arrived from a process on that directory."""

    def connected(self, peer: Replica, epoch: int, instance: Instance) -> None:
        """Its connection to a peer stands."""

    def disconnected(self, peer: Replica, epoch: int, *, refused: bool) -> None:
        """Its connection to a peer is gone."""


class SimulatedLink:
    """One directed connection between two lives of two processes."""

    __slots__ = (
        "arrival",
        "dice",
        "dst",
        "dst_life",
        "epoch",
        "instance",
        "src",
        "src_life",
        "up",
    )

    def __init__(
        self, ends: Pair, epoch: int, lives: Pair, dice: RandomStream, instance: Instance
    ) -> None:
        self.src, self.dst = ends
        self.instance = instance
        """Of who dialled."""
        self.dice = dice
        self.epoch = epoch
        self.src_life, self.dst_life = lives
        self.up = True
        self.arrival = 0.0


class SimulatedNetwork:
    """All links. `blocked` holds the directed pairs over which nothing passes now.

    `held_up`: pairs whose messages are later, each by what is asked then. `loses`: nodes that do
    not send all that they want to.
    """

    def __init__(self, clockwork: VirtualClock, weather: Weather) -> None:
        self.weather = weather
        self.blocked: dict[Pair, int] = {}
        self.held_up: dict[Pair, Callable[[], float]] = {}
        self.loses: dict[int, Loses] = {}
        self.refusing: set[int] = set()
        """Nodes that live, and take no connections."""
        self.calm = False
        self.lost = 0
        self._clockwork = clockwork
        self._ends: dict[int, Endpoint] = {}
        self._links: dict[Pair, SimulatedLink] = {}
        self._epochs: dict[Pair, int] = {}

    def join(self, number: int, end: Endpoint) -> None:
        """A process that will take part."""
        self._ends[number] = end

    # -- lives of processes

    def started(self, src: int) -> None:
        """A process is up: it dials everybody."""
        for dst in self._ends:
            if dst != src:
                self._epochs[src, dst] = 0
                self._dial_later(src, dst, self._ends[src].life)

    def stopped(self, number: int, *, silent: bool) -> None:
        """A process is gone. Unless `silent`, its peers notice soon that nobody listens there."""
        for (src, dst), link in list(self._links.items()):
            if src == number:
                del self._links[src, dst]
                link.up = False
            elif dst == number:
                patience = self._silence(link) if silent else link.dice.about(self._dial_delay)
                self._break(link, patience, refused=not silent)

    # -- partitions

    def block(self, pairs: Iterable[Pair], *, tear: bool) -> None:
        """Nothing passes over these directed pairs. `tear`: their connections break, too."""
        for pair in pairs:
            self.blocked[pair] = self.blocked.get(pair, 0) + 1
            link = self._links.get(pair)
            if link is not None and tear:
                self._break(link, self._silence(link), refused=False)

    def unblock(self, pairs: Iterable[Pair]) -> None:
        """One cause less why nothing passes there."""
        for pair in pairs:
            left = self.blocked.get(pair, 0) - 1
            if left > 0:
                self.blocked[pair] = left
            else:
                self.blocked.pop(pair, None)

    def reset(self, pairs: Iterable[Pair]) -> None:
        """The connections of these directed pairs break once."""
        for pair in pairs:
            link = self._links.get(pair)
            if link is not None:
                self._break(link, 0.0, refused=False)

    def refuse(self, number: int) -> None:
        """The address of a living node refuses: what was connected breaks, as if it had died."""
        self.refusing.add(number)
        for (_, dst), link in list(self._links.items()):
            if dst == number:
                self._break(link, link.dice.about(self._dial_delay), refused=True)

    def heal(self) -> None:
        """From now on the network is a good one."""
        self.blocked.clear()
        self.refusing.clear()
        self.held_up.clear()
        self.loses.clear()
        self.calm = True

    # -- messages

    def send(self, src: int, dst: int, message: Message) -> None:
        """Over the connection that stands now, if any: lost, late, doubled, overtaken."""
        link = self._links.get((src, dst))
        if link is None or not link.up or (src, dst) in self.blocked or self._lost(src, message):
            self.lost += 1
            return
        weather, clockwork, dice = self.weather, self._clockwork, link.dice
        delay = weather.delay_min + dice.about(weather.delay_mean)
        if (src, dst) in self.held_up:
            delay += self.held_up[src, dst]()
        if not self.calm:
            if dice.chance(weather.loss):
                self.lost += 1
                return
            if dice.chance(weather.late):
                delay += dice.random() * weather.late_delay
            if dice.chance(weather.duplicates):
                clockwork.after(delay + dice.about(weather.late_delay), self._arrive, link, message)
        if weather.ordered:
            link.arrival = max(link.arrival, clockwork.now + delay) + 1e-9
            delay = link.arrival - clockwork.now
        clockwork.after(delay, self._arrive, link, message)

    def _lost(self, src: int, message: Message) -> bool:
        loses = self.loses.get(src)
        return loses is not None and loses(message)

    def _arrive(self, link: SimulatedLink, message: Message) -> None:
        end = self._ends[link.dst]
        if end.life == link.dst_life:
            end.receive(Replica(link.src), message, link.instance)

    # -- connections

    @property
    def _dial_delay(self) -> float:
        return self.weather.dial_delay

    def _silence(self, link: SimulatedLink) -> float:
        patience = self._dial_delay * GONE_AFTER_BEATS
        return min(link.dice.about(patience), GONE_SPREAD_MAX * patience)

    def _dial_later(self, src: int, dst: int, life: int) -> None:
        delay = self.weather.dial_delay * (0.5 + self._dice(src, dst).random())
        self._clockwork.after(delay, self._dial, src, dst, life)

    def _dial(self, src: int, dst: int, life: int) -> None:
        here, there = self._ends[src], self._ends[dst]
        if here.life != life or (src, dst) in self._links:
            return
        open_way = (src, dst) not in self.blocked and (dst, src) not in self.blocked
        open_way = open_way and dst not in self.refusing
        if not (open_way and there.reachable and here.reachable):
            self._dial_later(src, dst, life)
            return
        epoch = self._epochs[src, dst] = self._epochs[src, dst] + 1
        lives, dice = (life, there.life), self._dice(src, dst)
        self._links[src, dst] = SimulatedLink((src, dst), epoch, lives, dice, here.instance)
        here.connected(Replica(dst), epoch, there.instance)

    def _dice(self, src: int, dst: int) -> RandomStream:
        return self._clockwork.dice(f"link {src}-{dst}")

    def _break(self, link: SimulatedLink, delay: float, *, refused: bool) -> None:
        if link.up:
            link.up = False
            self._clockwork.after(delay, self._broken, link, refused)

    def _broken(self, link: SimulatedLink, refused: bool) -> None:  # noqa: FBT001 - called by the clockwork
        if self._links.get((link.src, link.dst)) is not link:
            return
        del self._links[link.src, link.dst]
        end = self._ends[link.src]
        if end.life == link.src_life:
            end.disconnected(Replica(link.dst), link.epoch, refused=refused)
            self._dial_later(link.src, link.dst, link.src_life)
