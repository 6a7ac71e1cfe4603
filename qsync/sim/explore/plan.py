"""The constant parts of a node over all its lives: its configuration, and its mutated rules."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from typing_extensions import override

from election.messages import Index, Replica
from qsync.core.config import CoreConfig
from qsync.core.configuration import Configuration
from qsync.core.machine import Machine
from qsync.core.ready import Ready, Write
from qsync.replica import Replica as Core
from qsync.sim.explore.members import IdCodec
from qsync.sim.explore.platter import WriteDisk
from qsync.sim.generations import GenerationRules
from qsync.store.memory import MemorySpaces


class Seal:
    """The part of a disk that a mutant may replace: the stored part of a write."""

    def __init__(self) -> None:
        self.seal: Callable[[Write], Write] = _as_it_is


class PlanDraft:
    """A plan without mutants (see `qsync.sim.mutants.catalogue.plant`)."""

    def __init__(self, config: CoreConfig) -> None:
        self.config = config
        self.disk = Seal()
        self.remodel: Callable[[Core], None] = _as_built
        self.generations = GenerationRules()


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPlan:
    """How to start a node. `whole`: with the spaces; else only the log and its outcomes."""

    config: CoreConfig
    seal: Callable[[Write], Write]
    remodel: Callable[[Core], None]
    whole: bool
    reads: bool
    """Clients read."""
    slow_disk: bool
    """Writes take time, so a crash can come before their end; else they are durable at once."""
    unheard: frozenset[str]
    """Kinds of messages that the network always loses."""
    founders: tuple[Replica, ...]
    """The first voters."""
    changing: bool
    """Whether voters change."""
    generations: GenerationRules

    @property
    def me(self) -> Replica:
        """The node's id."""
        return self.config.me

    @property
    def peers(self) -> list[Replica]:
        """All other nodes, from its own settings."""
        return [each for each in self.config.voters if each != self.me]

    def platter(self) -> WriteDisk:
        """An empty disk."""
        return WriteDisk(self.me, MemorySpaces() if self.whole else None)

    def boot(self, platter: WriteDisk, life: int, features: frozenset[str]) -> Core:
        """A process of a release with these features, on that directory. `life` counts processes.

        Raises WrongFormat if its log uses another feature.
        """
        # Only requests of reads use the number; without reads it would only make states differ.
        core = self._core(platter, life if self.reads else 0, features)
        self.remodel(core)
        return core

    def _core(self, platter: WriteDisk, life: int, features: frozenset[str]) -> Core:
        spaces = platter.spaces
        config = replace(self.config, instance=platter.instance, features=features)
        if spaces is None:
            return Bare(config, platter, life, platter.founding(self.founders))
        return Core(
            config,
            ballot=platter.ballot,
            confirmed=platter.confirmed,
            stored=platter.stored(),
            tail=platter.read,
            backing=spaces,
            folded=spaces.folded,
            founding=platter.founding(self.founders),
            quarantined=platter.damaged,
            life=life,
        )


class Bare(Core):
    """A replica without spaces: its transactions are opaque names."""

    def __init__(
        self,
        config: CoreConfig,
        platter: WriteDisk,
        life: int,
        founding: Configuration | None,
    ) -> None:
        self.machine = Machine(
            config,
            ballot=platter.ballot,
            confirmed=platter.confirmed,
            stored=platter.stored(),
            tail=platter.read,
            founding=founding,
            codec=IdCodec(),
            quarantined=platter.damaged,
            life=life,
            start=platter.start,
        )
        self.full = False
        """There is no room for transactions."""
        self.settings, self.lost = {}, None

    @override
    def lose(self, why: str, *, snapshot: Index | None = None) -> None:
        """There are no rows that a snapshot could replace."""

    @property
    @override
    def has_no_room(self) -> bool:
        """No effect: it has no rows."""
        return self.full

    def ready(self) -> Ready:
        """The log has no consumers."""
        return self.machine.ready()

    def absorb(self) -> None:
        """There is nothing to update."""


def _as_it_is(write: Write) -> Write:
    """A disk without a fault stores the whole write."""
    return write


def _as_built(core: Core) -> None:
    """The product itself, unchanged."""
