"""Differences of a simulated cluster from the common one: size, modes, fencing, paces, disks."""

from dataclasses import dataclass

from election.messages import Replica
from election.roles import ElectionMode
from qsync.faults import Fault
from qsync.sim.dice import RandomStream
from qsync.sim.plan import Plan

VARIETY = ("sizes", "modes", "unfenced", "paces", "fast_clocks")
"""Possible differences from the beginning. Half of all runs have none."""
LOSSES = (Fault.UNREACHABLE, Fault.SWAP, Fault.WIPE)
"""Kinds of trouble that only such runs have."""

HABITS = (
    *("floors", "schema", "stranger", "short_sessions", "own_settings", "little_room"),
    *("members", "snapshots", "retention", "users", "readers", "impatience", "task_order"),
    *("leaving", "slow_names"),
)
"""What clients, operators and nodes may also do. Half of all runs have some of it.

`floors`: a read that asks for a place asks for any that somebody was told of, also by a read; and
where the shipped client asks leaders only, some ask the other nodes, too. `schema`: transactions
that write also make, truncate and drop a space and an index. `stranger`: a write is asked for once
more, or given up, by who has its token. `short_sessions`: sessions end often, and copies of
requests come late. `own_settings`: a node is restarted with other settings in its own file.
`little_room`: every second node has room in memory for a few rows only and folds seldom, so it
often takes no more transactions. `members`: some nodes are outside of the cluster at first, and
operators take members in and out, the leader too, and change what they count for. `snapshots`: logs
are kept short, so who was away, lost its disk or joins needs a snapshot of its leader. `retention`:
nodes write snapshots and trim their logs by themselves, as soon as they are a little longer.
`users`: the cluster has users, and one of them writes while operators give and take its rights.
`readers`: of those, readers of the log come, read on and go, so that it is kept for them.
`impatience`: clients ask for the outcome of writes that are still under way, or give them up.
`task_order`: the ready tasks of a process run in any order, and some of them a little later.
`leaving`: the callers of some writes are cancelled, and ask for the outcome later. `slow_names`:
nodes dial each other by name, and the resolver often answers late, never, or that there is none.
"""
RESETTLE = Fault.RESETTLE
"""The kind of trouble of `own_settings`."""

COMMON = (*VARIETY, *LOSSES, *HABITS)
"""For `Plan.without`: equal nodes, three or five, that keep their disks, and plain clients."""

