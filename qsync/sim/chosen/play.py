"""One run of a scope, from its start, with given choices."""

import gc
import hashlib
import traceback
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import Final

from qsync.faults import Fault
from qsync.sim import repertoire
from qsync.sim.canon import PropertyViolation
from qsync.sim.chosen.choices import SEED, Choices, Chooser, ChosenTime, Question
from qsync.sim.chosen.scope import SWEEP_S, WINDOW_S, ChosenScope, Victims
from qsync.sim.kernel.machine import MemberMachine
from qsync.sim.kernel.process import NO_STRIKE, KernelProcess
from qsync.sim.kernel.sweeps import sweep_soon
from qsync.sim.plan import Plan
from qsync.sim.run import come_to_rest
from qsync.sim.spaces import REGISTERS
from qsync.sim.trace import HEADING
from qsync.sim.troubles import ChosenVictim
from qsync.sim.world import World

LOOK_EVENTS: Final = 8
"""How often the run checks whether everything is at rest."""
GARBAGE_OBJECTS: Final = 200_000
INSIDE: Final = frozenset({Fault.STOP_IN_CALL, Fault.KILL_IN_CALL})
"""Faults inside a call; the others end the process, or belong to its environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenRun:
    """A violated property, or an internal error (0); and the run from the first fault on."""

    number: int
    text: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedRun:
    """`questions`: the questions to the chooser. `pictures`: digests of the cluster's states."""

    questions: tuple[Question, ...]
    events: int
    pictures: frozenset[bytes]
    happened: Counter[str]
    broken: BrokenRun | None


def play(scope: ChosenScope, choices: Choices, mutant: str | None = None) -> PlayedRun:
    """Run it to its end, or to the first violated property."""
    usual = gc.get_threshold()
    gc.set_threshold(GARBAGE_OBJECTS, *usual[1:])
    try:
        return ChosenRun(scope, choices, mutant).play()
    finally:
        gc.set_threshold(*usual)


