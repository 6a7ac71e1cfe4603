"""A snapshot is offered and installed: what a follower keeps, what it writes, when it acks."""

from dataclasses import replace

import pytest

from election.messages import Ballot, Index, Replica, Term
from election.quorum import Quorum
from qsync.core import border
from qsync.core.config import CoreConfig
from qsync.core.configuration import all_of, configuration_of
from qsync.core.follower import Follower
from qsync.core.inputs import Received, SnapshotReceived, WriteFailed, Written
from qsync.core.limbo import NOBODY
from qsync.core.logstart import EMPTY, LogStart
from qsync.core.machine import Machine
from qsync.core.messages import Append, AppendResponse, Heartbeat, InstallSnapshot
from qsync.core.ready import Ready, Write
from qsync.data.members import CODEC
from qsync.errors import ProtocolError
from qsync.record import CHAIN_SEED, WAIT_ACK, Entry, EntryKind, LimboRef, Lsn, make, ref_body

ME, LEADER, OTHER = Replica(1), Replica(2), Replica(3)
VOTERS = (ME, LEADER, OTHER)
FOUNDING = all_of(VOTERS)
LATER = all_of((LEADER, OTHER))


def entries_of(count: int, *, term: int = 1) -> list[Entry]:
    """A PROMOTE of the leader and its transactions."""
    found: list[Entry] = []
    for index in range(1, count + 1):
        kind = EntryKind.PROMOTE if index == 1 else EntryKind.TXN
        found.append(
            make(
                index=index,
                term=term,
                origin=LEADER,
                lsn=index,
                kind=kind,
                flags=WAIT_ACK,
                time=0.0,
                body=ref_body(LimboRef(Replica(0), Lsn(0))) if index == 1 else b"",
                previous=found[-1].crc if found else CHAIN_SEED,
            )
        )
    return found


def beginning(entry: Entry) -> LogStart:
    """The place of an entry of that log."""
    members = LATER.members
    return LogStart(
        index=entry.index,
        term=entry.term,
        crc=entry.crc,
        origin=LEADER,
        vclock=((LEADER, entry.lsn),),
        owner=NOBODY,
        configuration=CODEC.encode(members, before=members),
    )


def offer(entry: Entry, *, term: int = 1) -> InstallSnapshot:
    return InstallSnapshot(term=Term(term), leader=LEADER, epoch=1, start=beginning(entry))


def batch(entries: list[Entry], *, after: Entry | None = None, confirmed: int = 0) -> Append:
    return Append(
        term=Term(1),
        leader=LEADER,
        epoch=1,
        prev_index=after.index if after else Index(0),
        prev_term=after.term if after else Term(0),
        prev_crc=after.crc if after else CHAIN_SEED,
        last=entries[-1].index,
        confirmed=Index(confirmed),
        entries=tuple(entries),
    )


def node(*, term: int = 1, start: LogStart = EMPTY) -> Machine:
    """A follower with an empty log, or one that begins there."""
    machine = Machine(
        CoreConfig(me=ME, voters=VOTERS, synchro_quorum=Quorum("N / 2 + 1")),
        ballot=Ballot(term=Term(term), vote=None, member=True),
        confirmed=start.index,
        stored=(),
        tail=_nothing_there,
        founding=FOUNDING,
        codec=CODEC,
        start=start,
    )
    machine.clock(0.0)
    machine.start()
    machine.ready()
    return machine


def _nothing_there(first: Index, last: Index) -> list[Entry]:
    raise AssertionError((first, last))


def hears(machine: Machine, message: Append | InstallSnapshot | Heartbeat) -> Ready:
    machine.step(Received(peer=LEADER, message=message))
    return machine.ready()


def writes(ready: Ready) -> Write:
    assert ready.write is not None
    return ready.write


def acked(ready: Ready) -> list[AppendResponse]:
    said = [message for _, message in (*ready.send_now, *ready.send_after)]
    return [each for each in said if isinstance(each, AppendResponse)]


def test_a_follower_that_lacks_the_entry_wants_the_rows_and_changes_nothing_yet() -> None:
    machine, log = node(), entries_of(5)
    ready = hears(machine, offer(log[4]))
    assert ready.snapshot == offer(log[4])
    assert not acked(ready)
    assert machine.replicated_log.log.last == 0
    assert machine.ready().snapshot is None


def test_an_installed_snapshot_is_acked_when_it_is_durable() -> None:
    machine, log = node(), entries_of(5)
    hears(machine, offer(log[3]))
    machine.step(SnapshotReceived(offer=offer(log[3])))
    ready = machine.ready()
    write = writes(ready)
    assert (write.begins, write.entries, write.confirmed) == (beginning(log[3]), [], 4)
    assert not acked(ready)
    assert machine.replicated_log.confirmed == machine.replicated_log.log.last == 4
    assert machine.replicated_log.written == 0
    machine.step(Written(id=write.id))
    (ack,) = acked(machine.ready())
    assert (ack.ok, ack.index, ack.index_term) == (True, 4, 1)
    assert machine.replicated_log.written == 4


def test_the_voters_are_those_in_force_at_the_snapshot() -> None:
    machine, log = node(), entries_of(5)
    hears(machine, offer(log[3]))
    machine.step(SnapshotReceived(offer=offer(log[3])))
    assert machine.config.voters == (LEADER, OTHER)
    assert not machine.raft.electorate.named
    assert machine.replicated_log.configurations.in_force == configuration_of(
        offer(log[3]).start.configuration, CODEC
    )


