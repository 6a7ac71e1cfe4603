"""The parameters of a long life: the constant ones, and those of each period.

Links and disks have normal speed; heartbeats are ten seconds apart and elections take a minute, so
that idle time is cheap to simulate.
"""

from dataclasses import replace
from typing import Final

from qsync.faults import Fault
from qsync.sim.client_load import ClientLoad
from qsync.sim.dice import RandomStream
from qsync.sim.plan import Plan
from qsync.sim.swarm import (
    KINDS,
    LEASED_READS,
    LEASED_RUNS,
    LEASES_HOLD,
    OPERATIONS,
    STRIKES,
    DiskFlaws,
    Nemesis,
    Swarm,
    SwarmLimits,
    SwarmTiming,
    Weather,
)
from qsync.sim.variety import HABITS, LOSSES, RESETTLE, RetentionLimits, Variety

SESSION_TTL_S: Final = 300.0
"""Some clients pause for longer, and in a quiet night all sessions end."""
ALWAYS: Final = ("members", "retention")
"""Habits of every period."""
LIFELONG: Final = "users"
"""A cluster with users keeps them: a life has users or not."""
SOMETIMES: Final = ("floors", "schema", "stranger", "own_settings", "readers")
"""Habits that a period may have. The other habits need short timeouts, or another kind of log."""
NODES: Final = (4, 4, 4, 5)
CALM_LOAD, STEADY_LOAD, BURSTS = "calm", "steady", "bursts"
_SHARE = 0.5
_FOUNDERS = 3


def draw(plan: Plan, dice: RandomStream) -> Swarm:
    """The cluster: the parameters that no period changes. The rest is of a normal period."""
    beat = 10.0
    timing = SwarmTiming(
        election_timeout=beat * dice.choice((2, 3)),
        replication_timeout=beat,
        synchro_timeout=beat * dice.choice((1, 2, 6)),
        confirm_delay=dice.choice((0.0, 0.01)),
        fold_interval=dice.choice((10.0, 30.0)),
        when="uniform",
    )
    nodes = plan.nodes or dice.choice(NODES)
    habits = _named(plan, (*ALWAYS, *((LIFELONG,) if dice.random() < _SHARE else ())))
    retention = RetentionLimits(
        count=dice.choice((1, 2, 3)),
        threshold=dice.choice((8_000, 30_000)),
        interval=dice.choice((0.0, 600.0)),
        size=dice.choice((10_000, 60_000)),
        cleanup_delay=dice.choice((0.0, 60.0)),
    )
    variety = Variety(
        drift=dice.choice((0.0, 0.005)),
        # In any of its periods: a change by an operator in one period lasts in the next.
        kinds=tuple(each for each in LOSSES if not plan.only or each in plan.only),
        habits=habits,
        outside=max(0, nodes - _FOUNDERS) if "members" in habits else 0,
        retention=retention if "retention" in habits else None,
    )
    swarm = Swarm(
        nodes=nodes,
        timing=timing,
        weather=_weather(plan, dice),
        platter=_platter(plan, dice),
        nemesis=_nemesis(plan, dice, variety),
        load=_load(plan, dice, variety.habits),
        variety=variety,
        policy=dice.choice(("rollback", "rollback", "detach")),
        strict=dice.random() < 0.3,
        limits=SwarmLimits(),
    )
    return replace(swarm, load=replace(swarm.load, session_ttl=SESSION_TTL_S))


def draw_period(cluster: Swarm, plan: Plan, dice: RandomStream) -> Swarm:
    """Network, disks, troubles, clients, and other activities of one period."""
    some = [name for name in _named(plan, SOMETIMES) if dice.random() < _SHARE]
    habits = {*cluster.variety.habits, *some}
    variety = replace(cluster.variety, habits=tuple(name for name in HABITS if name in habits))
    batch = dice.choice((4096, 4096, 2))
    return replace(
        cluster,
        weather=_weather(plan, dice),
        platter=_platter(plan, dice),
        nemesis=replace(_nemesis(plan, dice, variety), drift=cluster.nemesis.drift),
        load=_load(plan, dice, variety.habits),
        variety=variety,
        limits=replace(cluster.limits, append_entries_max=batch),
    )


