"""The numbers of one simulated run - rates, delays, timeouts - drawn from its seed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from election.fencing import Fencing
from qsync.core.entry_sums import STEP_ENTRIES, WINDOW_ENTRIES
from qsync.faults import Fault
from qsync.node.parked import GRACE
from qsync.sim.client_load import BY_HABIT, SESSION_TTL_S, SHORT_TTL_S, ClientLoad
from qsync.sim.dice import RandomStream
from qsync.sim.plan import Plan
from qsync.sim.variety import HABITS, LOSSES, RESETTLE, VARIETY, Variety
from qsync.sim.variety import draw as draw_variety

LEASES_HOLD = 0.7
"""The share of runs without clock jumps, in which leases can be checked."""
LEASED_RUNS, LEASED_READS, LEASED_WEIGHT = 0.3, 0.8, 19
"""In some runs most operations are lease reads."""


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
    """What links do to packets. Times in seconds; `loss`: how often one is sent once more.

    `stragglers`: how often a client's bytes are on their way until its session may be over.
    `unresolved`: how often the resolver is slow to answer a node, or does not know the name.
    """

    delay_min: float
    delay_mean: float
    loss: float
    late: float
    late_delay: float
    dial_delay: float
    stragglers: float
    unresolved: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskFlaws:
    """What disks do to writes. `linger` is the chance that a crash keeps a write it interrupted."""

    write_delay: float
    failure: float
    linger: float
    torn: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Nemesis:
    """The frequency, duration and kinds of faults in this run.

    A fault of a kind that is `spared`, or that is not among the `strikes`, does not happen; the
    others are unchanged.
    """

    interval: float
    duration: float
    kinds: tuple[Fault, ...]
    spared: frozenset[str]
    strikes: frozenset[int] | None
    drift: float

    @property
    def active(self) -> frozenset[Fault]:
        """Kinds that can happen."""
        return frozenset(self.kinds) - self.spared


@dataclass(frozen=True, slots=True, kw_only=True)
class SwarmLimits:
    """Small ones send a log in small pieces, and fill the queue."""

    append_entries_max: int = 4096
    append_bytes_max: int = 4 << 20
    queue_entries_max: int = 100_000
    index_window: int = WINDOW_ENTRIES
    index_step: int = STEP_ENTRIES
    fold_rows_max: int = 200
    memtable_rows_max: int = 4000
    session_outcomes_max: int = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Swarm:
    """One run's parameters, drawn from its seed."""

    nodes: int
    timing: SwarmTiming
    weather: Weather
    platter: DiskFlaws
    nemesis: Nemesis
    load: ClientLoad
    variety: Variety
    policy: str
    strict: bool
    limits: SwarmLimits

    def tunings(self) -> list[tuple[str, str | None]]:
        """Settings that an operator may change in a running cluster; None resets them."""
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
            ("replication.timeout", _text(beat / 2 if self._answers_in(beat / 2) else beat)),
            ("replication.queue_entries_max", "3"),
            ("replication.queue_entries_max", None),
        ]

    def _answers_in(self, timeout: float) -> bool:
        """Whether links are fast enough for a `replication.timeout` in seconds.

        A strict leader wants an answer within two, asks once in each, and delays vary.
        """
        return 2 * self.weather.delay_mean <= timeout / 2

    @property
    def flaws(self) -> tuple[str, ...]:
        """The permanent faults and differences from the common cluster in this run."""
        amounts = (
            self.weather.loss,
            self.weather.late,
            self.platter.failure,
            self.platter.linger,
            self.platter.torn,
            self.nemesis.drift,
            self.limits != SwarmLimits(),
        )
        wrong = tuple(name for name, amount in zip(FLAWS, amounts, strict=True) if amount)
        return wrong + self.variety.names

    @property
    def fencing(self) -> Fencing:
        """Of all nodes."""
        if self.variety.unfenced:
            return Fencing.OFF
        return Fencing.STRICT if self.strict else Fencing.SOFT