def test_entries_that_follow_a_snapshot_are_written_behind_it() -> None:
    machine, log = node(), entries_of(6)
    machine.step(Received(peer=LEADER, message=offer(log[3])))
    machine.step(SnapshotReceived(offer=offer(log[3])))
    write = writes(hears(machine, batch(log[4:5], after=log[3], confirmed=5)))
    assert (write.begins, write.entries) == (beginning(log[3]), [log[4]])
    hears(machine, batch(log[5:], after=log[4], confirmed=5))
    machine.step(Written(id=write.id))
    write = writes(machine.ready())
    assert (write.begins, write.entries) == (None, [log[5]])


def test_a_write_that_failed_begins_at_the_snapshot_again() -> None:
    machine, log = node(), entries_of(5)
    machine.step(Received(peer=LEADER, message=offer(log[3])))
    machine.step(SnapshotReceived(offer=offer(log[3])))
    first = writes(machine.ready())
    machine.step(WriteFailed(id=first.id, why="no room"))
    machine.disk.retry()
    again = writes(machine.ready())
    assert (again.begins, again.entries, again.cut_above) == (beginning(log[3]), [], None)


def test_what_was_being_written_meanwhile_is_not_taken_for_the_log_of_the_snapshot() -> None:
    machine, log = node(), entries_of(6)
    under_way = writes(hears(machine, batch(log[:2])))
    machine.step(Received(peer=LEADER, message=offer(log[3])))
    machine.step(SnapshotReceived(offer=offer(log[3])))
    machine.step(Written(id=under_way.id))
    assert machine.replicated_log.written == 0
    write = writes(machine.ready())
    assert (write.begins, write.cut_above) == (beginning(log[3]), None)


def test_a_log_that_has_the_entry_keeps_what_is_behind_it() -> None:
    machine, log = node(), entries_of(5)
    write = writes(hears(machine, batch(log)))
    machine.step(Written(id=write.id))
    machine.ready()
    ready = hears(machine, offer(log[2]))
    assert ready.snapshot is None
    assert machine.replicated_log.log.last == 5
    assert machine.replicated_log.confirmed == 3
    assert [each.index for each in acked(ready)] == [5]
    # And also if the rows come although the log has gone on meanwhile.
    machine.step(SnapshotReceived(offer=offer(log[3])))
    assert (machine.replicated_log.log.last, machine.replicated_log.confirmed) == (5, 4)


def test_a_snapshot_of_what_is_confirmed_takes_nothing_back() -> None:
    machine, log = node(), entries_of(5)
    write = writes(hears(machine, batch(log, confirmed=5)))
    machine.step(Written(id=write.id))
    machine.ready()
    assert hears(machine, offer(log[2])).snapshot is None
    machine.step(SnapshotReceived(offer=offer(log[2])))
    assert (machine.replicated_log.log.last, machine.replicated_log.confirmed) == (5, 5)


def test_the_rows_of_a_leader_of_an_older_term_are_not_installed() -> None:
    machine, log = node(), entries_of(5)
    hears(machine, offer(log[3]))
    machine.step(Received(peer=OTHER, message=_beat(term=2)))
    machine.step(SnapshotReceived(offer=offer(log[3])))
    assert machine.replicated_log.log.last == 0
    assert hears(node(term=7), offer(log[3])).snapshot is None


def _beat(*, term: int) -> Heartbeat:
    nothing = Index(0)
    return Heartbeat(
        term=Term(term), leader=OTHER, epoch=1, round=1, matched=nothing, confirmed=nothing
    )


def test_another_entry_where_something_is_confirmed_is_a_split_brain() -> None:
    machine, log = node(), entries_of(5)
    hears(machine, batch(log, confirmed=5))
    strange = replace(beginning(log[2]), crc=log[3].crc)
    ready = hears(machine, replace(offer(log[2]), start=strange))
    assert machine.follower.split is not None
    assert [note.name for note in ready.notes] == ["split_brain"]
    assert ready.snapshot is None


def test_who_begins_at_a_snapshot_takes_what_an_older_log_has_before_it() -> None:
    log = entries_of(6)
    machine = node(start=beginning(log[3]))
    assert machine.replicated_log.log.position.index == 4
    hears(machine, batch(log, confirmed=5))
    assert (machine.replicated_log.log.last, machine.replicated_log.confirmed) == (6, 5)
    assert isinstance(machine.follower, Follower)
    assert machine.follower.split is None


GOOD = beginning(entries_of(4)[3])


@pytest.mark.parametrize(
    ("start", "why"),
    [
        (replace(GOOD, index=Index(9)), "does not add up"),
        (replace(GOOD, configuration=b""), "says nothing of who votes"),
        (replace(GOOD, configuration=b"?"), "a snapshot at 4"),
        (replace(GOOD, term=Term(5)), "a snapshot of term 5"),
    ],
)
def test_a_snapshot_that_no_leader_can_have_is_refused(start: LogStart, why: str) -> None:
    machine, good = node(), offer(entries_of(4)[3])
    border.check(machine.state, LEADER, good)
    with pytest.raises(ProtocolError, match=why):
        border.check(machine.state, LEADER, replace(good, start=start))
    with pytest.raises(ProtocolError, match="over the connection"):
        border.check(machine.state, OTHER, good)
