"""The numbers of one simulated run - rates, delays, timeouts - drawn from its seed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from election.fencing import Fencing
from election.messages import Replica
from election.quorum import Quorum
from qsync.core.config import CoreConfig
from qsync.sim.dice import RandomStream
from qsync.sim.plan import Plan
from qsync.sim.variety import HABITS, LOSSES, RESETTLE, VARIETY, Variety
from qsync.sim.variety import draw as draw_variety

QUORUM = "N / 2 + 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class SwarmTiming:
    """Time limits of every node, in seconds."""

    election_timeout: float
    replication_timeout: float
    synchro_timeout: float
    confirm_delay: float
    fold_interval: float
    when: str
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
class DiskFlaws:
    """What disks do to writes. `linger` is the chance that a crash keeps a write it interrupted."""

    write_delay: float
    failure: float
    linger: float
    torn: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Nemesis:
    """How often something breaks, for how long, and which kinds of trouble this run knows.

    A strike of a kind that is `spared`, or that is not among the `strikes`, does not happen; the
    others stay as they are.
    """

    interval: float
    duration: float
    kinds: tuple[str, ...]
    spared: frozenset[str]
    strikes: frozenset[int] | None
    drift: float

    @property
    def active(self) -> frozenset[str]:
        """Kinds that can happen."""
        return frozenset(self.kinds) - self.spared


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLoad:
    """What clients do. `think` is the mean pause between two operations, in seconds.

    `hands`: so many clients share a session. `lazy`: a session is opened without a quorum, as the
    shipped client does; the others have openings pending. `stragglers`: how often another copy of
    a request comes late, `naps`: how often a client rests for long.
    """

    clients: int
    hands: int
    keys: int
    think: float
    timeout: float
    duplicates: float
    weights: tuple[tuple[str, int], ...]
    lazy: bool
    stragglers: float = 0.0
    naps: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Swarm:
    """One run's parameters: the seed says what kind of bad day it will be."""

    nodes: int
    timing: SwarmTiming
    weather: Weather
    platter: DiskFlaws
    nemesis: Nemesis
    load: ClientLoad
    variety: Variety
    policy: str
    strict: bool
    limits: tuple[int, int, int]

    def tunings(self) -> list[tuple[str, str | None]]:
        """What an operator may change in a running cluster, now and then; None takes it back."""
        election, beat = self.timing.election_timeout, self.timing.replication_timeout
        synchro = self.timing.synchro_timeout
        # Where every disk is needed, none may be lost.
        most = "N - 1" if self.variety.loses_disks else "N"
        return [
            ("replication.synchro_quorum", most),
            ("replication.synchro_quorum", "N - 1"),
            ("replication.synchro_quorum", None),
            ("replication.synchro_policy", "detach"),
            ("replication.synchro_policy", "rollback"),
            ("replication.synchro_timeout", _text(synchro / 4)),
            ("replication.synchro_timeout", _text(synchro * 4)),
            ("election.timeout", _text(election * 2)),
            ("election.timeout", _text(election / 2)),
            ("election.timeout", None),
            ("election.fencing", "strict"),
            ("election.fencing", "soft"),
            ("replication.timeout", _text(beat / 2)),
            ("replication.queue_entries_max", "3"),
            ("replication.queue_entries_max", None),
        ]

    @property
    def flaws(self) -> tuple[str, ...]:
        """What is wrong, or unlike the common cluster, all the time in this run."""
        amounts = (
            self.weather.loss,
            self.weather.duplicates or self.load.duplicates,
            self.weather.late,
            self.platter.failure,
            self.platter.linger,
            self.platter.torn,
            self.nemesis.drift,
        )
        wrong = tuple(name for name, amount in zip(FLAWS, amounts, strict=True) if amount)
        return wrong + self.variety.names

    def config(self, me: Replica) -> CoreConfig:
        """What the node `me` is configured with."""
        entries_max, bytes_max, queue_max = self.limits
        return CoreConfig(
            me=me,
            voters=tuple(Replica(number) for number in range(1, self.nodes + 1)),
            synchro_quorum=Quorum(QUORUM),
            mode=self.variety.mode(me),
            fencing=self.fencing,
            election_timeout=self.timing.election_timeout * self.variety.pace(me),
            replication_timeout=self.timing.replication_timeout,
            synchro_timeout=self.timing.synchro_timeout,
            synchro_policy=self.policy,
            confirm_delay=self.timing.confirm_delay,
            append_entries_max=entries_max,
            append_bytes_max=bytes_max,
            queue_entries_max=queue_max,
            disk_retry_delay=self.timing.replication_timeout / 4,
        )

    @property
    def fencing(self) -> Fencing:
        """Of all nodes."""
        if self.variety.unfenced:
            return Fencing.OFF
        return Fencing.STRICT if self.strict else Fencing.SOFT


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
"""Every kind of trouble of the common cluster; a run knows some of them."""

NAMES = (*KINDS, *LOSSES, RESETTLE)
"""Every kind of trouble there is."""

OPERATIONS = (
    "write",
    "conditional",
    "cas",
    "swap",
    "append",
    "txn",
    "transfer",
    "move",
    "add",
    "note",
    "mixed",
    "read",
    "audit",
    "count",
    "leave",
    "reap",
    "tune",
)
"""Everything clients do; a run has some of it more often than other things, and some not at all."""

FLAWS = ("loss", "duplicates", "late", "failure", "linger", "torn", "drift")
"""What is wrong with links, disks and clocks all the time."""

EVERYTHING = (*NAMES, *FLAWS, *VARIETY, *HABITS, *OPERATIONS)
"""What `Plan.without` may name."""