def _named(plan: Plan, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in plan.without)


def _weather(plan: Plan, dice: RandomStream) -> Weather:
    drawn = Weather(
        delay_min=0.002,
        delay_mean=dice.choice((0.001, 0.01, 0.05)),
        loss=dice.choice((0.0, 0.0, 0.001, 0.01)),
        late=dice.choice((0.0, 0.001, 0.01)),
        late_delay=dice.choice((0.5, 5.0)),
        dial_delay=dice.choice((0.05, 0.5)),
        stragglers=dice.choice((0.0, 0.0, 0.02)),
        unresolved=0.0,
    )
    return replace(
        drawn,
        loss=0.0 if "loss" in plan.without else drawn.loss,
        late=0.0 if "late" in plan.without else drawn.late,
    )


def _platter(plan: Plan, dice: RandomStream) -> DiskFlaws:
    drawn = DiskFlaws(
        write_delay=dice.choice((0.001, 0.005, 0.03)),
        failure=dice.choice((0.0, 0.0, 0.001)),
        linger=dice.choice((0.0, 0.5, 1.0)),
        torn=dice.choice((0.0, 0.5)),
    )
    return replace(
        drawn,
        failure=0.0 if "failure" in plan.without else drawn.failure,
        linger=0.0 if "linger" in plan.without else drawn.linger,
        torn=0.0 if "torn" in plan.without else drawn.torn,
    )


def _nemesis(plan: Plan, dice: RandomStream, variety: Variety) -> Nemesis:
    pool = [each for each in (*KINDS, *STRIKES, *LOSSES) if not plan.only or each in plan.only]
    drawn = dice.sample(pool, dice.randint(min(4, len(pool)), len(pool)))
    if dice.random() < LEASES_HOLD and not plan.only:
        drawn = [each for each in drawn if each is not Fault.MONOTONIC_JUMP]
    if "own_settings" in variety.habits:
        drawn += [RESETTLE, RESETTLE]
    return Nemesis(
        interval=dice.choice((60.0, 180.0, 600.0)),
        duration=dice.choice((5.0, 30.0, 120.0)),
        kinds=tuple(drawn),
        spared=frozenset(plan.without),
        strikes=None if plan.strikes is None else frozenset(plan.strikes),
        drift=0.0 if "drift" in plan.without else variety.drift,
    )


def _load(plan: Plan, dice: RandomStream, habits: tuple[str, ...]) -> ClientLoad:
    clients, keys, hands = dice.randint(2, 5), dice.randint(1, 4), dice.choice((1, 1, 2))
    weights = {name: dice.choice((0, 1, 3, 9)) for name in OPERATIONS}
    weights["tune"] = dice.choice((0, 0, 1))
    weights |= {name: 2 for name in ("schema", "stranger") if name in habits}
    leased = dice.random() < LEASED_RUNS
    left = {name: weight for name, weight in weights.items() if name not in plan.without}
    kind = dice.choice((CALM_LOAD, STEADY_LOAD, BURSTS, BURSTS))
    return ClientLoad(
        clients=plan.clients or clients,
        hands=hands,
        keys=plan.keys or keys,
        think={CALM_LOAD: 120.0, STEADY_LOAD: 30.0, BURSTS: 1.0}[kind],
        timeout=dice.choice((3.0, 3.0, 10.0)),
        weights=tuple(left.items()) if any(left.values()) else (("read", 1),),
        leased=LEASED_READS if leased else 0.0,
        naps=0.05 if kind == BURSTS else 0.0,
        nap=dice.choice((300.0, 900.0)),
        session_ttl=SESSION_TTL_S,
    )
