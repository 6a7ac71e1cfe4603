"""What a mutant is, and the ways to get it into the parts of a node that has not started yet."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from election.messages import Replica
from qsync.core.follower import Follower
from qsync.core.leader import Leader
from qsync.core.progress import Progress
from qsync.core.ready import Write
from qsync.core.rounds import HeartbeatRounds
from qsync.replica import Replica as Core
from qsync.sim.generations import GenerationRules, RecoverableNode

Remodel = Callable[[Core], None]


Seal = Callable[[Write], Write]


class StorageHooks(Protocol):
    """What a mutant may replace of a disk: what is stored of a write."""

    seal: Seal


class NodeHooks(Protocol):
    """What a mutant may replace of a node, before it starts."""

    remodel: Remodel

    @property
    def disk(self) -> StorageHooks:
        """Its directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A rule that is gone. `rule`: where it is written, a section of protocol.md or membership.md.

    It changes a replica (`remodel`), what its disk keeps of a write (`seal`), or how a cluster is
    made of a survivor (`generations`).
    """

    name: str
    rule: str
    without: str
    """What the node does now, in a few words."""
    remodel: Remodel | None = None
    seal: Seal | None = None
    generations: GenerationRules | None = None
    harmless: str = ""
    """Why no promise is broken without the rule: what it is for instead."""

    def plant(self, node: NodeHooks) -> None:
        """Break the rule in that node, and in no other."""
        if self.seal is not None:
            node.disk.seal = self.seal
        if self.remodel is not None:
            node.remodel = self.remodel
        if self.generations is not None and isinstance(node, RecoverableNode):
            node.generations = self.generations


def put(thing: object, **methods: object) -> None:
    """From now on the object, and no other of its class, has these methods instead of its own."""
    assert all(hasattr(thing, name) for name in methods), f"{thing} has not all of {set(methods)}"
    vars(thing).update(methods)


def keep(thing: object, **things: object) -> None:
    """From now on the object carries these, too: what a mutant of it needs at hand."""
    vars(thing).update(things)


def every_leader(core: Core, change: Callable[[Leader], None]) -> None:
    """Change each leadership of this process when it begins."""
    state = core.machine.state
    take_over = state._take_over

    def changed() -> None:
        take_over()
        assert state.leader is not None
        change(state.leader)

    put(state, _take_over=changed)


def every_follower(core: Core, kind: type[Follower]) -> None:
    """Each follower's half of this process is of that kind."""
    state = core.machine.state
    honest = state._new_follower

    def changed() -> Follower:
        follower = honest()
        follower.__class__ = kind
        return follower

    put(state, _new_follower=changed)
    state.follower.__class__ = kind


def every_progress(core: Core, kind: type[Progress]) -> None:
    """What this process knows of its peers is kept in that kind."""
    for progress in core.machine.peers.values():
        progress.__class__ = kind


def every_lease(core: Core, heard: Callable[[HeartbeatRounds, Replica, int, float], None]) -> None:
    """Leaders take the answers to their rounds in that way."""

    def change(leader: Leader) -> None:
        rounds = leader.rounds

        def hears(follower: Replica, round_: int, *, promised_s: float) -> None:
            heard(rounds, follower, round_, promised_s)

        put(rounds, heard=hears)

    every_leader(core, change)
