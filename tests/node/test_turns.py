"""Whose turn it is: peers first, clients one after the other, and nobody fills the memory."""

import gc
import os
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import cbor2
import pytest
import trio

from election.messages import Index, Position, RequestVote, Term
from qsync.core.consistency import Consistency
from qsync.core.inputs import Connected
from qsync.core.messages import AppendResponse
from qsync.data.digest import DigestScan
from qsync.data.operation_kinds import Op
from qsync.data.reading import Scan
from qsync.errors import AccessDenied, TooLarge
from qsync.node import due
from qsync.node.connection import UNSENT_BYTES_MAX
from qsync.node.effects import Socket
from qsync.node.listener import Listener, connections_allowed, share
from qsync.node.node import Node, open_node
from qsync.node.scans import SLICE_ROWS
from qsync.node.system import SYSTEM
from qsync.rights import LOCAL_ADMIN
from qsync.wire import peer_messages, replies, requests
from qsync.wire.frames import frame
from qsync.wire.limits import OPS_MAX
from qsync.wire.verbs import (
    CountRequest,
    DigestRequest,
    PlainRequest,
    ReadLevel,
    SelectRequest,
    Verb,
    WriteRequest,
)
from tests.node.knocking import (
    ARRIVAL_SECONDS_MAX,
    CLIENT,
    PEER,
    Caller,
    ack,
    calling,
    config,
    lead,
)

ROWS = 20_000
MANY = 60
PLENTY = b"x" * 100_000


def op(what: int, *rest: object) -> list[object]:
    return [what, *rest]


def filled(node: Node, client: Caller, rows: int, text: bytes = b"") -> None:
    """A space called `t` with so many rows."""
    fields = {"primary": [[1, "unsigned"]], "format": [["id", "unsigned"], ["text", "varbinary?"]]}
    client.ask(requests.encode(WriteRequest(1, b"", 0, 0, 0, [op(10, "t", fields)])))
    for start in range(0, rows, 1000):
        puts = [op(2, "t", cbor2.dumps([n, text])) for n in range(start, min(rows, start + 1000))]
        client.ask(requests.encode(WriteRequest(2, b"", 0, 0, 0, puts)))
    answers = [replies.decode(each)[1] for each in client.heard()]
    assert answers
    assert not any(isinstance(each, Exception) for each in answers), answers


def counts(level: ReadLevel, many: int = MANY, first: int = 100) -> bytes:
    """So many expensive questions at once."""
    return b"".join(
        requests.encode(CountRequest(first + n, "t", 0, "all", [], level, [])) for n in range(many)
    )


LOCAL = ReadLevel(Consistency.LOCAL, Term(0), Index(0))
LINEARIZABLE = ReadLevel(Consistency.LINEARIZABLE, Term(0), Index(0))


async def alone(node: Node) -> None:
    """Until it leads."""
    while node.replica.machine.leader is None:
        await trio.lowlevel.checkpoint()


async def test_a_peer_is_answered_before_what_one_client_asked_is_done(tmp_path: Path) -> None:
    async with open_node(config(tmp_path)) as node:
        node._begin()
        with calling(node) as peer, calling(node, CLIENT) as client:
            lead(node, peer)
            machine = node.replica.machine
            client.line.sendall(counts(LOCAL))
            ask = RequestVote(
                term=machine.term, candidate=PEER, position=Position(Term(1), Index(1)),
                pre=False, transfer=False,
            )  # fmt: skip
            peer.line.sendall(peer_messages.encode(ask))
            answered = 0
            while machine.raft.history.kept(term=machine.term, candidate=PEER, pre=False) is None:
                answered += len(client.heard())
                node.reactor._pass(0.0)
            assert answered < MANY


@pytest.mark.parametrize("level", [LOCAL, LINEARIZABLE], ids=["local", "linearizable"])
async def test_what_one_client_asks_at_once_is_answered_in_turns(
    tmp_path: Path, level: ReadLevel
) -> None:
    async with open_node(config(tmp_path, alone=True)) as node:
        await alone(node)
        with calling(node, CLIENT) as greedy, calling(node, CLIENT) as modest:
            filled(node, greedy, ROWS)
            greedy.line.sendall(counts(level))
            modest.line.sendall(requests.encode(PlainRequest(7, Verb.PING)))
            answered, served_at = 0, None
            while answered < MANY:
                node.reactor._pass(0.0)
                answered += len(greedy.heard())
                if served_at is None and modest.heard():
                    served_at = answered
            assert served_at is not None
            assert served_at < MANY / 2
            assert not node.reactor._busy


