"""What a machine does when one of its timers comes due."""

from typing import TYPE_CHECKING

from qsync.core import handover, operate, replacing
from qsync.core.ready import TimerKind

if TYPE_CHECKING:
    from qsync.core.machine import Machine


def fired(machine: "Machine", kind: str) -> None:
    """A timer of ours, or else one of the election's."""
    match kind:
        case TimerKind.HEARTBEAT:
            _beat(machine)
        case TimerKind.SYNCHRO:
            machine.pace.synchro_armed = False
            machine.overdue()
        case TimerKind.CONFIRM:
            machine.pace.confirm_armed = False
            machine.pace.confirm_now = True
        case TimerKind.DISK:
            machine.disk.retry()
        case _ if kind in operate.TIMERS:
            operate.timer(machine, kind)
        case _:
            machine.raft.set_last_position(machine.ledger.log.position)
            machine.raft.timer(kind)


def _beat(machine: "Machine") -> None:
    machine.out.arm(TimerKind.HEARTBEAT, machine.config.replication_timeout)
    leader = machine.leader
    if leader is None:
        return
    if machine.disk.stuck > machine.config.disconnect_timeout:
        # protocol.md section 2: heartbeats depend on the disk being alive.
        handover.leave(machine, f"the log writer has not completed for {machine.disk.stuck:.3f} s")
        return
    leader.resend_stalled()
    replacing.automatic(machine)
    leader.begin_round(machine.out.send)
