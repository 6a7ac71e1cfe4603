"""What a node holds for others is bounded: who is slow, or asks for much, waits or is refused."""

import contextlib
import re
import resource
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import cbor2
import pytest

import qsync
from admin.cluster import settling, surveys
from admin.lab import lab
from qsync.data.operation_kinds import Op
from qsync.errors import Overloaded, QsyncError, TooLarge
from qsync.wire import replies, requests
from qsync.wire.verbs import GetRequest, WriteFlags, WriteRequest
from tests.live.real import PATIENT, caught_up, pause, put, running, until
from tests.live.test_bad_input import frame, hello, payload, stranger

pytestmark = pytest.mark.slow

MIB = 1 << 20
GROWTH_MIB_MAX = 80
"""What a node may hold for others below, with all that is freed and not yet given back."""


def memory_mib(node: lab.LabNode) -> float:
    """What the process holds for itself: files that are mapped do not count."""
    process = node.process
    assert process is not None, node.log.read_text()[-2000:]
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    size = re.search(r"RssAnon:\s+(\d+) kB", status)
    assert size is not None
    return int(size[1]) / 1024


def leader_and_followers(found: lab.Lab) -> tuple[lab.LabNode, list[lab.LabNode]]:
    address = surveys.leader_address(settling.wait_writable(found.addresses, timeout=20))
    (leader,) = (each for each in found.nodes if each.address == address)
    return leader, [each for each in found.nodes if each is not leader]


@contextlib.contextmanager
def paused(found: lab.Lab, node: lab.LabNode) -> Iterator[None]:
    """It hangs; its sockets stay open."""
    found.pause(node)
    try:
        yield
    finally:
        found.resume(node)


@contextlib.contextmanager
def client(address: str) -> Iterator[socket.socket]:
    """A connection whose handshake is over."""
    sock, _ = stranger(address)
    with sock:
        sock.sendall(frame(hello()))
        assert payload(sock) == ["ok"]
        yield sock


