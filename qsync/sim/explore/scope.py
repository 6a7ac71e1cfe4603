"""What one exploration lets happen, and how often: its bounds, stated."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from election.fencing import Fencing
from election.messages import Replica
from election.quorum import Quorum
from qsync.core.config import CLOCK_DRIFT_MAX, PROMISE_FACTOR, CoreConfig
from qsync.core.member_change import MemberChange
from qsync.sim.explore.ids import node_ids

EVERYTHING_HEARD: frozenset[str] = frozenset()
"""For `unheard`: the network may lose anything, and carry anything."""
EVERYBODY = frozenset({1, 2, 3})
PROMISE = 5.0
"""Seconds of a promise in scopes with clocks, and of the patience of a follower everywhere."""
FEATURE = frozenset({"x"})
"""What a newer release knows."""
DRIFT = CLOCK_DRIFT_MAX * PROMISE
"""What one clock may gain or lose within a promise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """`bounds`: how often each thing happens at most. What is not named never happens.

    Deliveries are not bounded, and neither is loss: a message that is lost is one that has not
    been delivered yet. `prelude`: the words of the script that makes the first state.
    """

    name: str
    claim: str
    """What is shown when the scope is exhausted, in a sentence."""
    bounds: Mapping[str, int]
    prelude: str
    reaches: frozenset[str]
    """What must have happened in some state: a scope in which it does not proves nothing."""
    nodes: int = 3
    founders: int = 0
    """So many found the cluster, the first of them; the others are outside. 0: all do."""
    changes: tuple[MemberChange, ...] = ()
    """What operators may ask of a leader, whatever it costs, each of one step."""
    alike: tuple[tuple[int, ...], ...] = ()
    """Groups of nodes that may be exchanged for one another."""
    crashing: frozenset[int] = EVERYBODY
    """Who crashes, or loses its disk."""
    surviving: frozenset[int] = EVERYBODY
    """Of whose log a cluster may be made by force."""
    campaigning: frozenset[int] = EVERYBODY
    reading: frozenset[int] = EVERYBODY
    """Who is asked for linearizable reads."""
    beating: frozenset[int] = EVERYBODY
    """Whose heartbeat timer comes, when it leads."""
    writing: frozenset[int] = EVERYBODY
    """Who is asked for transactions without data."""
    trimming: frozenset[int] = EVERYBODY
    """Who forgets the log that it knows as confirmed."""
    beat: float = 3.0
    """Seconds since the last one when it comes: after 3.0 what was not answered is sent again."""
    older: frozenset[int] = frozenset()
    """Whose release does not know FEATURE at first."""
    whole: bool = False
    slow_disk: bool = True
    ordered: bool = False
    """Messages of one connection do not overtake each other (but any of them may be lost)."""
    records: bool = True
    """CONFIRM records are written (their timer comes at any time)."""
    sticky: bool = False
    """Asked for its vote, a node may still be loyal to its leader; else it never is."""
    unheard: frozenset[str] = field(
        default_factory=lambda: frozenset({"Heartbeat", "HeartbeatResponse"})
    )
    fencing: Fencing = Fencing.OFF
    tick: float = 0.0
    """So many seconds pass at a time, for all nodes at once, and nothing else makes time pass."""
    appended: int = 4096
    """Entries in a message, at most."""
    dead_letters: bool = True
    """What its receiver will take no notice of is dropped at once."""
    kills: frozenset[str] = frozenset()
    """Mutants that must be noticed here."""

    def config(self, me: Replica, voters: tuple[Replica, ...]) -> CoreConfig:
        """What a node is configured with."""
        return CoreConfig(
            me=me,
            voters=voters,
            synchro_quorum=Quorum("N / 2 + 1"),
            fencing=self.fencing,
            synchro_policy="rollback",
            synchro_timeout=0.0,
            election_timeout=PROMISE,
            replication_timeout=PROMISE / PROMISE_FACTOR if self.tick else 1.0,
            replace="manual",
            append_entries_max=self.appended,
            features=self.release_of(me),
        )

    def release_of(self, me: int) -> frozenset[str]:
        """The features that a node knows at first: none but where releases differ."""
        newer = bool(self.older) and me not in self.older
        return FEATURE if newer else frozenset()

    @property
    def founding(self) -> tuple[Replica, ...]:
        """The first voters."""
        return node_ids(self.founders or self.nodes)

    @property
    def quorum(self) -> int | None:
        """How many disks make a transaction safe, whatever a mutant thinks.

        None where voters come and go, or a cluster is made anew: then those of the log decide.
        """
        return None if self.changes or "forces" in self.bounds else self.nodes // 2 + 1


simple_scope = partial(Scope, ordered=True, slow_disk=False, records=False)
"""Messages in order, writes durable at once, no CONFIRM records: most histories need no more."""