_RARE = frozenset({"leave", "reap", "tune"})
_SELDOM, _OFTEN = (0, 0, 1), (0, 1, 3, 9)
_BY_HABIT, _HABITUAL = ("schema", "stranger"), 2
_STRAGGLERS, _NAPS = 0.2, 0.02


def draw(plan: Plan, dice: RandomStream, more: RandomStream) -> Swarm:
    """The parameters of a run: by the dice, except for what the plan says."""
    drawn = dice.choice((3, 3, 3, 5))
    variety = draw_variety(plan, more, nodes=plan.nodes or drawn)
    beat = dice.choice((0.05, 0.1, 0.25))
    without = frozenset(plan.without)
    return Swarm(
        nodes=plan.nodes or variety.nodes or drawn,
        timing=SwarmTiming(
            election_timeout=beat * dice.choice((2, 4, 6, 10)),
            replication_timeout=beat,
            synchro_timeout=beat * dice.choice((2, 5, 20)),
            confirm_delay=dice.choice((0.0, 0.01, beat)),
            fold_interval=beat * dice.choice((1, 4)),
            when=dice.choice(("uniform", "uniform", "earliest")),
        ),
        weather=_weather(dice, beat, without),
        platter=_platter(dice, beat, without),
        nemesis=_nemesis(dice, beat, plan, variety),
        load=_load(dice, beat, plan, variety),
        variety=variety,
        policy=dice.choice(("rollback", "rollback", "rollback", "detach")),
        strict=dice.random() < 0.3,
        limits=(
            dice.choice((1, 2, 8, 4096)),
            dice.choice((300, 4 << 20)),
            dice.choice((4, 100_000)),
        ),
    )


def _text(seconds: float) -> str:
    return f"{max(10, round(seconds * 1000))}ms"


def _weather(dice: RandomStream, beat: float, without: frozenset[str]) -> Weather:
    drawn = Weather(
        delay_min=beat / 100,
        delay_mean=beat * dice.choice((0.01, 0.05, 0.3)),
        loss=dice.choice((0.0, 0.0, 0.01, 0.1)),
        duplicates=dice.choice((0.0, 0.0, 0.02, 0.2)),
        late=dice.choice((0.0, 0.01, 0.1)),
        late_delay=beat * dice.choice((2, 10, 40)),
        dial_delay=beat * dice.choice((0.1, 1.0)),
        ordered=dice.random() < 0.5,
    )
    return replace(
        drawn,
        loss=0.0 if "loss" in without else drawn.loss,
        duplicates=0.0 if "duplicates" in without else drawn.duplicates,
        late=0.0 if "late" in without else drawn.late,
    )


def _platter(dice: RandomStream, beat: float, without: frozenset[str]) -> DiskFlaws:
    drawn = DiskFlaws(
        write_delay=beat * dice.choice((0.005, 0.05, 0.3)),
        failure=dice.choice((0.0, 0.0, 0.01)),
        linger=dice.choice((0.0, 0.5, 1.0)),
        torn=dice.choice((0.0, 0.5)),
    )
    return replace(
        drawn,
        failure=0.0 if "failure" in without else drawn.failure,
        linger=0.0 if "linger" in without else drawn.linger,
        torn=0.0 if "torn" in without else drawn.torn,
    )


def _nemesis(dice: RandomStream, beat: float, plan: Plan, variety: Variety) -> Nemesis:
    count = dice.randint(3, len(KINDS))
    drift = dice.choice((0.0, 0.005))
    return Nemesis(
        interval=beat * dice.choice((4, 8, 20)),
        duration=beat * dice.choice((1, 5, 15)),
        kinds=(*_kinds(dice.sample(KINDS, count), plan), *variety.kinds, *_own(variety)),
        spared=frozenset(plan.without),
        strikes=None if plan.strikes is None else frozenset(plan.strikes),
        drift=0.0 if "drift" in plan.without else max(drift, variety.drift),
    )


def _own(variety: Variety) -> tuple[str, ...]:
    return (RESETTLE, RESETTLE) if "own_settings" in variety.habits else ()


def _kinds(drawn: Sequence[str], plan: Plan) -> tuple[str, ...]:
    if plan.only:
        return tuple(kind for kind in KINDS if kind in plan.only)
    return tuple(sorted(drawn))


def _load(dice: RandomStream, beat: float, plan: Plan, variety: Variety) -> ClientLoad:
    clients, keys, hands = dice.randint(2, 6), dice.randint(1, 4), dice.choice((1, 1, 2, 3))
    think = beat * dice.choice((0.05, 0.3, 1.0))
    timeout = beat * dice.choice((5, 15))
    duplicates = dice.choice((0.0, 0.1))
    weights = {name: dice.choice(_SELDOM if name in _RARE else _OFTEN) for name in OPERATIONS}
    ends = "short_sessions" in variety.habits
    weights |= {name: _HABITUAL for name in _BY_HABIT if name in variety.habits}
    if ends:
        weights["reap"] = _HABITUAL
    if "own_settings" in variety.habits:
        weights["tune"] = 1
    left = {name: weight for name, weight in weights.items() if name not in plan.without}
    return ClientLoad(
        clients=plan.clients or clients,
        hands=hands,
        keys=plan.keys or keys,
        think=think,
        timeout=timeout,
        duplicates=0.0 if "duplicates" in plan.without else duplicates,
        # Everybody reads, if there is nothing else to do.
        weights=tuple(left.items()) if any(left.values()) else (("read", 1),),
        lazy=not plan.clients and keys % 2 == 1,
        stragglers=_STRAGGLERS if ends else 0.0,
        naps=_NAPS if ends else 0.0,
    )
