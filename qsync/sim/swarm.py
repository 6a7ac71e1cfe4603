"""The numbers of one simulated run - rates, delays, timeouts - drawn from its seed."""

from dataclasses import dataclass
from random import Random

from election.fencing import Fencing
from election.messages import Replica
from election.quorum import Quorum
from qsync.core.config import CoreConfig

QUORUM = "N / 2 + 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Time limits of every node, in seconds."""

    election_timeout: float
    replication_timeout: float
    synchro_timeout: float
    confirm_delay: float
    fold_interval: float
    dice: str
    """Timers are asked for as ranges: `uniform`, or always the `earliest` moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """What links do to messages. Times in seconds; `late` is how long a straggler may stay away."""

    delay_min: float
    delay_mean: float
    loss: float
    duplicates: float
    late: float
    late_delay: float
    dial_delay: float
    ordered: bool
    """Messages of one connection do not overtake each other, as over TCP."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Platter:
    """What disks do to writes. `linger` is the chance that a crash keeps a write it interrupted."""

    write_delay: float
    failure: float
    linger: float
    torn: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Nemesis:
    """How often something breaks, for how long, and which kinds of trouble this run knows."""

    interval: float
    duration: float
    kinds: tuple[str, ...]
    drift: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What clients do. `think` is the mean pause between two operations, in seconds."""

    clients: int
    keys: int
    think: float
    timeout: float
    duplicates: float
    weights: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Swarm:
    """One run's parameters: the seed says what kind of bad day it will be."""

    nodes: int
    timing: Timing
    weather: Weather
    platter: Platter
    nemesis: Nemesis
    load: Load
    policy: str
    strict: bool
    limits: tuple[int, int, int]

    def config(self, me: Replica) -> CoreConfig:
        """What the node `me` is configured with."""
        entries_max, bytes_max, queue_max = self.limits
        return CoreConfig(
            me=me,
            voters=tuple(Replica(number) for number in range(1, self.nodes + 1)),
            synchro_quorum=Quorum(QUORUM),
            fencing=Fencing.STRICT if self.strict else Fencing.SOFT,
            election_timeout=self.timing.election_timeout,
            replication_timeout=self.timing.replication_timeout,
            synchro_timeout=self.timing.synchro_timeout,
            synchro_policy=self.policy,
            confirm_delay=self.timing.confirm_delay,
            append_entries_max=entries_max,
            append_bytes_max=bytes_max,
            queue_entries_max=queue_max,
            disk_retry_delay=self.timing.replication_timeout / 4,
        )


KINDS = (
    "crash",
    "power",
    "shaky",
    "coup",
    "pause",
    "isolate",
    "oneway",
    "ring",
    "halves",
    "slow_disk",
    "broken_disk",
    "wall_jump",
    "clock_jump",
    "promote",
    "demote",
    "rollback_queue",
)
"""Every kind of trouble there is; a run knows some of them."""

_OPERATIONS = ("write", "cas", "append", "transfer", "async", "conditional", "read", "audit")


def draw(rng: Random, nodes: int | None) -> Swarm:
    """The parameters of a run. `nodes` overrides the number of replicas."""
    size = nodes or rng.choice((3, 3, 3, 5))
    beat = rng.choice((0.05, 0.1, 0.25))
    return Swarm(
        nodes=size,
        timing=Timing(
            election_timeout=beat * rng.choice((2, 4, 6, 10)),
            replication_timeout=beat,
            synchro_timeout=beat * rng.choice((2, 5, 20)),
            confirm_delay=rng.choice((0.0, 0.01, beat)),
            fold_interval=beat * rng.choice((1, 4)),
            dice=rng.choice(("uniform", "uniform", "earliest")),
        ),
        weather=_weather(rng, beat),
        platter=_platter(rng, beat),
        nemesis=_nemesis(rng, beat),
        load=_load(rng, beat),
        policy=rng.choice(("rollback", "rollback", "rollback", "detach")),
        strict=rng.random() < 0.3,
        limits=(rng.choice((1, 2, 8, 4096)), rng.choice((300, 4 << 20)), rng.choice((4, 100_000))),
    )


def _weather(rng: Random, beat: float) -> Weather:
    return Weather(
        delay_min=beat / 100,
        delay_mean=beat * rng.choice((0.01, 0.05, 0.3)),
        loss=rng.choice((0.0, 0.0, 0.01, 0.1)),
        duplicates=rng.choice((0.0, 0.0, 0.02, 0.2)),
        late=rng.choice((0.0, 0.01, 0.1)),
        late_delay=beat * rng.choice((2, 10, 40)),
        dial_delay=beat * rng.choice((0.1, 1.0)),
        ordered=rng.random() < 0.5,
    )


def _platter(rng: Random, beat: float) -> Platter:
    return Platter(
        write_delay=beat * rng.choice((0.005, 0.05, 0.3)),
        failure=rng.choice((0.0, 0.0, 0.01)),
        linger=rng.choice((0.0, 0.5, 1.0)),
        torn=rng.choice((0.0, 0.5)),
    )


def _nemesis(rng: Random, beat: float) -> Nemesis:
    count = rng.randint(3, len(KINDS))
    return Nemesis(
        interval=beat * rng.choice((4, 8, 20)),
        duration=beat * rng.choice((1, 5, 15)),
        kinds=tuple(sorted(rng.sample(KINDS, count))),
        drift=rng.choice((0.0, 0.005)),
    )


def _load(rng: Random, beat: float) -> Load:
    return Load(
        clients=rng.randint(2, 6),
        keys=rng.randint(1, 4),
        think=beat * rng.choice((0.05, 0.3, 1.0)),
        timeout=beat * rng.choice((5, 15)),
        duplicates=rng.choice((0.0, 0.1)),
        weights=tuple((name, rng.randint(1, 10)) for name in _OPERATIONS),
    )