@pytest.mark.parametrize("level", [LOCAL, LINEARIZABLE], ids=["local", "linearizable"])
@pytest.mark.pure
async def test_a_long_read_shows_one_index_and_writes_go_on_meanwhile(
    tmp_path: Path, level: ReadLevel, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, ask = 5_000, SelectRequest(100, "t", 0, "all", [], 5_000, 0, None, level, [])
    slices: list[int] = []
    seen = Scan.read

    def read(scan: Scan, rows_max: int) -> bool:
        before = scan.total
        done = seen(scan, rows_max)
        slices.append(scan.total - before)
        return done

    async with open_node(config(tmp_path, alone=True)) as node:
        await alone(node)
        with calling(node, CLIENT) as reader, calling(node, CLIENT) as writer:
            filled(node, writer, rows)
            monkeypatch.setattr(Scan, "read", read)
            monkeypatch.setattr(due, "SLICES_SECONDS_MAX", 0.0)  # one slice a pass
            reader.line.sendall(requests.encode(ask) + counts(level, 1))
            answers: list[bytes] = []
            written = 0
            while len(answers) < 2:
                put = [op(2, "t", cbor2.dumps([rows + written, b"late"]))]
                writer.line.sendall(requests.encode(WriteRequest(3, b"", 0, 0, 0, put)))
                node.reactor._pass(0.01)
                written += len(writer.heard())
                node.folding.slice()
                answers += reader.heard()
            selected, counted = (replies.decode(each)[1] for each in answers)
            assert isinstance(selected, list)
            assert isinstance(counted, list)
            found, _ = replies.read_rows(selected)
            assert [cbor2.loads(each)[0] for each in found] == list(range(rows))
            # The count began after that, at an index of its own.
            assert rows < replies.read_count(counted)[0] < rows + written
            assert max(slices) <= SLICE_ROWS
            assert written > rows / SLICE_ROWS
            assert node.replica.state.pins.lowest(1 << 40) == 1 << 40  # nothing is left pinned


@pytest.mark.pure
async def test_a_digest_is_of_one_index_though_writes_go_on_between_its_slices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, slices = 3_000, 0
    seen = DigestScan.read

    def read(scan: DigestScan, rows_max: int) -> bool:
        nonlocal slices
        assert rows_max == SLICE_ROWS
        slices += 1
        return seen(scan, rows_max)

    async with open_node(config(tmp_path, alone=True)) as node:
        await alone(node)
        with calling(node, CLIENT) as reader, calling(node, CLIENT) as writer:
            filled(node, writer, rows)
            state, before = node.replica.state, node.replica.state.digests()
            begun = int(state.visible)
            monkeypatch.setattr(DigestScan, "read", read)
            monkeypatch.setattr(due, "SLICES_SECONDS_MAX", 0.0)  # one slice a pass
            reader.line.sendall(requests.encode(DigestRequest(100)))
            while not node.requests.reads.scans:
                node.reactor._pass(0.01)
            answers: list[bytes] = []
            while not answers:
                put = [op(2, "t", cbor2.dumps([rows + slices, b"late"]))]
                writer.line.sendall(requests.encode(WriteRequest(3, b"", 0, 0, 0, put)))
                node.reactor._pass(0.01)
                node.folding.slice()
                answers += reader.heard()
            assert slices > rows / SLICE_ROWS
            told = replies.decode(answers[0])[1]
            assert isinstance(told, list)
            visible, folded, found = told
            assert (visible, found) == (begun, before)
            assert isinstance(folded, int)
            assert folded <= begun < state.visible
            assert state.pins.lowest(1 << 40) == 1 << 40  # nothing is left pinned


@pytest.mark.pure
async def test_long_reads_of_one_client_do_not_wait_for_each_other_in_a_circle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_node(config(tmp_path, alone=True)) as node:
        await alone(node)
        reads = node.requests.reads
        with calling(node, CLIENT) as reader, calling(node, CLIENT) as other:
            filled(node, reader, 3 * SLICE_ROWS)
            monkeypatch.setattr(due, "SLICES_SECONDS_MAX", 0.0)  # one slice a pass
            other.line.sendall(counts(LOCAL, 1))
            while not reads.scans:
                node.reactor._pass(0.01)
            reader.line.sendall(counts(LOCAL, 1, first=200))
            while len(node.reactor.due) < 2:
                node.reactor._pass(0.0)
            other.line.close()
            while reads.scans:
                node.reactor._pass(0.01)
            # The first one has waited, and the second comes before its turn.
            reader.line.sendall(counts(LOCAL, 1, first=201))
            answered: list[int] = []
            for _ in range(100):
                answered += [replies.decode(each)[0] for each in reader.heard()]
                node.reactor._pass(0.001)
            assert answered == [200, 201]


@pytest.mark.parametrize("level", [LOCAL, LINEARIZABLE], ids=["local", "linearizable"])
@pytest.mark.pure
async def test_a_long_read_ends_when_the_right_to_it_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: ReadLevel
) -> None:
    """The scan that goes on, and those that wait for it, at their next turns."""
    async with open_node(config(tmp_path, alone=True)) as node:
        await alone(node)
        reads, pins = node.requests.reads, node.replica.state.pins
        with calling(node, CLIENT) as reader:
            (ann,) = node.reactor.connections()
            with calling(node, CLIENT) as owner:
                (own,) = set(node.reactor.connections()) - {ann}
                own.turn.user = own.turn.login = LOCAL_ADMIN
                ann.turn.user = ann.turn.login = "ann"
                filled(node, owner, ROWS)
                right = ["ann", ["read"], "space", "t"]
                for made in (
                    [Op.ENABLE_USERS, bytes(32)],
                    [Op.CREATE_USER, "root", None],
                    [Op.CREATE_USER, "ann", None],
                    [Op.GRANT, *right],
                ):
                    owner.ask(requests.encode(WriteRequest(3, b"", 0, 0, 0, [made])))
                answers = [replies.decode(each)[1] for each in owner.heard()]
                assert not any(isinstance(each, Exception) for each in answers), answers
                monkeypatch.setattr(due, "SLICES_SECONDS_MAX", 0.0)  # one slice a pass
                reader.line.sendall(counts(level, 2))
                while not reads.scans:
                    node.reactor._pass(0.01)
                revoke = requests.encode(WriteRequest(4, b"", 0, 0, 0, [[Op.REVOKE, *right]]))
                owner.line.sendall(revoke)
                revoked: list[bytes] = []
                while not revoked:
                    node.reactor._pass(0.01)
                    revoked = owner.heard()
                assert not isinstance(replies.decode(revoked[0])[1], Exception)
                told: list[bytes] = []
                while len(told) < 2:
                    node.reactor._pass(0.01)
                    told += reader.heard()
        refused = [replies.decode(each)[1] for each in told]
        assert [type(each) for each in refused] == [AccessDenied, AccessDenied]
        assert not reads.scans
        assert pins.lowest(1 << 40) == 1 << 40  # nothing is left pinned


