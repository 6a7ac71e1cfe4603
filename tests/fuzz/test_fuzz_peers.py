"""Whatever comes after the good hello of a peer, a node hangs up or goes on, and never ends."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from election.messages import (
    TERM_JUMP_MAX,
    TERM_MAX,
    AskVote,
    CampaignNow,
    Index,
    Position,
    Replica,
    Term,
    Vote,
)
from qsync import record
from qsync.config import NodeConfig
from qsync.core.messages import (
    Append,
    Appended,
    AskHandOver,
    AskIndex,
    Heard,
    Heartbeat,
    Message,
    ReadIndex,
)
from qsync.node import mishaps
from qsync.node.node import Node, open_node
from qsync.record import CHAIN_SEED, Crc, Kind, Ref, ref_body
from qsync.wire import limits, peer_messages
from qsync.wire.frames import SEAL_SIZE, Frames, seal
from qsync.wire.proofs import NONCE_BYTES
from qsync.wire.session import Dialer, Hello, Party, State
from tests.fuzz.hostile import BOMBS, bent, dumps

CLUSTER = "8c2f6b1e-0c5a-4f62-9d0e-3a7d1b9c4e55"
PEER = Replica(2)
IDS = st.sampled_from([1, 2, 3, 4, 31]).map(Replica)
SMALL_MAX = 6
SMALL = st.integers(0, SMALL_MAX)
NUMBERS = st.one_of(SMALL, st.sampled_from([2**31, 2**32, 2**32 + 9, 2**63 - 1, 2**63, 2**64 - 1]))
TERMS = NUMBERS.map(Term)
INDEXES = NUMBERS.map(Index)
FLAGS = st.booleans()
BODIES = st.one_of(
    st.builds(Ref, IDS, NUMBERS.map(record.Lsn)).map(ref_body),
    st.just(ref_body(Ref(Replica(0), record.Lsn(0)))),
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
            kind=kind, flags=draw(st.integers(0, 3)), time=1.0, previous=crc,
            body=b"\x84\x40\x00\x00\x80" if kind == Kind.TXN else draw(BODIES),
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
    body = ref_body(Ref(Replica(0), record.Lsn(0)))
    entry = record.make(
        index=1,
        term=1,
        origin=2,
        lsn=1,
        kind=Kind.PROMOTE,
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
    st.builds(AskVote, term=TERMS, candidate=IDS, position=PLACES, pre=FLAGS, transfer=FLAGS),
    st.builds(
        Vote, term=TERMS, asked=TERMS, voter=IDS, pre=FLAGS, granted=FLAGS, nay=st.none()
    ),
    st.builds(CampaignNow, term=TERMS, leader=IDS),
    appends(),
    st.builds(
        Appended, term=TERMS, follower=IDS, epoch=NUMBERS, ok=FLAGS, index=INDEXES,
        index_term=TERMS, recruit=FLAGS,
    ),
    st.builds(
        Heartbeat, term=TERMS, leader=IDS, epoch=NUMBERS, round=NUMBERS, matched=INDEXES,
        confirmed=INDEXES, last=INDEXES, admit=FLAGS,
    ),
    st.builds(
        Heard, term=TERMS, follower=IDS, epoch=NUMBERS, round=NUMBERS, recruit=FLAGS,
        loyal_us=NUMBERS,
    ),
    st.builds(AskIndex, term=TERMS, follower=IDS, ask=NUMBERS),
    st.builds(ReadIndex, term=TERMS, ask=NUMBERS, place=st.none() | PLACES),
    st.builds(AskHandOver, term=TERMS, candidate=IDS),
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


class Caller:
    """Somebody who knows how to greet as node 2, over a real socket."""

    def __init__(self, node: Node) -> None:
        self.node = node
        with socket.create_server(("127.0.0.1", 0)) as door:
            self._line = socket.create_connection(door.getsockname())
            accepted, _ = door.accept()
        accepted.setblocking(False)
        node.server.accept(accepted)
        node.reactor.flush()
        self.shake()

    def shake(self) -> None:
        """Greeting, hello, ok."""
        hello = Hello(
            party=Party.PEER, cluster=CLUSTER, instance="theirs", replica=PEER, name="n2", epoch=1,
            members=(1, 2, 3), nonce=bytes(NONCE_BYTES),
        )  # fmt: skip
        dialer, frames = Dialer(hello), Frames(limits.HANDSHAKE_BYTES_MAX)
        while dialer.state is not State.READY:
            for payload in frames.feed(self._line.recv(65536)):
                answer = dialer.received(payload)
                if answer is not None:
                    self._line.sendall(answer)
                    self.pump()

    def say(self, payload: bytes) -> None:
        """One message, and a batch of the node for it."""
        self._line.sendall(seal(payload))
        self.pump()

    def pump(self) -> None:
        """Let the node take what has come."""
        while self.node.reactor._pass(0.0):
            pass

    @property
    def connected(self) -> bool:
        """Does the node still listen to this connection?"""
        return self.node.server.hears(PEER)

    def close(self) -> None:
        self._line.close()
        self.pump()


@contextmanager
def calling(node: Node) -> Iterator[Caller]:
    made = Caller(node)
    try:
        yield made
    finally:
        made.close()


def config(path: Path) -> NodeConfig:
    """One of three, the two others never come."""
    return NodeConfig.load(
        None,
        {},
        {
            "node.dir": str(path),
            "listen": "127.0.0.1:0",
            "store.writer": "inline",
            "cluster.id": CLUSTER,
            "peers": "1:n1@127.0.0.1:1,2:n2@127.0.0.1:2,3:n3@127.0.0.1:3",
        },
    )


def lead(node: Node, peer: Caller) -> None:
    """Node 2 votes for it and acks, so that it leads."""
    machine = node.replica.machine
    machine.raft.become_member()
    machine.raft.leader_gone()
    node._begin()
    if not machine.raft.promoting:
        assert machine.raft.promote() is None
    node._turn()
    term = machine.term
    yes = Vote(term=term, asked=term, voter=PEER, pre=False, granted=True, nay=None)
    peer.say(peer_messages.encode(yes)[SEAL_SIZE:])
    assert machine.leader is not None
    last = machine.ledger.log.last
    ack = Appended(
        term=term, follower=PEER, epoch=machine.peers[PEER].epoch, ok=True, index=last,
        index_term=term, recruit=False,
    )  # fmt: skip
    peer.say(peer_messages.encode(ack)[SEAL_SIZE:])


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
            grown.append(machine.ledger.log.last)

        check()
        assert max(grown) > 0


@pytest.mark.parametrize("kind", range(9))
async def test_a_message_of_somebody_else_ends_its_connection_only(
    tmp_path: Path, kind: int
) -> None:
    one, many = Term(1), Index(1)
    foreign: list[Message] = [
        AskVote(
            term=one, candidate=Replica(3), position=Position(one, many), pre=True, transfer=False
        ),
        Vote(term=one, asked=one, voter=Replica(3), pre=False, granted=True, nay=None),
        CampaignNow(term=one, leader=Replica(3)),
        Append(
            term=one, leader=Replica(3), epoch=1, prev_index=Index(0), prev_term=Term(0),
            prev_crc=CHAIN_SEED, last=Index(0), confirmed=Index(0),
        ),
        Appended(
            term=one, follower=Replica(31), epoch=1, ok=True, index=many, index_term=one,
            recruit=False,
        ),
        Heartbeat(
            term=one, leader=Replica(3), epoch=1, round=1, matched=Index(0), confirmed=Index(0)
        ),
        Heard(term=one, follower=Replica(10), epoch=1, round=1, recruit=False, loyal_us=1),
        AskIndex(term=one, follower=Replica(9), ask=1),
        AskHandOver(term=one, candidate=Replica(9)),
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
            peer.say(peer_messages.encode(AskIndex(term=Term(1), follower=PEER, ask=1))[SEAL_SIZE:])
            assert not peer.connected
        (event,) = [each for each in node.timeline.events if each["event"] == mishaps.EVENT]
        assert event["error"] == "KeyError(10)"
        assert "in wrong" in str(event["trace"])
        assert event["doing"] == "taking from node 2"


async def test_what_is_half_done_stops_the_node(tmp_path: Path) -> None:
    async with open_node(config(tmp_path)) as node:
        node._begin()
        node.replica.torn = True
        with pytest.raises(KeyError):
            mishaps.survive(node.replica, node.timeline, KeyError(10), "a test")