_SHARE = 0.5
_SHORT_LOGS = 0.25
"""The share of all runs; drawn last, so that everything else is unchanged."""
_RETENTION = 0.25
"""The share of all runs, except those with other short logs."""
_USERS = 0.2
"""The share of all runs; drawn after all that."""
_READERS = 0.5
"""The share of the runs in which nodes trim their logs by themselves."""
_IMPATIENCE = 0.2
"""The share of all runs; drawn after all that."""
_TASK_ORDER = 0.15
"""The share of all runs; drawn after all that."""
_LEAVING = 0.15
"""The share of all runs; drawn after all that."""
_SLOW_NAMES = 0.1
"""The share of all runs; drawn last of all."""
_SIZES = (1, 2, 4, 7)
_LAZY = (ElectionMode.VOTER, ElectionMode.OFF, ElectionMode.MANUAL)
_PACES = (1.0, 1.0, 1.5, 3.0)
_DRIFT = 0.05
"""Within what a lease allows for (CLOCK_DRIFT_MAX), so leases are as good as ever."""
_OFTEN = 4
"""They are drawn more often than others, because most hit a cluster that cannot bear them."""
_FOUNDERS_MIN = 2
_BY_ONE_DICE = HABITS.index("snapshots")
"""How many habits are drawn together; the others are drawn separately."""
_SWAPS_MIN_NODES = 3
"""With fewer, no majority is left when a disk is lost (membership.md M5)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionLimits:
    """Below the minimum of a file (see `qsync.options.core_options`). Seconds and bytes."""

    count: int
    threshold: int
    interval: float
    size: int
    cleanup_delay: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Variety:
    """Drawn apart from everything else, so that the common runs are as they would be without.

    `nodes`: how many; 0 for as many as usual. `modes` and `paces` of the nodes in order, repeated;
    a pace is a factor of the election timeout. `drift` of clocks, relative.
    """

    nodes: int = 0
    modes: tuple[ElectionMode, ...] = (ElectionMode.CANDIDATE,)
    unfenced: bool = False
    paces: tuple[float, ...] = (1.0,)
    drift: float = 0.0
    kinds: tuple[Fault, ...] = ()
    habits: tuple[str, ...] = ()
    outside: int = 0
    """How many nodes are not members at first; with few nodes fewer."""
    retention: RetentionLimits | None = None
    """None if no node writes snapshots by itself."""

    @property
    def names(self) -> tuple[str, ...]:
        """The members of VARIETY and HABITS in this run."""
        has = (
            bool(self.nodes),
            len(self.modes) > 1,
            self.unfenced,
            len(self.paces) > 1,
            bool(self.drift),
        )
        return tuple(name for name, there in zip(VARIETY, has, strict=True) if there) + self.habits

    @property
    def checkpoint_count(self) -> int:
        """How many snapshots each node keeps; 0 if no node writes any by itself."""
        return 0 if self.retention is None else self.retention.count

    @property
    def loses_disks(self) -> bool:
        """Whether directories are sometimes lost."""
        return bool({Fault.SWAP, Fault.WIPE} & set(self.kinds))

    def founders(self, nodes: int) -> int:
        """How many nodes found the cluster: at least two, if there are two."""
        return max(min(nodes, _FOUNDERS_MIN), nodes - self.outside)

    def mode(self, me: Replica) -> ElectionMode:
        """How a node takes part in elections."""
        return self.modes[(me - 1) % len(self.modes)]

    def has_little_room(self, me: Replica) -> bool:
        """Not all: a leader may have more room."""
        return "little_room" in self.habits and me % 2 == 0

    def pace(self, me: Replica) -> float:
        """How much more patient it is than others."""
        return self.paces[(me - 1) % len(self.paces)]


def draw(plan: Plan, dice: RandomStream, *, nodes: int) -> Variety:
    """Drawn from the seed, except the parts in the plan. `nodes`: the usual number."""
    common = dice.random() >= _SHARE
    size = dice.choice((0, 0, *_SIZES))
    modes = _modes(dice, size or nodes)
    unfenced = dice.random() < 0.2
    paces = tuple(dice.choice(_PACES) for _ in range(4))
    drift = dice.choice((0.0, _DRIFT))
    drawn = tuple(kind for kind in LOSSES if dice.random() < 0.6)
    losses = tuple(kind for kind in LOSSES if kind in plan.only) if plan.only else drawn
    habits = _habits(plan, dice)
    outside = dice.choice((0, 1, 1, 2)) if "members" in habits else 0
    if dice.random() < _SHORT_LOGS and "snapshots" not in plan.without:
        habits = (*habits, "snapshots")
    retention = _retention(plan, dice)
    if "snapshots" in habits:
        retention = None
    habits = (*habits, "retention") if retention else habits
    habits += _visitors(plan, dice, retained=retention is not None)
    if dice.random() < _IMPATIENCE and "impatience" not in plan.without:
        habits = (*habits, "impatience")
    if dice.random() < _TASK_ORDER and "task_order" not in plan.without:
        habits = (*habits, "task_order")
    if dice.random() < _LEAVING and "leaving" not in plan.without:
        habits = (*habits, "leaving")
    if dice.random() < _SLOW_NAMES and "slow_names" not in plan.without:
        habits = (*habits, "slow_names")
    has = frozenset(() if common else VARIETY) - frozenset(plan.without)
    count = plan.nodes or (size if "sizes" in has and size else nodes)
    # A voter that remains after removals must campaign.
    lazy = "modes" in has and len(modes) == count and "members" not in habits
    return Variety(
        nodes=size if "sizes" in has and not plan.nodes else 0,
        modes=modes if lazy else (ElectionMode.CANDIDATE,),
        unfenced="unfenced" in has and unfenced,
        paces=paces if "paces" in has else (1.0,),
        drift=drift if "fast_clocks" in has else 0.0,
        kinds=() if common and not plan.only else _possible(losses, count, lazy=lazy),
        habits=habits,
        outside=outside,
        retention=retention,
    )


def _retention(plan: Plan, dice: RandomStream) -> RetentionLimits | None:
    """Drawn last, as short logs are."""
    has = dice.random() < _RETENTION and "retention" not in plan.without
    drawn = RetentionLimits(
        count=dice.choice((1, 2, 2, 3)),
        threshold=dice.choice((400, 1500, 5000)),
        interval=dice.choice((0.0, 0.0, 0.5)),
        size=dice.choice((2000, 10_000, 1 << 30)),
        cleanup_delay=dice.choice((0.0, 0.0, 0.5)),
    )
    return drawn if has else None


def _visitors(plan: Plan, dice: RandomStream, *, retained: bool) -> tuple[str, ...]:
    """Drawn after that."""
    users = dice.random() < _USERS and "users" not in plan.without
    readers = dice.random() < _READERS and retained and "readers" not in plan.without
    return (*(("users",) if users else ()), *(("readers",) if readers else ()))


def _habits(plan: Plan, dice: RandomStream) -> tuple[str, ...]:
    plain = dice.random() >= _SHARE
    drawn = [name for name in HABITS[:_BY_ONE_DICE] if dice.random() < _SHARE]
    found = {name for name in drawn if not plain and name not in plan.without}
    if plan.only:
        # The habit that is a kind of trouble is there or not, like the other kinds.
        found.discard("own_settings")
        found |= {"own_settings"} if RESETTLE in plan.only else set()
    return tuple(name for name in HABITS if name in found)


def _modes(dice: RandomStream, nodes: int) -> tuple[ElectionMode, ...]:
    """A minority that does not campaign by itself: the others can always elect one of them."""
    modes = [ElectionMode.CANDIDATE] * nodes
    for at in dice.sample(range(nodes), dice.randint(0, (nodes - 1) // 2)):
        modes[at] = dice.choice(_LAZY)
    return tuple(modes) if any(each is not ElectionMode.CANDIDATE for each in modes) else ()


def _possible(losses: tuple[Fault, ...], nodes: int, *, lazy: bool) -> tuple[Fault, ...]:
    """After a lost disk a node that does not campaign may be the only one with the newest log."""
    keeps_disks = lazy or nodes < _SWAPS_MIN_NODES
    wanted = tuple(kind for kind in losses if kind is Fault.UNREACHABLE or not keeps_disks)
    return wanted * _OFTEN
