"""A hand-driven cluster for transcripts: deliveries and timers are commands (see `acts_*.py`)."""

from collections import deque
from dataclasses import replace
from typing import NamedTuple

from election.messages import Index, Replica
from election.quorum import parse
from qsync import upgrading
from qsync.core.config import CoreConfig
from qsync.core.inputs import Connected, Disconnected, Received, TimerFired
from qsync.core.messages import Append, Message
from qsync.errors import WrongVersion
from qsync.record import Instance
from qsync.sim.mutants.mutant import Remodel
from tests.scenarios import acts
from tests.scenarios.actor import Actor

Link = tuple[int, int]


class Underway(NamedTuple):
    """A message on a wire: the connection it is on, and the directory its sender ran on."""

    epoch: int
    message: Message
    instance: Instance


class Stage:
    """The nodes, the wires between them, and what was said since the last command."""

    remodel: Remodel | None = None
    """What is done to every replica before it starts: a rule may be broken."""

    def __init__(self) -> None:
        acts.load()
        self.now = 0.0
        self.config = CoreConfig(
            me=Replica(1), voters=(Replica(1),), synchro_quorum=parse("N / 2 + 1")
        )
        self.births = 0
        self.directories = 0
        self.actors: dict[int, Actor] = {}
        self.wires: dict[Link, deque[Underway]] = {}
        self.cut: set[Link] = set()
        self.epochs = 0
        self.epoch: dict[Link, int] = {}
        self.said: list[str] = []
        self.batching: set[int] = set()
        self.tickets = 1_000_000

    def run(self, command: str) -> list[str]:
        """One command line; what it made the nodes say, in order."""
        return acts.perform(self, command)

    def say(self, line: str) -> None:
        """A line of the transcript."""
        self.said.append(line)

    def actor(self, word: str) -> Actor:
        """The node that a command names, told what time it is."""
        actor = self.actors[int(word)]
        if actor.up and not actor.paused:
            actor.core.clock(self.now)
        return actor

    @property
    def running(self) -> list[Actor]:
        """The nodes that are up and do what they should, by number."""
        up = [each for each in self.actors.values() if each.up and not each.paused]
        return sorted(up, key=lambda each: each.me)

    def new_instance(self) -> Instance:
        """For a directory that was not there when the cluster was founded."""
        self.directories += 1
        return Instance(self.directories)

    def enter(self, me: int) -> None:
        """A new node; nobody knows it yet."""
        self.actors[me] = Actor(self, replace(self.config, me=Replica(me)))

    # -- wires

    def send(self, actor: Actor, messages: list[tuple[Replica, Message]]) -> None:
        """Put messages on their wires; one that is cut, or leads to a dead node, takes none."""
        for to, message in messages:
            link = (int(actor.me), int(to))
            if link in self.cut or link not in self.wires or not self.actors[to].up:
                continue
            filled = message
            if isinstance(message, Append):
                found = actor.machine.entries(Index(message.prev_index + 1), message.last)
                filled = replace(message, entries=tuple(found))
            self.wires[link].append(Underway(self.epoch[link], filled, actor.config.instance))

    def deliver(self, link: Link, count: int | None = None) -> bool:
        """What waits on a wire arrives. True if anything did."""
        wire, moved = self.wires[link], False
        actor = self.actors[link[1]]
        if actor.paused:
            return False
        while wire and count != 0:
            epoch, message, instance = wire.popleft()
            if epoch == self.epoch[link] and actor.up:
                actor.core.clock(self.now)
                event = Received(peer=Replica(link[0]), message=message, instance=instance)
                actor.core.step(event)
                actor.settle()
            moved = True
            count = None if count is None else count - 1
        return moved

    def deliver_all(self) -> None:
        """Everything arrives, and what that leads to, until it is quiet."""
        while sum(self.deliver(link) for link in sorted(self.wires)):
            pass

    def connect(self, a: int, b: int) -> None:
        """The connection from a to b stands, as a new one; if a may send its log to b."""
        self.epochs += 1
        self.epoch[(a, b)] = self.epochs
        self.wires.setdefault((a, b), deque()).clear()
        theirs, ours = self.actors[b].config, self.actors[a].core
        try:
            upgrading.admit(ours.settings, f"node {b}", theirs.features)
        except WrongVersion as error:
            self.say(f"{a}: {error.message}")
            self.cut |= {(a, b), (b, a)}
            return
        event = Connected(
            peer=Replica(b),
            epoch=self.epochs,
            instance=theirs.instance,
            features=theirs.features,
        )
        ours.step(event)

    def disconnect(self, a: int, b: int, *, refused: bool) -> None:
        """Node a learns that its connection to b is gone."""
        gone = Disconnected(peer=Replica(b), epoch=self.epoch[(a, b)], refused=refused)
        self.actors[a].core.step(gone)

    def links(self, words: list[str]) -> list[Link]:
        """`A B`: both directions between them. `A`: between A and all others."""
        a = int(words[0])
        others = [int(words[1])] if len(words) > 1 else [b for b in self.actors if b != a]
        return [link for b in others for link in ((a, b), (b, a))]

    def settle(self) -> None:
        """Everybody does all that can be done now."""
        for actor in self.running:
            actor.settle()

    # -- time

    def timer(self, actor: Actor, kind: str) -> None:
        """A timer of that node comes."""
        actor.timers.pop(kind, None)
        actor.core.clock(self.now)
        actor.core.step(TimerFired(kind=kind))
        actor.settle()
