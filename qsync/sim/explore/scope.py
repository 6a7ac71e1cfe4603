"""The bounds of one exploration: what may happen, and how often."""

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
"""For `unheard`: the network may lose any message, and deliver any message."""
EVERYBODY = frozenset({1, 2, 3})
PROMISE = 5.0
"""Seconds of a promise in scopes with clocks, and of a follower's election timeout everywhere."""
FEATURE = frozenset({"x"})
"""The feature of a newer release."""
DRIFT = CLOCK_DRIFT_MAX * PROMISE
"""The maximum drift of a clock within a promise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """`bounds`: the maximum number of each act. An act that is not named never happens.

    Deliveries and losses are not bounded: a lost message is one that has not been delivered yet.
    `prelude`: the script that makes the first state.
    """

    name: str
    claim: str
    """The statement that an exhausted scope proves, as a sentence."""
    bounds: Mapping[str, int]
    prelude: str
    reaches: frozenset[str]
    """Events that must happen in some state: without them the scope proves nothing."""
    nodes: int = 3
    founders: int = 0
    """How many nodes found the cluster, the first ones; the others are outside. 0: all.
    """
    changes: tuple[MemberChange, ...] = ()
    """Forced requests of operators to a leader, of one step each."""
    alike: tuple[tuple[int, ...], ...] = ()
    """Groups of interchangeable nodes."""
    crashing: frozenset[int] = EVERYBODY
    """The nodes that crash, or lose their disk."""
    surviving: frozenset[int] = EVERYBODY
    """The nodes from whose log a cluster may be recovered by force."""
    campaigning: frozenset[int] = EVERYBODY
    reading: frozenset[int] = EVERYBODY
    """The nodes that serve linearizable reads."""
    beating: frozenset[int] = EVERYBODY
    """The nodes whose heartbeat timer fires when they lead."""
    writing: frozenset[int] = EVERYBODY
    """The nodes that get transactions without data."""
    trimming: frozenset[int] = EVERYBODY
    """The nodes that trim their confirmed log."""
    beat: float = 3.0
    """Seconds between heartbeats: after 3.0 unanswered messages are sent again."""
    older: frozenset[int] = frozenset()
    """The nodes whose release does not know FEATURE at first."""
    whole: bool = False
    slow_disk: bool = True
    ordered: bool = False
    """Messages of one connection do not overtake each other (but any of them may be lost)."""
    records: bool = True
    """CONFIRM records are written (their timer fires at any time)."""
    sticky: bool = False
    """A node may ignore a vote request because it still hears its leader; else it never does."""
    unheard: frozenset[str] = field(
        default_factory=lambda: frozenset({"Heartbeat", "HeartbeatResponse"})
    )
    fencing: Fencing = Fencing.OFF
    tick: float = 0.0
    """Time passes only in ticks of this many seconds, for all nodes at once."""
    appended: int = 4096
    """The maximum number of entries in a message."""
    dead_letters: bool = True
    """A message that its receiver will ignore is dropped at once."""
    kills: frozenset[str] = frozenset()
    """Mutants that must be detected here."""

    def config(self, me: Replica, voters: tuple[Replica, ...]) -> CoreConfig:
        """The configuration of a node."""
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
        """The features that a node knows at first: none, except in scopes of releases."""
        newer = bool(self.older) and me not in self.older
        return FEATURE if newer else frozenset()

    @property
    def founding(self) -> tuple[Replica, ...]:
        """The first voters."""
        return node_ids(self.founders or self.nodes)

    @property
    def quorum(self) -> int | None:
        """How many disks make a transaction durable, independent of mutants.

        None if voters change or a cluster is recovered: then the voters of the log decide.
        """
        return None if self.changes or "forces" in self.bounds else self.nodes // 2 + 1


simple_scope = partial(Scope, ordered=True, slow_disk=False, records=False)
"""Messages in order, writes durable at once, no CONFIRM records: most histories need no more."""
