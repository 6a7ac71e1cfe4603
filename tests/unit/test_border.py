"""What a peer may not say is refused before anything is touched."""

from dataclasses import replace

import pytest

from election.fencing import Fencing
from election.messages import (
    TERM_JUMP_MAX,
    TERM_MAX,
    Ballot,
    Index,
    Position,
    Replica,
    RequestVote,
    Term,
)
from election.raft import Raft
from election.ready import ElectionTimer
from election.roles import ElectionMode, ElectionTiming, Role
from qsync.core import border
from qsync.core.limbo import NOBODY
from qsync.core.logindex import LogIndex
from qsync.core.logstart import LogStart
from qsync.core.messages import Append, ReadIndexResponse
from qsync.errors import ProtocolError
from qsync.record import CHAIN_SEED, Entry, EntryKind, LimboRef, Lsn, make, ref_body

ME, PEER, OTHER = Replica(1), Replica(2), Replica(3)


def test_a_term_that_jumps_is_refused_and_one_below_the_jump_is_not() -> None:
    border.check_term(Term(7), Term(7 + TERM_JUMP_MAX))
    with pytest.raises(ProtocolError, match="TERM_JUMP_MAX"):
        border.check_term(Term(7), Term(8 + TERM_JUMP_MAX))


def test_a_term_beyond_the_last_one_is_refused_however_near_it_is() -> None:
    border.check_term(Term(TERM_MAX - 1), TERM_MAX)
    with pytest.raises(ProtocolError, match="TERM_MAX"):
        border.check_term(TERM_MAX, Term(TERM_MAX + 1))


def seat(term: Term) -> Raft:
    raft = Raft(
        me=ME,
        voters=(ME, PEER, OTHER),
        mode=ElectionMode.CANDIDATE,
        quorum=2,
        timing=ElectionTiming(election_timeout=1.0, disconnect_timeout=4.0, promise=0.5),
        fencing=Fencing.SOFT,
        ballot=Ballot(term=term, vote=None, member=True),
        position=Position(Term(1), Index(1)),
    )
    raft.clock(0.0)
    raft.start()
    raft.clock(9.0)
    return raft


def test_nobody_campaigns_in_the_last_term() -> None:
    raft = seat(TERM_MAX)
    raft.timer(ElectionTimer.ELECTION)
    assert raft.role is Role.FOLLOWER
    assert "used up" in (raft.campaign.promote() or "")
    ready = raft.ready()
    assert not [each for _, each in ready.now if isinstance(each, RequestVote)]
    last = seat(Term(TERM_MAX - 1))
    assert last.campaign.promote() is None
    assert last.term == TERM_MAX


def test_the_one_answer_without_a_sender_is_taken_from_whoever_was_asked() -> None:
    assert border.sender(ReadIndexResponse(term=Term(1), ask=1, place=None)) is None


def entry(
    index: int, term: int, lsn: int, kind: int = EntryKind.TXN, *, body: bytes = b""
) -> Entry:
    return make(
        index=index, term=term, origin=2, lsn=lsn, kind=kind, flags=1, time=1.0, body=body,
        previous=CHAIN_SEED,
    )  # fmt: skip


def batch(*entries: Entry, term: int = 3) -> Append:
    return Append(
        term=Term(term),
        leader=PEER,
        epoch=1,
        prev_index=Index(0),
        prev_term=Term(0),
        prev_crc=CHAIN_SEED,
        last=Index(len(entries)),
        confirmed=Index(0),
        entries=entries,
    )


def referring(index: int, kind: int, lsn: int) -> Entry:
    return entry(index, 1, index, kind, body=ref_body(LimboRef(PEER, Lsn(lsn))))


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ((entry(1, 1, 1), entry(2, 1, 3)), "does not continue"),
        ((entry(1, 2, 1), entry(2, 1, 2)), "does not continue"),
        ((entry(1, 1, 1, 9),), "does not continue"),
        ((entry(1, 0, 1),), "does not continue"),
        ((entry(1, 1, 1), entry(2, 4, 2)), "an entry of term 4"),
        ((entry(1, 1, 1, EntryKind.CONFIRM),), "has no reference"),
        ((referring(1, EntryKind.ROLLBACK, 7),), "rolls back what is not in the log"),
    ],
)
def test_entries_that_no_leader_can_have_written_are_refused(
    entries: tuple[Entry, ...], why: str
) -> None:
    with pytest.raises(ProtocolError, match=why):
        border.check_entries(LogIndex(), batch(*entries))


def test_entries_that_continue_the_log_pass() -> None:
    log = LogIndex()
    whole = (entry(1, 1, 1), referring(2, EntryKind.ROLLBACK, 1), entry(3, 2, 3))
    border.check_entries(log, batch(*whole))
    log.push(whole[0])
    rest = replace(batch(*whole[1:]), prev_index=Index(1), prev_term=Term(1), prev_crc=whole[0].crc)
    border.check_entries(log, rest)
    # What is refused with a hint is not looked at.
    border.check_entries(log, replace(rest, prev_index=Index(5), entries=(entry(6, 1, 1),)))


def test_entries_from_before_a_trimmed_log_pass_as_far_as_it_is_known() -> None:
    """A leader whose log reaches back further names an entry before ours, and it is confirmed."""
    whole = (
        entry(1, 1, 1),
        referring(2, EntryKind.ROLLBACK, 1),
        entry(3, 2, 3),
        entry(4, 2, 4),
        entry(5, 2, 5, EntryKind.ROLLBACK, body=ref_body(LimboRef(PEER, Lsn(4)))),
    )
    log = LogIndex(
        LogStart(
            index=Index(3),
            term=Term(2),
            crc=whole[2].crc,
            origin=PEER,
            vclock=((PEER, Lsn(3)),),
            owner=NOBODY,
            configuration=b"",
        )
    )
    empty = replace(batch(), prev_index=Index(1), prev_term=Term(1), prev_crc=whole[0].crc)
    border.check_entries(log, replace(empty, entries=whole[1:]))
    border.check_entries(log, replace(empty, entries=whole[1:2]))
    with pytest.raises(ProtocolError, match="does not continue"):
        border.check_entries(log, batch(*whole[:3], entry(4, 2, 9)))
    # Another entry where our log begins is a split brain, and the follower says so.
    border.check_entries(log, batch(*whole[:2], entry(3, 1, 3), entry(4, 2, 9)))