@pytest.mark.pure
async def test_who_leaves_in_the_middle_of_a_long_read_leaves_no_pin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_node(config(tmp_path, alone=True)) as node:
        await alone(node)
        with calling(node, CLIENT) as reader:
            filled(node, reader, 3 * SLICE_ROWS)
            monkeypatch.setattr(due, "SLICES_SECONDS_MAX", 0.0)  # one slice a pass
            requests_ = node.loop.requests
            assert requests_ is not None
            reader.line.sendall(counts(LOCAL, 2))
            while not requests_.reads.scans:
                node.reactor._pass(0.01)
            assert node.replica.state.pins.lowest(1 << 40) == node.replica.state.visible
        assert not requests_.reads.scans
        assert node.replica.state.pins.lowest(1 << 40) == 1 << 40


async def test_answers_that_nobody_reads_take_a_bounded_room_and_all_come_in_the_end(
    tmp_path: Path,
) -> None:
    async with open_node(config(tmp_path, alone=True)) as node:
        await alone(node)
        with calling(node, CLIENT) as client:
            filled(node, client, 20, PLENTY)
            wanted = 40
            for n in range(wanted):
                ask = SelectRequest(100 + n, "t", 0, "all", [], 100, 0, None, LOCAL, [])
                client.line.sendall(requests.encode(ask))
            most = 0
            for _ in range(200):
                node.reactor._pass(0.0)
                most = max(most, node.reactor.unsent)
            assert UNSENT_BYTES_MAX <= most < UNSENT_BYTES_MAX + 20 * 2 * len(PLENTY)
            assert not node.reactor._busy  # it waits for the reader and turns in no circle
            answered: list[int] = []
            while len(answered) < wanted:
                answered += [replies.decode(each)[0] for each in client.heard()]
                node.reactor._pass(0.01)
            assert answered == list(range(100, 100 + wanted))
            assert node.reactor.unsent == 0


