"""Faults that only a simulated kernel has: between two calls, inside a connection."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from typing_extensions import override

from qsync.faults import Fault
from qsync.sim.faults import Faults
from qsync.sim.kernel.machine import MemberMachine
from qsync.sim.kernel.net import Net
from qsync.sim.kernel.process import KernelProcess
from qsync.sim.kernel.streams import SimulatedSocket
from qsync.sim.swarm import NAMES
from qsync.sim.takeovers import TAKEOVERS
from qsync.sim.troubles import TROUBLES, NemesisContext, Undo

CALLS_MAX: Final = 400
"""A fault hits a process at one of this many next calls."""


class KernelFaults(Faults):
    """The nemesis of a room: all kinds of trouble, for its machines."""

    def __init__(self, scene: NemesisContext, machines: Sequence[MemberMachine], net: Net) -> None:
        self._machines = machines
        self._net = net
        troubles = self._all()
        assert troubles.keys() == set(NAMES)
        super().__init__(scene, troubles)

    def _all(self) -> dict[Fault, Callable[[NemesisContext], Undo | None]]:
        return {
            **TROUBLES,
            **TAKEOVERS,
            Fault.REFUSE: self._reject,
            Fault.HALF_OPEN: self._half_open,
            Fault.BIT_FLIP: self._flip,
            Fault.RESET: self._break,
            Fault.SUSPEND: self._suspend,
            Fault.STOP_IN_CALL: self._stop_in_call,
            Fault.KILL_IN_CALL: self._kill_in_call,
            Fault.TERMINATE: self._terminate,
        }

    @override
    def heal(self) -> None:
        """Stop all faults, and repair everything."""
        for machine in self._machines:
            machine.spare()
        super().heal()

    def _victim(self, scene: NemesisContext) -> MemberMachine:
        me = scene.victim().me
        return next(each for each in self._machines if each.me == me)

    # -- connections

    def _reject(self, scene: NemesisContext) -> Undo:
        """Connections with the other members break, and are refused both ways; it keeps running."""
        number = self._victim(scene).number
        others = [each.number for each in self._machines if each.number != number]
        pairs = {(other, number) for other in others} | {(number, other) for other in others}
        scene.note(f"between {number} and the others connections are refused")
        self._net.rejecting |= pairs
        self._net.reset(sorted(pairs))
        return partial(self._net.rejecting.difference_update, pairs)

    def _half_open(self, scene: NemesisContext) -> Undo | None:
        """Bytes sent over a connection vanish without an error."""
        ends = self._ends(scene, lambda _: True)
        if not ends:
            return None
        end = scene.dice.choice(ends)
        assert end.peer is not None
        scene.note(f"a connection of {end.whose} and {end.peer.whose} is half open")
        end.flaws.lost = end.peer.flaws.lost = True
        return _nothing

    def _break(self, scene: NemesisContext) -> Undo | None:
        ends = self._ends(scene, lambda _: True)
        if not ends:
            return None
        end = scene.dice.choice(ends)
        assert end.peer is not None
        scene.note(f"a connection of {end.whose} and {end.peer.whose} breaks")
        self._net.tear(end)
        return _nothing

    def _flip(self, scene: NemesisContext) -> Undo | None:
        """A bit in a message between members is flipped on the way."""
        members = {each.number for each in self._machines}
        ends = self._ends(
            scene,
            lambda end: end.whose in members and end.peer is not None and end.peer.whose in members,
        )
        if not ends:
            return None
        end = scene.dice.choice(ends)
        scene.note(f"a bit from {end.whose} will be flipped")
        end.flaws.spoiled = True
        return _nothing

    def _ends(
        self, scene: NemesisContext, wanted: Callable[[SimulatedSocket], bool]
    ) -> list[SimulatedSocket]:
        now = scene.clockwork.now
        return [
            each
            for each in self._net.ends()
            if each.connected_at <= now and each.peer is not None and wanted(each)
        ]

    # -- processes

    def _suspend(self, scene: NemesisContext) -> Undo | None:
        """The whole machine is suspended: its monotonic clock stands still meanwhile."""
        machine = self._victim(scene)
        if not machine.reachable:
            return None
        machine.suspend()
        life = machine.life

        def undo() -> None:
            if machine.life == life and machine.paused:
                machine.resume()

        return undo

    def _stop_in_call(self, scene: NemesisContext) -> Undo | None:
        """At one of its next calls it pauses for a while."""
        machine, dice = self._victim(scene), scene.dice
        if not machine.reachable:
            return None
        timing = scene.swarm.timing
        lasts = dice.about(dice.choice((timing.replication_timeout, timing.election_timeout)))
        sleeps = dice.random() < 0.5
        if scene.chosen is not None:
            lasts, sleeps = scene.chosen.lasts, False

        def stop(process: KernelProcess) -> None:
            scene.note(f"node {machine.me} stops in call {process.calls} for {lasts:.3f} s")
            begun, slept = process.at, machine.clocks.slept
            machine.room.let_others(process, process.at + lasts)
            if sleeps and not process.dead:
                machine.clocks.sleep_in_call(begun, process.at, slept)

        self._at_call(machine.process, scene, stop)
        return _nothing

    def _kill_in_call(self, scene: NemesisContext) -> Undo | None:
        """At one of its next calls it dies, and soon restarts."""
        machine, dice = self._victim(scene), scene.dice
        if not machine.reachable:
            return None
        soon = dice.about(scene.swarm.nemesis.duration)
        power = dice.random() < 0.3

        def kill(process: KernelProcess) -> None:
            scene.note(f"node {machine.me} dies in call {process.calls}")
            machine.stop(power=power)
            scene.later(soon, machine.start_again)

        self._at_call(machine.process, scene, kill)
        return _nothing

    def _at_call(
        self, process: KernelProcess, scene: NemesisContext, what: Callable[[KernelProcess], None]
    ) -> None:
        """The chooser of the victim also chooses the call."""
        ahead = 0 if scene.chosen is not None else scene.dice.randint(1, CALLS_MAX)
        process.strike = (process.calls + ahead, what)

    def _terminate(self, scene: NemesisContext) -> Undo | None:
        """SIGTERM: it hands over, closes, and is started again."""
        machine = self._victim(scene)
        if not machine.reachable:
            return None
        scene.note(f"node {machine.me} is asked to stop")
        machine.leave(then=scene.dice.about(scene.swarm.nemesis.duration))
        return _nothing


def _nothing() -> None:
    """There is nothing to undo."""