class ChosenRun:
    """A cluster of shipped nodes and clients, and the chooser of its faults."""

    def __init__(self, scope: ChosenScope, choices: Choices, mutant: str | None) -> None:
        self._scope = scope
        self._chooser = Chooser(choices, scope.bounds, scope.faults)
        plan = Plan(seed=SEED, nodes=scope.nodes, mutant=mutant)
        self._world = World(plan, clockwork=ChosenTime(self._chooser), drawn=scope.drawn)
        for client in self._world.clients:
            client.stopping = True
        strikes = [each for each in scope.bounds if each not in _OF_DICE]
        self._strikes = [(each, lasts) for each in strikes for lasts in scope.lasts]
        self._victims: list[MemberMachine] = []
        self._pictures: set[bytes] = set()
        self._happened = Counter[str]()
        self._since = 0

    def play(self) -> PlayedRun:
        """See there."""
        world, broken = self._world, None
        try:
            self._prelude()
            self._window()
            world.heal()
            come_to_rest(world)
            for node in world.nodes:
                world.looker.check_fold(node)
        except PropertyViolation as violation:
            broken = self._broken(violation.number, str(violation))
        except Exception as error:  # noqa: BLE001 - whatever our code raises is a finding
            where = traceback.extract_tb(error.__traceback__)[-1]
            broken = self._broken(
                0, f"{type(error).__name__}: {error} at {where.filename}:{where.lineno}"
            )
        return PlayedRun(
            questions=tuple(self._chooser.questions),
            events=len(world.trace),
            pictures=frozenset(self._pictures),
            happened=self._counted(),
            broken=broken,
        )

    # -- what goes on

    def _prelude(self) -> None:
        world = self._world
        world.power_on()
        if self._scope.settled:
            world.clients[0].perform([partial(repertoire.create_spaces, 1)])
            self._until_rest(world.clockwork.now + WINDOW_S)
        self._since = len(world.trace)

    def _window(self) -> None:
        world, victims = self._world, self._scope.victims
        self._victims = [
            node
            for node in world.nodes
            if victims is Victims.ANYBODY or node.leads is (victims is Victims.LEADER)
        ]
        self._chooser.open = True
        world.clockwork.after(self._scope.within, self._close)
        for client, script in zip(world.clients, self._scope.clients, strict=False):
            client.perform([_ASKED.get(name, client.asks(name)) for name in script])
        if self._scope.trims:
            self._sweep()
        self._until_rest(world.clockwork.now + WINDOW_S)
        self._close()

    def _close(self) -> None:
        """From now on no fault begins."""
        self._chooser.open = False

    def _sweep(self) -> None:
        """Whether faults may begin."""
        if self._chooser.open:
            self._world.clockwork.after(SWEEP_S, self._sweep)
            for machine in self._world.nodes:
                if machine.reachable:
                    sweep_soon(machine)

    def _until_rest(self, end: float) -> None:
        world, count = self._world, 0
        while world.clockwork.now < end:
            self._arm()
            if not world.step():
                return
            self._look()
            count += 1
            if count % LOOK_EVENTS == 0 and world.unrest() is None:
                return

    def _arm(self) -> None:
        """Each of their next calls is a question, as long as a bound is left."""
        if any(self._chooser.may(fault) for fault, _ in self._strikes):
            for machine in self._victims:
                if machine.up and machine.process.strike is NO_STRIKE:
                    self._ask_next(machine, machine.process)

    def _ask_next(self, machine: MemberMachine, process: KernelProcess) -> None:
        process.strike = (process.calls + 1, partial(self._at_call, machine))

    def _at_call(self, machine: MemberMachine, process: KernelProcess) -> None:
        possible = [each for each in self._strikes if self._chooser.may(each[0])]
        if not possible:
            return
        costs = (None, *[fault for fault, _ in possible])
        inside = frozenset([at for at, fault in enumerate(costs) if fault in INSIDE])
        taken = self._chooser.choose(Question(costs, self._place(machine, process), inside))
        if taken:
            fault, lasts = possible[taken - 1]
            self._happened[fault] += 1
            self._world.faults.strike(fault, ChosenVictim(machine, lasts))
        if process.strike is NO_STRIKE and not process.dead:
            self._ask_next(machine, process)

    # -- what is seen of it

    def _place(self, machine: MemberMachine, process: KernelProcess) -> Hashable:
        """The effects of a process that other nodes, the network and the disk can see.

        If they are equal at two of its calls, a fault has the same effect at both: everything
        between them happened inside the process.
        """
        world, disk = self._world, machine.disk
        others = [each.process.calls for each in world.nodes if each.up and each is not machine]
        ends = [
            (number, end.flaws.sent, end.waiting, end.connected_at, end.peer is None)
            for number, end in process.files.items()
        ]
        return (
            (int(machine.me), machine.life, world.clockwork.now),
            tuple(others),
            tuple([each.process.calls for each in world.programs]),
            tuple(ends),
            (disk.log.last, disk.spaces.folded, len(disk.under_way.pending)),
            (disk.log.start.index, disk.snapshots.place),
            (disk.under_way.inline is None, len(world.invariants.durable[machine.me].entries)),
            world.invariants.durable[machine.me].ballot,
        )

    def _look(self) -> None:
        """A digest of the cluster's state: the logs and roles, and the disks."""
        world = self._world
        found: list[tuple[object, ...]] = []
        for node in world.nodes:
            durable = world.invariants.durable[node.me]
            disk = (node.disk.log.last, durable.ballot, len(node.disk.under_way.pending))
            if not node.up:
                found.append((disk, None))
                continue
            raft, log = node.core.machine.raft, node.core.machine.replicated_log
            mine = (raft.role, raft.term, raft.leader, raft.ballot, node.paused)
            # By log matching they identify the log, and unlike checksums they contain no time.
            reach = (log.log.last, log.log.term_at(log.log.last), log.written, log.confirmed)
            found.append((disk, (*mine, *reach, log.visible)))
        scripts = [(len(each.script), each.busy_with) for each in world.clients]
        text = f"{found} {scripts}"
        self._pictures.add(hashlib.blake2b(text.encode(), digest_size=8).digest())

    def _counted(self) -> Counter[str]:
        world, happened = self._world, self._happened
        happened["elected"] = len(world.invariants.leaders)
        happened["confirmed"] = world.invariants.canon.last
        happened["snapshots written"] = sum(
            len(each.disk.snapshots.written) for each in world.nodes
        )
        happened["logs trimmed"] = sum(each.disk.log.trims for each in world.nodes)
        happened["rolled back"] = sum(world.invariants.canon.rolled_back)
        for client in world.clients:
            happened.update(client.counts)
        if len(world.invariants.leaders) > 1:
            happened["taken over"] += 1
        return happened

    def _broken(self, number: int, text: str) -> BrokenRun:
        trace = self._world.trace
        lines = trace.lines()[self._since :]
        return BrokenRun(number=number, text=text, lines=(HEADING, *lines))


_ASKED: Final = {"read": partial(repertoire.last_look, REGISTERS, 0)}
"""A linearizable read of the row of all writes, repeated until it is answered."""
_OF_DICE: Final = frozenset({Fault.SLOW_LINK, Fault.FAIL_FSYNC})
"""A question of the draws of network and disks, not of a call."""
