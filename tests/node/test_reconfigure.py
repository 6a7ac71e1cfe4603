"""A core that gets another configuration while it runs."""

from dataclasses import replace

from election.fencing import Fencing
from election.messages import Replica
from election.quorum import parse
from election.roles import ElectionMode
from qsync.core.ready import TimerKind
from qsync.core.writable import ReadOnlyReason
from tests.node.lone import CONFIG, Lone, row


def test_every_part_of_a_running_core_follows_the_new_configuration() -> None:
    lone = Lone()
    machine = lone.replica.machine
    config = replace(
        CONFIG,
        election_timeout=9.0,
        replication_timeout=2.0,
        fencing=Fencing.STRICT,
        mode=ElectionMode.MANUAL,
        synchro_quorum=parse("N"),
        queue_entries_max=3,
    )
    machine.reconfigure(config)
    assert machine.leader is not None
    assert machine.config is machine.leader.config is machine.follower.config is config
    assert machine.raft.state.timing.election_timeout == 9.0
    assert machine.raft.state.timing.disconnect_timeout == 8.0
    assert machine.raft.state.contact.timeout == 4.0  # strict: half of it
    assert machine.raft.campaign.mode is ElectionMode.MANUAL
    timers = {each.kind: each.earliest for each in lone.replica.ready().timers}
    assert timers[TimerKind.HEARTBEAT] == 2.0


def test_a_shorter_synchro_timeout_counts_for_what_waits_already() -> None:
    lone = Lone()
    lone.write([10, "things", {"primary": [[1, "unsigned"]], "is_sync": True}])
    lone.submit([2, "things", row(1)])
    lone.replica.ready()
    lone.replica.machine.reconfigure(replace(CONFIG, synchro_timeout=2.0))
    lone.replica.clock(1.0)
    timers = {each.kind: each.earliest for each in lone.replica.ready().timers}
    assert timers[TimerKind.SYNCHRO] == 1.0


def test_read_only_keeps_the_leader_from_writing_and_is_lifted_again() -> None:
    lone = Lone()
    machine = lone.replica.machine
    machine.reconfigure(replace(CONFIG, read_only=True))
    assert [each.why for each in machine.reasons()] == [ReadOnlyReason.CONFIG]
    assert machine.leader is not None
    machine.reconfigure(CONFIG)
    assert machine.reasons() == []


def test_a_voter_stops_leading_at_once() -> None:
    lone = Lone()
    lone.replica.machine.reconfigure(replace(CONFIG, mode=ElectionMode.VOTER))
    assert lone.replica.machine.leader is None
    assert lone.replica.machine.raft.leader != Replica(1)