KINDS = (
    Fault.KILL,
    Fault.POWER_CUT,
    Fault.SHAKY,
    Fault.COUP,
    Fault.PAUSE,
    Fault.ISOLATE,
    Fault.ONE_WAY,
    Fault.RING,
    Fault.HALVES,
    Fault.SLOW_FSYNC,
    Fault.FAIL_FSYNC,
    Fault.CLOCK_JUMP,
    Fault.MONOTONIC_JUMP,
    Fault.PROMOTE,
    Fault.DEMOTE,
    Fault.ROLLBACK_QUEUE,
    Fault.ROLLBACK_ALONE,
)
"""Every kind of trouble of the common cluster; a run has some of them."""

STRIKES = (
    Fault.REFUSE,
    Fault.HALF_OPEN,
    Fault.BIT_FLIP,
    Fault.RESET,
    Fault.SUSPEND,
    Fault.STOP_IN_CALL,
    Fault.KILL_IN_CALL,
    Fault.TERMINATE,
)
"""Every kind of trouble inside connections and between two calls; a run has some of them."""

_ORDER = (
    Fault.FAIL_FSYNC,
    Fault.MONOTONIC_JUMP,
    Fault.COUP,
    Fault.KILL,
    Fault.DEMOTE,
    Fault.HALVES,
    Fault.ISOLATE,
    Fault.ONE_WAY,
    Fault.PAUSE,
    Fault.POWER_CUT,
    Fault.PROMOTE,
    Fault.RING,
    Fault.ROLLBACK_ALONE,
    Fault.ROLLBACK_QUEUE,
    Fault.SHAKY,
    Fault.SLOW_FSYNC,
    Fault.CLOCK_JUMP,
)
"""Their order in a run, independent of names: a seed draws by position."""

NAMES = (*KINDS, *LOSSES, RESETTLE, *STRIKES)
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
    "tune",
)
"""All client operations; a run has some more often than others, and some not at all."""

FLAWS = ("loss", "late", "failure", "linger", "torn", "drift", "limits")
"""Permanent faults of links, disks and clocks, and low limits."""

RECOVERIES = "recoveries"
"""In long lives: a cluster is sometimes recovered from one survivor, or from a backup."""
EVERYTHING = (*NAMES, *FLAWS, *VARIETY, *HABITS, *OPERATIONS, RECOVERIES)
"""What `Plan.without` may name."""

_RARE = frozenset({"tune"})
_SELDOM, _OFTEN = (0, 0, 1), (0, 1, 3, 9)
_STRAGGLERS, _NAPS, _IMPATIENCE, _UNRESOLVED = 0.02, 0.02, 0.5, 0.5


def draw(plan: Plan, dice: RandomStream, more: RandomStream) -> Swarm:
    """The parameters of a run: drawn from the seed, except those in the plan."""
    drawn = dice.choice((3, 3, 3, 5))
    variety = draw_variety(plan, more, nodes=plan.nodes or drawn)
    beat = dice.choice((0.05, 0.1, 0.25))
    without = frozenset(plan.without)
    timing = SwarmTiming(
        election_timeout=beat * dice.choice((2, 4, 6, 10)),
        replication_timeout=beat,
        synchro_timeout=beat * dice.choice((2, 5, 20)),
        confirm_delay=dice.choice((0.0, 0.01, beat)),
        fold_interval=beat * dice.choice((1, 4)),
        when=dice.choice(("uniform", "uniform", "earliest")),
    )
    return Swarm(
        nodes=plan.nodes or variety.nodes or drawn,
        timing=timing,
        weather=_weather(dice, beat, without, variety),
        platter=_platter(dice, beat, without),
        nemesis=_nemesis(dice, beat, plan, variety),
        load=_load(dice, timing, plan, variety),
        variety=variety,
        policy=dice.choice(("rollback", "rollback", "rollback", "detach")),
        strict=dice.random() < 0.3,
        limits=_limits(dice, without),
    )


FEW_ENTRIES = 2
SMALL_BATCH = 8
"""Entries, and so many the index of the log knows exactly then."""

FEW_OUTCOMES = 4
"""Kept of a session, so that one unresolved write soon fills it."""


def _limits(dice: RandomStream, without: frozenset[str]) -> SwarmLimits:
    drawn = SwarmLimits(
        append_entries_max=dice.choice((1, FEW_ENTRIES, SMALL_BATCH, 4096)),
        append_bytes_max=dice.choice((300, 4 << 20)),
        queue_entries_max=dice.choice((4, 100_000)),
    )
    if drawn.append_entries_max == SMALL_BATCH:
        drawn = replace(drawn, index_window=8, index_step=4)
    if drawn.append_bytes_max < 1000 and drawn.queue_entries_max < 1000:
        drawn = replace(drawn, fold_rows_max=2, memtable_rows_max=40)
    if drawn.append_entries_max == FEW_ENTRIES and drawn.queue_entries_max < 1000:
        drawn = replace(drawn, session_outcomes_max=FEW_OUTCOMES)
    return SwarmLimits() if "limits" in without else drawn


