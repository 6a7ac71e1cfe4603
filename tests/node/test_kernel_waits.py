"""Processes of the simulated kernel wait inside of calls while the others go on."""

from functools import partial

from qsync.sim.kernel.process import KernelProcess
from qsync.sim.kernel.room import HOLD_UP_S
from tests.node.test_kernel_sockets import Simulated

SHORT_S, LONG_S = 0.015, 1.0


def waits(system: Simulated, process: KernelProcess, seconds: float, ended: list[float]) -> None:
    process.pass_time(seconds)
    ended.append(system.room.clockwork.now)


def played(first: float, second: float) -> tuple[Simulated, list[float], list[float]]:
    """The second process begins to wait when the first one does already. When each goes on."""
    system = Simulated()
    ended: tuple[list[float], list[float]] = ([], [])
    one, other = system.processes
    one.soon(partial(waits, system, one, first, ended[0]))
    clockwork = system.room.clockwork
    clockwork.after(SHORT_S / 3, other.soon, partial(waits, system, other, second, ended[1]))
    while clockwork.now < 3 * LONG_S and system.room.step():
        pass
    return system, ended[0], ended[1]


def test_who_waits_long_inside_of_a_call_holds_nobody_up() -> None:
    system, first, second = played(SHORT_S, LONG_S)
    assert first
    assert first[0] < SHORT_S + HOLD_UP_S
    assert second
    assert system.processes[1].at > LONG_S


def test_others_go_on_while_one_waits_inside_of_a_call() -> None:
    _, first, second = played(LONG_S, SHORT_S)
    assert first[0] >= LONG_S
    assert second[0] < 2 * SHORT_S
