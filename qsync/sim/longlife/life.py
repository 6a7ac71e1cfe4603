"""A long life, period by period: things break, all is healed, comes to rest and is looked at.

Between two periods nobody waits for anything, everything that was written is decided, and the next
clients begin with spaces as they were at first. So what clients saw may be judged one period after
another: an order of all that happened is an order of each period, one after the other, and what
somebody was not told of took effect before the end of its period, or never will.

What is older than every log is known by what it left (`Invariants.forget`): a life that lasts ten
times as long takes no more memory.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from qsync.faults import Fault
from qsync.sim import repertoire
from qsync.sim.kernel import mutants
from qsync.sim.kernel.room import Time
from qsync.sim.longlife.bounds import KeptLimits
from qsync.sim.longlife.drawing import draw, draw_period
from qsync.sim.longlife.passing import pass_time
from qsync.sim.longlife.recovery import Recoveries
from qsync.sim.plan import Plan
from qsync.sim.run import Run, calm_down, come_to_rest, reported, told
from qsync.sim.swarm import Swarm
from qsync.sim.world import World

PERIOD_S: Final = 7200.0
"""Things break for so long; healing and the night come on top."""
NIGHT_S: Final = 600.0
"""Then nothing happens for so long: what is still on its way comes, timers fire."""
LINES_KEPT: Final = 200
"""Of the minutes, behind a period that is over."""
CLIENT_NUMBERS: Final = 99
"""Machines of greater numbers are those of clients."""


_LOSSES: Final = (Fault.WIPE, Fault.SWAP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """One of a life. `at`: virtual seconds since its beginning. `totals`: of the life so far."""

    number: int
    at: float
    run: Run
    totals: dict[str, int]
    largest: dict[str, int]
    """The most that a node kept of anything, at the end of any period so far."""


class LongLife:
    """Nothing happens before the first of its `periods` is requested."""

    def __init__(self, plan: Plan, *, period_s: float = PERIOD_S, night_s: float = NIGHT_S) -> None:
        assert plan.life is not None
        clockwork = Time(plan.seed)
        self._lasts = plan.life
        self._period_s = period_s
        self._night_s = night_s
        self._cluster = draw(plan, clockwork.dice("life"))
        self.world = World(plan, clockwork=clockwork, drawn=self._cluster)
        self._totals = Counter[str]()
        self._before = Counter[str]()
        self._bounds = KeptLimits(self.world)
        self._recoveries = Recoveries(self.world)

    def periods(self) -> Iterator[Period]:
        """Until its time is over, or the first violation. Judge each before asking for the next."""
        world, number = self.world, 0
        while world.clockwork.now < self._lasts:
            number += 1
            report = reported(world, partial(self._live, number))
            self._totals.update(self._counts() - self._before)
            self._totals["acknowledged"] += report.acked
            self._totals["events"] = report.events
            self._totals["strikes"] += len(report.strikes)
            self._totals["restores"] += sum(kind in _LOSSES for kind in report.strikes.values())
            self._totals["recoveries"] = self._recoveries.forced
            self._totals["restored backups"] = self._recoveries.restored
            self._totals["lost in recoveries"] = self._recoveries.lost
            self._totals["clients that went on"] = self._recoveries.remaining_clients
            self._totals["left unknown"] = world.invariants.promises.sessions.left_unknown
            self._totals["old nodes outside"] = self._recoveries.outsiders
            self._totals.update(f"fault {kind}" for kind in report.strikes.values())
            yield Period(
                number=number,
                at=world.clockwork.now,
                run=told(world, report),
                totals=dict(self._totals),
                largest=dict(self._bounds.largest),
            )
            if not report.held:
                return

    def _live(self, number: int) -> None:
        world = self.world
        if number > 1:
            self._forget()
            self._recoveries.begin_period(number)
        self._before = self._counts()
        drawn = draw_period(self._cluster, world.plan, world.clockwork.dice(f"period {number}"))
        self._begin(drawn, first=number == 1)
        left = self._lasts - world.clockwork.now
        pass_time(world, max(0.0, min(self._period_s, left)))
        calm_down(world)
        pass_time(world, self._night_s)
        self._bounds.check()
        self._recoveries.end_period()

    def _begin(self, drawn: Swarm, *, first: bool) -> None:
        """Other clients, that begin with empty spaces; then things break as that says."""
        world = self.world
        if not first:
            for program in world.programs:
                program.end()
        self._become(drawn)
        world.clients = world.new_clients()
        mutants.plant_in_clients(world.plan.mutant, world.programs)
        if first:
            world.turns.members.heal()
            world.power_on()
        else:
            for program in world.programs:
                program.start()
        opening = repertoire.create_spaces if first else repertoire.reset
        for client in world.clients[1:]:
            client.perform([])
        world.clients[0].perform([partial(opening, drawn.load.keys)])
        come_to_rest(world)
        pass_time(world, drawn.weather.late_delay)
        world.faults.begin_period(drawn)
        for node in world.nodes:
            node.disk.wear(drawn.platter)
        world.room.net.weather = drawn.weather
        for client in world.clients:
            client.begin()
        world.break_things()

    def _become(self, drawn: Swarm) -> None:
        world = self.world
        world.swarm = world.room.swarm = drawn
        holds = world.leases_hold
        world.room.leases_hold = world.invariants.promises.lease_checked = holds
        world.history.lines.clear()

    def _counts(self) -> Counter[str]:
        """What has happened to what there is now."""
        world = self.world
        disks = [disk for node in world.nodes for disk in node.shelf.disks]
        return Counter(
            {
                "terms led": len(world.invariants.leaders),
                "confirmed": world.invariants.canon.last,
                "changes of members": world.invariants.rules.changes,
                "orders": world.turns.orders + world.turns.members.orders,
                "snapshots installed": sum(each.spaces.installed for each in disks),
                "snapshots written": sum(each.snapshots.count for each in disks),
                "logs trimmed": sum(each.log.trims for each in disks),
            }
        )

    def _forget(self) -> None:
        """Keep nothing of what is over, and behind all logs."""
        world = self.world
        starts = [node.disk.log.start for node in world.nodes]
        start = min(starts, key=lambda each: each.index)
        codec = world.nodes[0].core.machine.replicated_log.configurations.codec
        for node in world.nodes:
            node.shelf.drop_all_but(node.instance)
            node.disk.snapshots.forget_written(start.index)
        if start.index:
            world.invariants.forget(start, codec, world.tokens.of_the_past().named)
        world.trace.fold(LINES_KEPT)
        world.clockwork.forget(_is_over)


def _is_over(concern: str) -> bool:
    """Dice of strikes that happened, of processes of nodes, of periods and how they began."""
    what, *rest = concern.split()
    of_node = what == "process" and int(rest[0]) <= CLIENT_NUMBERS
    return of_node or what in {"strike", "period", "recovery"}
