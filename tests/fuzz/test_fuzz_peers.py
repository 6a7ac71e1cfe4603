"""Whatever comes after the good hello of a peer, a node hangs up or goes on, and never ends."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from election.messages import (
    TERM_JUMP_MAX,
    TERM_MAX,
    Index,
    Position,
    Replica,
    RequestVote,
    RequestVoteResponse,
    Term,
    TimeoutNow,
)
from qsync import record
from qsync.core.messages import (
    Append,
    AppendResponse,
    Heartbeat,
    HeartbeatResponse,
    Message,
    ReadIndex,
    ReadIndexResponse,
    TransferLeadership,
)
from qsync.data.members import CODEC
from qsync.member import Member, MemberRole
from qsync.node import mishaps
from qsync.node.node import open_node
from qsync.record import CHAIN_SEED, Crc, EntryKind, Instance, LimboRef, ref_body
from qsync.wire import peer_messages
from qsync.wire.frames import SEAL_SIZE
from tests.fuzz.hostile import BOMBS, bent, dumps
from tests.node.knocking import PEER, calling, config, lead

IDS = st.sampled_from([1, 2, 3, 4, 31]).map(Replica)
SMALL_MAX = 6
SMALL = st.integers(0, SMALL_MAX)
NUMBERS = st.one_of(SMALL, st.sampled_from([2**31, 2**32, 2**32 + 9, 2**63 - 1, 2**63, 2**64 - 1]))
TERMS = NUMBERS.map(Term)
INDEXES = NUMBERS.map(Index)
FLAGS = st.booleans()
MEMBERS = st.lists(
    st.builds(
        Member,
        IDS,
        st.integers(1, 3).map(Instance),
        st.sampled_from(MemberRole),
        st.sampled_from(["", "n"]),
        st.sampled_from(["", "127.0.0.1:3301"]),
    ),
    max_size=4,
).map(tuple)
TXNS = st.one_of(
    st.just(b"\x84\x40\x00\x00\x80"), MEMBERS.map(lambda members: CODEC.encode(members, before=()))
)
BODIES = st.one_of(
    st.builds(LimboRef, IDS, NUMBERS.map(record.Lsn)).map(ref_body),
    st.just(ref_body(LimboRef(Replica(0), record.Lsn(0)))),
)


@st.composite
def appends(draw: st.DrawFn) -> Append:
    """A batch whose checksums hold, of entries that nobody may have written."""
    prev, crc = draw(SMALL), CHAIN_SEED
    made = []
    for index in range(prev + 1, prev + 1 + draw(st.integers(0, 4))):
        kind = draw(st.sampled_from([1, 2, 3, 4, 5, 9]))
        entry = record.make(
            index=index, term=draw(SMALL), origin=draw(SMALL), lsn=draw(SMALL),
            kind=kind, flags=draw(st.integers(0, 7)), time=1.0, previous=crc,
            body=draw(TXNS) if kind == EntryKind.TXN else draw(BODIES),
        )  # fmt: skip
        made.append(entry)
        crc = entry.crc
    return Append(
        term=draw(TERMS), leader=draw(IDS), epoch=draw(NUMBERS), prev_index=Index(prev),
        prev_term=Term(draw(SMALL)), prev_crc=Crc(CHAIN_SEED), last=Index(prev + len(made)),
        confirmed=draw(INDEXES), entries=tuple(made),
    )  # fmt: skip


def first_entry() -> Append:
    """The first entry of a log, as a leader writes it."""
    body = ref_body(LimboRef(Replica(0), record.Lsn(0)))
    entry = record.make(
        index=1,
        term=1,
        origin=2,
        lsn=1,
        kind=EntryKind.PROMOTE,
        flags=1,
        time=1.0,
        previous=0,
        body=body,
    )
    return Append(
        term=Term(1), leader=PEER, epoch=1, prev_index=Index(0), prev_term=Term(0),
        prev_crc=CHAIN_SEED, last=Index(1), confirmed=Index(0), entries=(entry,),
    )  # fmt: skip


PLACES = st.builds(Position, TERMS, INDEXES)
SAID: st.SearchStrategy[Message] = st.one_of(
    st.builds(RequestVote, term=TERMS, candidate=IDS, position=PLACES, pre=FLAGS, transfer=FLAGS),
    st.builds(
        RequestVoteResponse,
        term=TERMS,
        asked_term=TERMS,
        voter=IDS,
        pre=FLAGS,
        granted=FLAGS,
        reason=st.none(),
    ),
    st.builds(TimeoutNow, term=TERMS, leader=IDS),
    appends(),
    st.builds(
        AppendResponse, term=TERMS, follower=IDS, epoch=NUMBERS, ok=FLAGS, index=INDEXES,
        index_term=TERMS, recruit=FLAGS,
    ),
    st.builds(
        Heartbeat, term=TERMS, leader=IDS, epoch=NUMBERS, round=NUMBERS, matched=INDEXES,
        confirmed=INDEXES, last=INDEXES, admit=FLAGS,
    ),
    st.builds(
        HeartbeatResponse, term=TERMS, follower=IDS, epoch=NUMBERS, round=NUMBERS, recruit=FLAGS,
        promised_us=NUMBERS,
    ),
    st.builds(ReadIndex, term=TERMS, follower=IDS, ask=NUMBERS),
    st.builds(ReadIndexResponse, term=TERMS, ask=NUMBERS, place=st.none() | PLACES),
    st.builds(TransferLeadership, term=TERMS, candidate=IDS),
)  # fmt: skip
GOOD = SAID.map(lambda message: peer_messages.encode(message)[SEAL_SIZE:])
PAYLOADS: st.SearchStrategy[Message | bytes] = st.one_of(
    SAID, SAID, bent(GOOD), BOMBS, st.binary(min_size=1, max_size=40)
)


def said(payload: Message | bytes, *, term: int) -> bytes:
    """The bytes of it. Small terms are counted from the present one, so that they matter."""
    if isinstance(payload, bytes):
        return payload
    if payload.term <= SMALL_MAX:
        payload = replace(payload, term=Term(term + payload.term))
    return peer_messages.encode(payload)[SEAL_SIZE:]


@pytest.mark.parametrize("leads", [False, True], ids=["follower", "leader"])
async def test_no_message_of_a_peer_ends_a_node(tmp_path: Path, *, leads: bool) -> None:
    async with open_node(config(tmp_path)) as node:
        node._begin()
        machine = node.replica.machine
        grown = []

        @given(st.lists(PAYLOADS, min_size=1, max_size=6))
        @example([first_entry()])
        @example([dumps([7, 2**63, 2, 1, 0, 0, False])])
        @example([dumps([7, 2**64 - 1, 2, 1, 0, 0, False])])
        def check(payloads: list[Message | bytes]) -> None:
            if leads and machine.leader is None and machine.term < TERM_MAX:
                with calling(node) as peer:
                    lead(node, peer)
            term = machine.term
            for payload in payloads:
                with calling(node) as peer:
                    peer.say(said(payload, term=machine.term))
            assert not node.replica.torn
            assert node.timeline.counts[mishaps.EVENT] == 0
            assert machine.term <= min(TERM_MAX, term + len(payloads) * TERM_JUMP_MAX)
            grown.append(machine.replicated_log.log.last)

        check()
        assert max(grown) > 0


@pytest.mark.parametrize("kind", range(9))
async def test_a_message_of_somebody_else_ends_its_connection_only(
    tmp_path: Path, kind: int
) -> None:
    one, many = Term(1), Index(1)
    foreign: list[Message] = [
        RequestVote(
            term=one, candidate=Replica(3), position=Position(one, many), pre=True, transfer=False
        ),
        RequestVoteResponse(
            term=one, asked_term=one, voter=Replica(3), pre=False, granted=True, reason=None
        ),
        TimeoutNow(term=one, leader=Replica(3)),
        Append(
            term=one, leader=Replica(3), epoch=1, prev_index=Index(0), prev_term=Term(0),
            prev_crc=CHAIN_SEED, last=Index(0), confirmed=Index(0),
        ),
        AppendResponse(
            term=one, follower=Replica(31), epoch=1, ok=True, index=many, index_term=one,
            recruit=False,
        ),
        Heartbeat(
            term=one, leader=Replica(3), epoch=1, round=1, matched=Index(0), confirmed=Index(0)
        ),
        HeartbeatResponse(
            term=one, follower=Replica(10), epoch=1, round=1, recruit=False, promised_us=1
        ),
        ReadIndex(term=one, follower=Replica(9), ask=1),
        TransferLeadership(term=one, candidate=Replica(9)),
    ]  # fmt: skip
    async with open_node(config(tmp_path)) as node:
        node._begin()
        with calling(node) as peer:
            before = dict(node.server.refused)
            peer.say(peer_messages.encode(foreign[kind])[SEAL_SIZE:])
            assert not peer.connected
            assert node.server.refused == before | {"protocol": 1}
        with calling(node) as peer:
            assert peer.connected


async def test_a_mistake_of_our_own_costs_one_connection_and_is_told_with_its_traceback(
    tmp_path: Path,
) -> None:
    async with open_node(config(tmp_path)) as node:
        node._begin()

        def wrong(_replica: Replica, _message: Message) -> None:
            raise KeyError(10)

        node.server._check_message = wrong
        with calling(node) as peer:
            peer.say(
                peer_messages.encode(ReadIndex(term=Term(1), follower=PEER, ask=1))[SEAL_SIZE:]
            )
            assert not peer.connected
        (event,) = [each for each in node.timeline.events if each["event"] == mishaps.EVENT]
        assert event["error"] == "KeyError(10)"
        assert "in wrong" in str(event["trace"])
        assert event["doing"] == "serving node 2"


async def test_what_is_half_done_stops_the_node(tmp_path: Path) -> None:
    async with open_node(config(tmp_path)) as node:
        node._begin()
        node.replica.torn = True
        with pytest.raises(KeyError):
            mishaps.survive(node.replica, node.timeline, KeyError(10), "a test")