def _text(seconds: float) -> str:
    return f"{max(10, round(seconds * 1000))}ms"


def _weather(dice: RandomStream, beat: float, without: frozenset[str], variety: Variety) -> Weather:
    drawn = Weather(
        delay_min=beat / 100,
        delay_mean=beat * dice.choice((0.01, 0.05, 0.3)),
        # In a stream everything waits behind a late packet.
        loss=dice.choice((0.0, 0.0, 0.001, 0.01)),
        late=dice.choice((0.0, 0.001, 0.01)),
        late_delay=beat * dice.choice((1, 2, 3)),
        dial_delay=beat * dice.choice((0.1, 1.0)),
        stragglers=_STRAGGLERS if "short_sessions" in variety.habits else 0.0,
        unresolved=_UNRESOLVED if "slow_names" in variety.habits else 0.0,
    )
    loss = 0.0 if "loss" in without else drawn.loss
    return replace(drawn, loss=loss, late=0.0 if "late" in without else drawn.late)


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
    kinds = _kinds(dice.sample(KINDS, count), plan)
    if dice.random() < LEASES_HOLD and not plan.only:
        kinds = tuple(each for each in kinds if each is not Fault.MONOTONIC_JUMP)
    strikes = tuple(dice.sample(STRIKES, dice.randint(0, len(STRIKES))))
    if plan.only:
        strikes = tuple(each for each in STRIKES if each in plan.only)
    return Nemesis(
        interval=beat * dice.choice((2, 5, 14)),
        duration=beat * dice.choice((1, 5, 15)),
        kinds=(*kinds, *variety.kinds, *_own(variety), *strikes),
        spared=frozenset(plan.without),
        strikes=None if plan.strikes is None else frozenset(plan.strikes),
        drift=0.0 if "drift" in plan.without else max(drift, variety.drift),
    )


def _own(variety: Variety) -> tuple[Fault, ...]:
    return (RESETTLE, RESETTLE) if "own_settings" in variety.habits else ()


def _kinds(drawn: Sequence[Fault], plan: Plan) -> tuple[Fault, ...]:
    if plan.only:
        return tuple(kind for kind in KINDS if kind in plan.only)
    return tuple(sorted(drawn, key=_ORDER.index))


def _load(dice: RandomStream, timing: SwarmTiming, plan: Plan, variety: Variety) -> ClientLoad:
    beat = timing.replication_timeout
    clients, keys, hands = dice.randint(2, 6), dice.randint(1, 4), dice.choice((1, 1, 2, 3))
    think = beat * dice.choice((0.05, 0.3, 1.0))
    # Some wait until the node itself answers that the outcome is unknown.
    long = timing.synchro_timeout + GRACE + timing.election_timeout
    timeout = dice.choice((5 * beat, 15 * beat, long))
    weights = {name: dice.choice(_SELDOM if name in _RARE else _OFTEN) for name in OPERATIONS}
    weights |= {name: 2 for name, habit in BY_HABIT.items() if habit in variety.habits}
    if "own_settings" in variety.habits:
        weights["tune"] = 1
    leased = dice.random() < LEASED_RUNS
    if leased:
        weights["read"] = LEASED_WEIGHT
    left = {name: weight for name, weight in weights.items() if name not in plan.without}
    return ClientLoad(
        clients=plan.clients or clients,
        hands=hands,
        keys=plan.keys or keys,
        think=think,
        timeout=timeout,
        # Everybody reads, if there is nothing else to do.
        weights=tuple(left.items()) if any(left.values()) else (("read", 1),),
        leased=LEASED_READS if leased else 0.0,
        impatience=_IMPATIENCE if "impatience" in variety.habits else 0.0,
        naps=_NAPS if "short_sessions" in variety.habits else 0.0,
        session_ttl=SHORT_TTL_S if "short_sessions" in variety.habits else SESSION_TTL_S,
    )