def test_a_follower_that_hangs_costs_the_leader_no_memory(tmp_path: Path) -> None:
    with running(tmp_path / "three", nodes=3, **PATIENT) as found:
        leader, (slow, _) = leader_and_followers(found)
        value = "v" * (MIB // 2)
        before = memory_mib(leader)
        most = 0.0
        with paused(found, slow), qsync.connect(found.addresses, timeout=30) as db:
            for number in range(500):
                db.space("things").replace([number % 10, value])
                most = max(most, memory_mib(leader))
        assert most - before < 2 * GROWTH_MIB_MAX
        until(lambda: caught_up(found), "the follower has all of it", timeout=60)


def test_writers_wait_for_rows_that_are_not_folded(tmp_path: Path) -> None:
    """Here nothing is folded for an hour, so who waits for that is told so in the end."""
    options = {"store__unfolded_bytes_max": "1MiB", "store__fold_interval": "1h"}
    with running(tmp_path / "one", nodes=1, **options) as found:
        for number in range(2):
            put(found, [number, "v" * (MIB * 3 // 4)])
        ops = [[Op.REPLACE, "things", cbor2.dumps([2, "waits"])]]
        with client(found.nodes[0].address) as sock:
            sock.sendall(requests.encode(WriteRequest(1, b"", 0, 0, 0, ops, 0.3)))
            assert _fate(payload(sock)) == "OVERLOADED"
            sock.sendall(requests.encode(WriteRequest(2, b"", 0, 0, WriteFlags.NO_WAIT, ops, 0.3)))
            _, at_once = replies.decode(cbor2.dumps(payload(sock)))
            assert isinstance(at_once, Overloaded)
            assert "store.unfolded_bytes_max" in at_once.message


def test_writers_beyond_the_room_of_the_limbo_wait_or_are_told_so(tmp_path: Path) -> None:
    """The limbo is full of what one follower does not confirm, and much more is asked for."""
    asked = 400
    options = {"queue_bytes_max": "2MiB", "synchro_timeout": "60s", "synchro_quorum": "3"}
    all_three = PATIENT | {f"replication__{name}": value for name, value in options.items()}
    with running(tmp_path / "three", nodes=3, **all_three) as found:
        leader, (slow, _) = leader_and_followers(found)
        ops = [[Op.REPLACE, "things", cbor2.dumps([1, "v" * (MIB // 4)])]]
        before = memory_mib(leader)
        heard: Counter[str] = Counter()
        with client(leader.address) as sock, contextlib.ExitStack() as hanging:
            hanging.enter_context(paused(found, slow))

            def send() -> None:
                for number in range(1, asked + 1):
                    sock.sendall(requests.encode(WriteRequest(number, b"", 0, 0, 0, ops, 60.0)))

            sender = threading.Thread(target=send)
            sender.start()
            sock.settimeout(60)
            while heard["OVERLOADED"] < asked - 40:
                heard[_fate(payload(sock))] += 1
            sender.join()
            assert memory_mib(leader) - before < GROWTH_MIB_MAX
            hanging.close()
            while sum(heard.values()) < asked:
                heard[_fate(payload(sock))] += 1
        assert heard["done"] > 0
        assert heard.keys() == {"OVERLOADED", "done"}
        put(found, [2, "afterwards"])


def _fate(data: list[object]) -> str:
    _, found = replies.decode(cbor2.dumps(data))
    return found.code if isinstance(found, QsyncError) else "done"


def test_who_reads_no_answers_is_not_read_for_ever(tmp_path: Path) -> None:
    """Forty connections ask for 80 MiB each and read nothing."""
    with running(tmp_path / "one", nodes=1, limits__unsent_bytes_max="16MiB") as found:
        (node,) = found.nodes
        put(found, [1, "v" * (MIB // 2)])
        before = memory_mib(node)
        most = 0.0
        with contextlib.ExitStack() as open_ones:
            for _ in range(40):
                sock = open_ones.enter_context(client(node.address))
                ask = (requests.encode(GetRequest(n, "things", 0, [1])) for n in range(1, 161))
                with contextlib.suppress(ConnectionError):
                    sock.sendall(b"".join(ask))
                most = max(most, memory_mib(node))
            put(found, [2, "meanwhile"])
            most = max(most, memory_mib(node))
        assert most - before < GROWTH_MIB_MAX


@pytest.mark.parametrize("begun", [60, pytest.param(1000, marks=pytest.mark.soak)])
def test_requests_that_never_end_take_a_bounded_room_and_hold_up_nobody(
    tmp_path: Path, begun: int
) -> None:
    """Each client sends half of a large request; the first ones get the answer to retry."""
    limits = {"limits__unfinished_bytes_max": "16MiB", "limits__connections_max": "2000"}
    ops = [[Op.REPLACE, "things", cbor2.dumps([1, "v" * (MIB - 1000)])]]
    whole = requests.encode(WriteRequest(7, b"", 0, 0, 0, ops, 60.0))
    half = len(whole) // 2
    with running(tmp_path / "one", nodes=1, **limits) as found:
        (node,) = found.nodes
        before = memory_mib(node)
        with contextlib.ExitStack() as open_ones:
            socks = [open_ones.enter_context(client(node.address)) for _ in range(begun)]
            for sock in socks[:-1]:
                sock.sendall(whole[:half])
            put(found, [2, "meanwhile"])
            assert _fate(payload(socks[0])) == "OVERLOADED"
            socks[-1].sendall(whole[:half])
            assert memory_mib(node) - before < GROWTH_MIB_MAX
            # Who began late is served to its end, and so is who asks again.
            for sock in (socks[-1], socks[0]):
                sock.sendall(whole[half:])
            assert _fate(payload(socks[-1])) == "done"
            socks[0].sendall(whole)
            assert _fate(payload(socks[0])) == "done"


def test_large_transactions_one_after_another_leave_nothing_behind(tmp_path: Path) -> None:
    with running(tmp_path / "one", nodes=1) as found:
        (node,) = found.nodes
        before = memory_mib(node)
        rows = [[number, "v" * (MIB - 100)] for number in range(7)]
        most = 0.0
        with qsync.connect(found.addresses, timeout=30) as db:
            for _ in range(40):
                with db.transaction() as tx:
                    for row in rows:
                        tx.space("things").replace(row)
                most = max(most, memory_mib(node))
            tx = db.transaction()
            for number in range(9):
                tx.space("things").replace([number, "v" * (MIB - 100)])
            with pytest.raises(TooLarge):
                tx.commit()
        assert most - before < 2 * GROWTH_MIB_MAX


def test_clients_beyond_the_limit_are_told_so_and_others_served(tmp_path: Path) -> None:
    with running(tmp_path / "one", nodes=1, limits__connections_max="200") as found:
        (node,) = found.nodes
        before = memory_mib(node)
        refused = 0
        with contextlib.ExitStack() as open_ones, qsync.connect(found.addresses) as db:
            db.space("things").replace([1, "before"])
            for _ in range(400):
                sock, _ = stranger(node.address)
                open_ones.enter_context(sock)
                sock.sendall(frame(hello()))
                answer = payload(sock)
                refused += answer != ["ok"]
                assert answer == ["ok"] or "connections_max" in str(answer)
            assert 200 <= refused < 210
            db.space("things").replace([2, "meanwhile"])
            assert memory_mib(node) - before < GROWTH_MIB_MAX / 4
        until(lambda: _connects(node.address), "there is room again")


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "count", [300, *(pytest.param(many, marks=pytest.mark.soak) for many in (1000, 10_000))]
)
def test_clients_that_are_connected_and_quiet_cost_little_and_are_all_served(
    tmp_path: Path, count: int
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + 500
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"{hard} descriptors are not enough for {count} connections")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    try:
        with running(tmp_path / "one", nodes=1, limits__connections_max=str(count)) as found:
            (node,) = found.nodes
            put(found, [1, "before"])
            before = memory_mib(node)
            with contextlib.ExitStack() as open_ones:
                socks = [open_ones.enter_context(client(node.address)) for _ in range(count - 10)]
                assert (memory_mib(node) - before) * 1024 < 64 * count
                for number, sock in enumerate(socks):
                    sock.sendall(requests.encode(GetRequest(number, "things", 0, [1])))
                for number, sock in enumerate(socks):
                    assert payload(sock)[0] == number
                put(found, [2, "meanwhile"])
                assert memory_mib(node) - before < GROWTH_MIB_MAX
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _connects(address: str) -> bool:
    sock, _ = stranger(address)
    with sock:
        sock.sendall(frame(hello()))
        pause()
        return payload(sock) == ["ok"]
