"""The type of mutants, and how to apply one to the parts of a node before its start."""

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
    """The part of a disk that a mutant may replace: the stored form of a write."""

    seal: Seal


class NodeHooks(Protocol):
    """The parts of a node that a mutant may replace, before it starts."""

    remodel: Remodel

    @property
    def disk(self) -> StorageHooks:
        """Its directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A broken rule. `rule`: its section of protocol.md or membership.md.

    It changes a replica (`remodel`), the stored form of a write (`seal`), or the recovery from a
    survivor (`generations`).
    """

    name: str
    rule: str
    without: str
    """The wrong behaviour, in a few words."""
    remodel: Remodel | None = None
    seal: Seal | None = None
    generations: GenerationRules | None = None
    harmless: str = ""
    """Why no guarantee depends on the rule, and its purpose."""

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
    """Add these attributes to the object, for its mutant."""
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
    """Replace the class of the follower part of this process."""
    state = core.machine.state
    honest = state._new_follower

    def changed() -> Follower:
        follower = honest()
        follower.__class__ = kind
        return follower

    put(state, _new_follower=changed)
    state.follower.__class__ = kind


def every_progress(core: Core, kind: type[Progress]) -> None:
    """Replace the class of this process's peers."""
    for progress in core.machine.peers.values():
        progress.__class__ = kind


def every_lease(core: Core, heard: Callable[[HeartbeatRounds, Replica, int, float], None]) -> None:
    """Replace how leaders take the answers to their rounds."""

    def change(leader: Leader) -> None:
        rounds = leader.rounds

        def hears(follower: Replica, round_: int, *, promised_s: float) -> None:
            heard(rounds, follower, round_, promised_s)

        put(rounds, heard=hears)

    every_leader(core, change)
