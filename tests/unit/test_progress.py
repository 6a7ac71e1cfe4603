"""How a leader sends to a follower: which state follows which, and what it does not send."""

from dataclasses import replace

import pytest

from election.messages import Index, Replica, Term
from qsync.core.limbo import NOBODY
from qsync.core.logindex import LogIndex
from qsync.core.logstart import LogStart
from qsync.core.messages import AppendResponse
from qsync.core.progress import Progress, ReplicationState
from qsync.record import HEADER, Crc, EntryKind

B = Replica(2)


def log_of(last: int) -> LogIndex:
    log = LogIndex()
    for index in range(1, last + 1):
        raw = HEADER.pack(index, 1, 1, index, EntryKind.TXN, 0, 0, 0.0, index)
        assert not log.extend(raw)
    return log


def progress(state: ReplicationState, *, match: int = 0, sent: int = 5) -> Progress:
    found = Progress(B)
    found.reset(epoch=1, connected=True, last=Index(sent), now=0.0)
    found.match, found.state = Index(match), state
    return found


def refusal(hint: int) -> AppendResponse:
    return AppendResponse(
        term=Term(1),
        follower=B,
        epoch=1,
        ok=False,
        index=Index(hint),
        index_term=Term(1),
        recruit=False,
    )


def test_a_connection_begins_with_a_probe_from_the_end_of_the_log() -> None:
    found = progress(ReplicationState.REPLICATE, match=3)
    found.reset(epoch=2, connected=True, last=Index(9), now=1.0)
    assert (found.state, found.match, found.sent) == (ReplicationState.PROBE, 0, 9)


def test_one_probe_is_under_way_at_a_time() -> None:
    found = progress(ReplicationState.PROBE)
    found.probed(now=1.0)
    assert found.state is ReplicationState.PROBE_SENT
    with pytest.raises(AssertionError):
        found.probed(now=2.0)


@pytest.mark.parametrize("state", ReplicationState)
def test_an_ack_leads_to_replication_from_any_state(state: ReplicationState) -> None:
    found = progress(state)
    found.accepted(Index(4), now=1.0)
    assert found.state is ReplicationState.REPLICATE
    assert found.match == 4
    assert found.match <= found.sent


@pytest.mark.parametrize("state", ReplicationState)
def test_a_refusal_leads_back_to_a_probe_and_never_below_what_is_acked(
    state: ReplicationState,
) -> None:
    found = progress(state, match=3)
    found.refused(refusal(1), log_of(5))
    assert found.state is ReplicationState.PROBE
    assert found.match <= found.sent <= 5


@pytest.mark.parametrize("state", ReplicationState)
def test_silence_leads_back_to_a_probe(state: ReplicationState) -> None:
    found = progress(state, match=3)
    found.probe_again(now=9.0)
    assert found.state is ReplicationState.PROBE
    assert not found.stalled(now=10.0, timeout=2.0)


@pytest.mark.parametrize("state", [ReplicationState.PROBE, ReplicationState.PROBE_SENT])
def test_nothing_is_streamed_before_it_is_known_where_the_logs_agree(
    state: ReplicationState,
) -> None:
    with pytest.raises(AssertionError):
        progress(state).streamed(Index(6))


def test_nothing_is_sent_without_a_connection() -> None:
    found = progress(ReplicationState.PROBE)
    found.connected = False
    with pytest.raises(AssertionError):
        found.probed(now=1.0)


def test_the_epoch_of_connections_does_not_go_back() -> None:
    found = progress(ReplicationState.PROBE)
    with pytest.raises(AssertionError):
        found.reset(epoch=0, connected=True, last=Index(5), now=1.0)


# -- a log that does not reach back to what a follower lacks


def trimmed(last: int, *, begins: int) -> LogIndex:
    log = log_of(last)
    log.begin_at(LogStart(
        index=Index(begins),
        term=Term(1),
        crc=Crc(begins),
        origin=Replica(1),
        vclock=log.vclock_at(begins),
        owner=NOBODY,
        configuration=b"",
    ))  # fmt: skip
    return log


def test_a_refusal_that_leads_to_before_our_log_asks_for_a_snapshot() -> None:
    found = progress(ReplicationState.PROBE_SENT, sent=9)
    found.refused(refusal(2), trimmed(9, begins=6))
    assert (found.state, found.sent) == (ReplicationState.SNAPSHOT, 6)
    found.offered(now=1.0)
    assert found.state is ReplicationState.SNAPSHOT_SENT
    assert found.stalled(now=4.0, timeout=2.0)
    found.probe_again(now=4.0)
    assert (found.state, found.sent) == (ReplicationState.PROBE, 6)


def test_a_follower_that_has_the_entry_before_our_log_needs_no_snapshot() -> None:
    found = progress(ReplicationState.PROBE_SENT, sent=9)
    found.refused(refusal(6), trimmed(9, begins=6))
    assert (found.state, found.sent) == (ReplicationState.PROBE, 6)


def test_a_follower_that_refuses_even_that_entry_needs_one() -> None:
    found = progress(ReplicationState.PROBE_SENT, sent=6)
    answer = replace(refusal(8), index_term=Term(0))
    found.refused(answer, trimmed(9, begins=6))
    assert (found.state, found.sent) == (ReplicationState.SNAPSHOT, 6)


def test_what_was_to_be_sent_next_and_is_trimmed_is_asked_for_where_our_log_begins() -> None:
    found = progress(ReplicationState.REPLICATE, match=2, sent=4)
    found.keep_within(trimmed(9, begins=4))
    assert (found.state, found.sent) == (ReplicationState.REPLICATE, 4)
    found.keep_within(trimmed(9, begins=5))
    assert (found.state, found.match, found.sent) == (ReplicationState.PROBE, 2, 5)


def test_the_rows_that_have_arrived_end_the_snapshot() -> None:
    found = progress(ReplicationState.SNAPSHOT_SENT, sent=6)
    found.accepted(Index(6), now=2.0)
    assert (found.state, found.match, found.sent) == (ReplicationState.REPLICATE, 6, 6)