async def test_of_all_together_the_worst_reader_is_disconnected(tmp_path: Path) -> None:
    limit = {"limits__unsent_bytes_max": "6MiB"}
    async with open_node(config(tmp_path, alone=True, **limit)) as node:
        await alone(node)
        with (
            calling(node, CLIENT) as first,
            calling(node, CLIENT) as second,
            calling(node, CLIENT) as other,
        ):
            filled(node, other, 20, PLENTY)
            for client in (first, second):
                for n in range(8):
                    ask = SelectRequest(100 + n, "t", 0, "all", [], 100, 0, None, LOCAL, [])
                    client.line.sendall(requests.encode(ask))
            before = node.server.room.count
            for _ in range(100):
                node.reactor._pass(0.0)
                assert node.reactor.unsent <= 6 << 20
            assert node.server.room.count == before - 1
            other.ask(requests.encode(PlainRequest(7, Verb.PING)))
            assert [replies.decode(each)[0] for each in other.heard()] == [7]


async def test_too_many_operations_are_refused_by_name_and_the_connection_stays(
    tmp_path: Path,
) -> None:
    async with open_node(config(tmp_path, alone=True)) as node:
        await alone(node)
        with calling(node, CLIENT) as client:
            write = WriteRequest(1, b"", 0, 0, 0, [op(2, "t", b"\x80")] * (OPS_MAX + 1))
            with pytest.raises(TooLarge, match="OPS_MAX"):
                requests.encode(write)
            # Others may not count before they send.
            many = frame(cbor2.dumps(requests._fields_of(write)))
            client.ask(many + requests.encode(PlainRequest(2, Verb.PING)))
            answers: dict[int, object] = {}
            until = perf_counter() + 10 * ARRIVAL_SECONDS_MAX
            while 2 not in answers and perf_counter() < until:
                node.reactor._pass(0.01)  # half a megabyte takes a few passes
                answers |= dict(replies.decode(each) for each in client.heard())
            assert isinstance(answers[1], TooLarge)
            assert "OPS_MAX" in str(answers[1])
            assert 2 in answers


# ------------------------------------------------------------------------------- descriptors


@contextmanager
def no_descriptors() -> Iterator[None]:
    """As many files as may be open are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    gc.collect()
    used = max(int(each.name) for each in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (used, hard))
    held = []
    try:
        while True:
            try:
                held.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                break
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for each in held:
            os.close(each)


def test_who_knocks_when_no_descriptor_is_left_is_turned_away_and_does_not_knock_for_ever() -> None:
    came: list[Socket] = []
    with socket.create_server(("127.0.0.1", 0)) as sock:
        door = Listener(sock, lambda fresh, _: came.append(fresh), SYSTEM.spare)
        knocking = [socket.create_connection(sock.getsockname()) for _ in range(3)]
        with no_descriptors():
            door.take_all()
        assert (door.turned_away, came) == (3, [])
        late = socket.create_connection(sock.getsockname())
        door.take_all()
        assert len(came) == 1
        for each in (*knocking, late, *came):
            each.close()
        door.close()


async def test_a_node_that_cannot_dial_for_want_of_descriptors_goes_on_and_says_why(
    tmp_path: Path,
) -> None:
    async with open_node(config(tmp_path)) as node:
        for link in node.links.links.values():
            link.next_dial = 0.0
        with no_descriptors():
            node.links.dial_due()
        for link in node.links.links.values():
            assert "Too many open files" in link.message


@pytest.mark.parametrize(
    ("limit", "wanted", "allowed"),
    [(1024, 1000, 872), (1024, 100, 100), (128, 1000, 24), (64, 1000, 1), (100_000, 1000, 1000)],
)
def test_fewer_clients_are_let_in_where_descriptors_are_few(
    limit: int, wanted: int, allowed: int
) -> None:
    assert share(limit, wanted, peers=2) == allowed


def test_the_soft_limit_is_raised_before_clients_are_turned_away() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        assert connections_allowed(300, peers=2) == 300
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# ------------------------------------------------------------------- a log that cannot be read


async def test_a_leader_that_cannot_read_its_log_back_steps_down_and_lives(tmp_path: Path) -> None:
    async with open_node(config(tmp_path)) as node:
        node._begin()
        machine = node.replica.machine
        with calling(node) as peer:
            lead(node, peer)
            peer.tell(ack(node))
            # What memory has let go of would be read back; and the disk is gone.
            recent = machine.replicated_log.entry_cache
            recent._entries.clear()
            recent._base = int(machine.replicated_log.log.last)
            node.storage.log.close()
            theirs = machine.peers[PEER].instance
            assert theirs is not None
            node._step(Connected(peer=PEER, epoch=7, instance=theirs))
            node._turn()
            assert machine.leader is not None
            lacks_all = AppendResponse(
                term=machine.term, follower=PEER, epoch=7, ok=False, index=Index(0),
                index_term=Term(0), recruit=False,
            )  # fmt: skip
            peer.tell(lacks_all)
            peer.tell(replace(lacks_all, ok=True))
            assert machine.leader is None
            assert machine.disk.error is not None
            assert not node.replica.torn
            assert peer.connected
