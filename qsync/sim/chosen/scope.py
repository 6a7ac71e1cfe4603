"""The bounds of a scope of shipped nodes: what may happen in its runs, and how often."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from election.fencing import Fencing
from qsync.faults import Fault
from qsync.sim.client_load import ClientLoad
from qsync.sim.swarm import (
    DiskFlaws,
    Nemesis,
    Swarm,
    SwarmLimits,
    SwarmTiming,
    Weather,
)
from qsync.sim.variety import RetentionLimits, Variety

ELECTION_S = 0.4
BEAT_S = 0.1
DELAY_S = 0.001
WINDOW_S = 20 * ELECTION_S
"""The time limit for clients until everything is done and at rest."""
LATE_S = 4 * ELECTION_S
"""The maximum delay of a late packet, and of all later packets on its connection."""
SHORT_S, LONG_S = ELECTION_S / 8, 3 * ELECTION_S
"""The durations of a fault: shorter than any timeout, or long after another node leads."""


class Victims(Enum):
    """The victim, by its role when faults begin."""

    LEADER = "the leader"
    FOLLOWERS = "followers"
    ANYBODY = "anybody"


TRIMMED_OFTEN = RetentionLimits(count=2, threshold=400, interval=0.0, size=1 << 30, cleanup_delay=0)
"""A snapshot, with trimming, every few writes."""
SWEEP_S = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenScope:
    """`bounds`: the maximum number of each fault; it may happen at any kernel call of a victim.

    `clients`: the operations of each client, from the moment on at which faults may happen. If
    `settled`, a leader is elected and the spaces are made before.
    """

    name: str
    claim: str
    """The statement that holds after all runs, as a sentence."""
    bounds: Mapping[Fault, int]
    victims: Victims
    clients: tuple[tuple[str, ...], ...]
    reaches: frozenset[str]
    """Events that must happen in some run: without them the scope proves nothing."""
    kills: frozenset[str] = frozenset()
    """Mutants that must be detected here."""
    faults: int = 1
    """The maximum of all kinds together."""
    settled: bool = True
    nodes: int = 3
    lasts: tuple[float, ...] = (SHORT_S, LONG_S)
    """The possible durations of a fault."""
    within: float = WINDOW_S
    """Faults begin within this time in seconds; later the clients go on, and faults last."""
    think: float = DELAY_S
    """The mean pause of a client between two operations."""
    patience: float = 2 * ELECTION_S
    """The time that a client waits for an answer."""
    fencing: Fencing = Fencing.SOFT
    trims: bool = False
    """Nodes write snapshots and trim their logs by themselves, and check for it often."""

    @property
    def drawn(self) -> Swarm:
        """A cluster in which only chosen faults happen."""
        return Swarm(
            nodes=self.nodes,
            timing=SwarmTiming(
                election_timeout=ELECTION_S,
                replication_timeout=BEAT_S,
                synchro_timeout=20 * ELECTION_S,
                confirm_delay=0.0,
                fold_interval=SWEEP_S if self.trims else 20 * ELECTION_S,
                when="uniform",
            ),
            weather=Weather(
                delay_min=DELAY_S,
                delay_mean=DELAY_S,
                loss=0.0,
                late=0.01,
                late_delay=LATE_S,
                dial_delay=DELAY_S,
                stragglers=0.0,
                unresolved=0.0,
            ),
            platter=DiskFlaws(
                write_delay=DELAY_S,
                failure=0.01 if Fault.FAIL_FSYNC in self.bounds else 0.0,
                linger=0.5,
                torn=0.5,
            ),
            nemesis=Nemesis(
                interval=1.0,
                duration=ELECTION_S,
                kinds=(),
                spared=frozenset(),
                strikes=None,
                drift=0.0,
            ),
            load=ClientLoad(
                clients=max(1, len(self.clients)),
                hands=1,
                keys=1,
                think=self.think,
                timeout=self.patience,
                weights=(("read", 1),),
                leased=0.0,
                resolves=1.0,
            ),
            variety=Variety(
                unfenced=self.fencing is Fencing.OFF,
                retention=TRIMMED_OFTEN if self.trims else None,
            ),
            policy="rollback",
            strict=self.fencing is Fencing.STRICT,
            limits=SwarmLimits(),
        )
