"""Another configuration for a node that runs: everything that has a copy of it gets the new one."""

from dataclasses import replace
from typing import TYPE_CHECKING

from election.roles import ElectionMode, ElectionTiming
from qsync.core import handover, membership
from qsync.core.config import CoreConfig
from qsync.core.ready import TimerKind

if TYPE_CHECKING:
    from qsync.core.machine import Machine


def reconfigure(machine: "Machine", config: CoreConfig) -> None:
    """Follow `config` from now on. Who votes, and which directory this is, do not change by it."""
    before = machine.config
    assert config.me == before.me
    if (config.voters, config.instance) != (before.voters, before.instance):
        config = replace(config, voters=before.voters, instance=before.instance)
    membership.take(machine, config)
    raft = machine.raft
    timing = ElectionTiming(
        election_timeout=config.election_timeout,
        disconnect_timeout=config.disconnect_timeout,
        promise=config.promise,
    )
    if timing != raft.state.timing or config.fencing is not before.fencing:
        raft.state.set_timing(config.fencing, timing)
    if config.mode is not before.mode:
        raft.set_mode(config.mode)
        if config.mode is ElectionMode.OFF or config.mode is ElectionMode.VOTER:
            handover.leave(machine, f"mode_{config.mode}")
    if config.replication_timeout != before.replication_timeout:
        machine.out.arm(TimerKind.HEARTBEAT, config.replication_timeout)
    # The oldest transaction may be due sooner now; the timer is armed anew for the next batch.
    machine.pace.synchro_armed = False
    machine.follow_raft()
    if machine.leader is not None:
        machine.leader.count()
