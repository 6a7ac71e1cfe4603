"""A long life, period by period: faults, healing, rest, and checks.

Between two periods no request is pending, every write is decided, and the next clients begin with
the initial spaces. So the histories of clients can be checked period by period: an order of all
operations is a sequence of the orders of the periods, and an unknown write took effect before the
end of its period, or never will.

Only the result of entries older than every log is kept (`Invariants.forget`): a life that is ten
times as long needs no more memory.
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
from qsync.sim.run import Run, calm_down, come_to_rest, reported, rest_budget, told
from qsync.sim.swarm import Swarm
from qsync.sim.world import World

PERIOD_S: Final = 7200.0
"""The duration of faults; healing and the night come on top."""
NIGHT_S: Final = 600.0
"""The duration of rest after it: packets in flight arrive, timers fire."""
LINES_KEPT: Final = 200
"""The trace lines that are kept of an ended period."""
CLIENT_NUMBERS: Final = 99
"""Machines with higher numbers are clients."""


_LOSSES: Final = (Fault.WIPE, Fault.SWAP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """One period of a life.

    `at`: virtual seconds since its beginning. `totals`: of the life so far.
    """

    number: int
    at: float
    run: Run
    totals: dict[str, int]
    largest: dict[str, int]
    """The maximum of each kind of state of a node, at the end of any period so far."""


class LongLife:
    """It does not run before the first of its `periods` is requested."""

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
        """Until its time is over, or the first violation. Check each before requesting the next."""
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
        self._let_leader_finish()
        self._bounds.check()
        self._recoveries.end_period()

    def _let_leader_finish(self) -> None:
        """Wait for what the leader writes by itself now and then, as when a session expires."""
        world = self.world
        end = world.clockwork.now + rest_budget(world)
        while world.clockwork.now < end and any(
            each.core.machine.replicated_log.limbo.queue for each in world.nodes
        ):
            world.step()

    def _begin(self, drawn: Swarm, *, first: bool) -> None:
        """Start other clients, with empty spaces; then faults with these parameters."""
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
        """The events of the current objects, by kind."""
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
        """Drop all state that is decided and older than every log."""
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
    """Generators of past faults, of processes of nodes, of periods and their beginnings."""
    what, *rest = concern.split()
    of_node = what in {"process", "tasks"} and int(rest[0]) <= CLIENT_NUMBERS
    return of_node or what in {"strike", "period", "recovery"}
