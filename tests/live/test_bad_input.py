"""What strangers, foreign nodes, second processes and broken disks do to a node: nothing bad."""

import os
import resource
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import cbor2
import pytest

from admin.cluster import ask, settling, surveys
from admin.lab import lab
from qsync.errors import Unavailable
from qsync.status import decode
from qsync.status.record import NodeStatus
from tests.live.real import ROOT, put, running, until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.Lab]:
    with running(tmp_path_factory.mktemp("bad") / "three", nodes=3) as found:
        put(found, [1, "before"])
        yield found


def stranger(address: str) -> tuple[socket.socket, list[object]]:
    """A connection that has read the greeting."""
    host, _, port = address.rpartition(":")
    sock = socket.create_connection((host, int(port)), timeout=10)
    return sock, payload(sock)


def payload(sock: socket.socket) -> list[object]:
    (size,) = struct.unpack(">I", exactly(sock, 4))
    found = cbor2.loads(exactly(sock, size))
    assert isinstance(found, list)
    return found


def exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = sock.recv(size - len(data))
        assert more, "closed early"
        data += more
    return data


def frame(value: object) -> bytes:
    data = cbor2.dumps(value)
    return struct.pack(">I", len(data)) + data


def ends(sock: socket.socket) -> bool:
    """The other side closes (a reset is as good)."""
    try:
        while sock.recv(65536):
            pass
    except ConnectionError:
        return True
    return True


def alive(found: lab.Lab) -> None:
    until(lambda: surveys.judge(surveys.survey(found.addresses)).can_commit, "it can commit")


def hello(**changes: object) -> list[object]:
    fields = {
        "word": "hello",
        "version": 1,
        "features": [],
        "party": "client",
        "cluster": None,
        "instance": None,
        "replica": 0,
        "name": "",
        "epoch": 0,
        "user": None,
    }
    return list((fields | changes).values())


@pytest.mark.parametrize(
    "rubbish",
    [
        os.urandom(4096),
        struct.pack(">I", 0xFFFF_FFFF) + b"x" * 64,
        struct.pack(">I", 0),
        frame({"not": "an array"}),
        frame(["hello"]),
        frame("hello"),
        b"GET / HTTP/1.1\r\n\r\n",
    ],
    ids=["garbage", "oversized", "empty", "map", "short", "text", "http"],
)
def test_rubbish_ends_its_connection_and_nothing_else(three: lab.Lab, rubbish: bytes) -> None:
    sock, _ = stranger(three.addresses[0])
    with sock:
        sock.sendall(rubbish)
        assert ends(sock)
    alive(three)


def test_a_truncated_frame_is_forgotten_with_its_connection(three: lab.Lab) -> None:
    sock, _ = stranger(three.addresses[0])
    sock.sendall(frame(hello())[:-3])
    sock.close()
    alive(three)


def test_a_stranger_that_says_nothing_is_dropped(three: lab.Lab) -> None:
    sock, _ = stranger(three.addresses[0])
    with sock:
        sock.sendall(b"\x00\x00")  # half of a length, and then nothing for as long as it takes
        sock.settimeout(20)
        assert ends(sock)
    alive(three)


def test_another_version_is_told_so(three: lab.Lab) -> None:
    sock, _ = stranger(three.addresses[0])
    with sock:
        sock.sendall(frame(hello(version=999)))
        word, number, text, *_ = payload(sock)
        assert (word, number) == ("no", 41)
        assert "999" in str(text)


def test_a_node_of_another_cluster_is_refused(three: lab.Lab) -> None:
    sock, _ = stranger(three.addresses[0])
    with sock:
        foreign = hello(party="peer", cluster="0" * 8, instance="1" * 8, replica=2, name="n2")
        sock.sendall(frame(foreign))
        word, number, *_ = payload(sock)
        assert (word, number) == ("no", 42)
    alive(three)


def test_a_request_that_is_none_is_answered_with_its_number(three: lab.Lab) -> None:
    sock, _ = stranger(three.addresses[0])
    with sock:
        sock.sendall(frame(hello()))
        assert payload(sock) == ["ok"]
        sock.sendall(frame([77, 999]))
        number, code, *_ = payload(sock)
        assert (number, code) == (77, 40)
        assert ends(sock)


def start(found: lab.Lab, name: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "qsync", "node", "--config", str(found.node(name).config)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=30, cwd=ROOT, check=False
    )


def test_a_second_process_on_the_directory_is_refused_and_names_the_first(three: lab.Lab) -> None:
    process = three.node("n1").process
    assert process is not None
    done = start(three, "n1")
    assert done.returncode == 1
    assert "DIRECTORY_LOCKED" in done.stderr
    assert str(process.pid) in done.stderr
    alive(three)


def test_a_directory_that_cannot_be_one_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    command = [sys.executable, "-m", "qsync", "node", "--set", f"node.dir={tmp_path / 'file'}"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=30, cwd=ROOT, check=False
    )
    assert done.returncode == 1
    assert "STORE" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_full_disk_ends_leadership_and_loses_nothing(tmp_path: Path) -> None:
    with running(tmp_path / "full", nodes=3) as found:
        put(found, [1, "kept"])
        leader = surveys.survey(found.addresses).leader
        assert leader is not None
        process = found.node(leader.name).process
        assert process is not None
        # From now on every file of the leader is as large as it may get.
        no_limit = resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        # The others are a quorum: it may confirm that before it hears of its own disk.
        put(found, [2, "elsewhere"])
        until(lambda: leader_of(found) != leader.address, "another node leads")
        other = settling.wait_writable(found.addresses, timeout=20).leader
        assert other is not None
        assert "disk" in reasons(leader.address)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, no_limit)
        until(lambda: sample(leader.address).confirmed >= other.confirmed, "it catches up")


def sample(address: str) -> NodeStatus:
    return decode.status(ask.status(address, timeout=5))


def state(address: str) -> str:
    try:
        return sample(address).status
    except Unavailable:
        return "not up yet"


def reasons(address: str) -> str:
    return str(sample(address).ro_reasons)


def lag(found: lab.Lab, address: str) -> int:
    return sample(leader_of(found)).last - sample(address).written


def test_a_damaged_record_quarantines_the_node_until_it_has_caught_up(tmp_path: Path) -> None:
    with running(tmp_path / "damaged", nodes=3) as found:
        put(found, [1, "a value that can be found on the disk"])
        node = next(each for each in found.nodes if each.address != leader_of(found))
        until(lambda: lag(found, node.address) == 0, "it is up to date")
        found.send(node, signal.SIGTERM)
        until(lambda: node.process is None, "it stops")
        (file,) = (node.dir / "log").glob("*.log")
        data = bytearray(file.read_bytes())
        at = data.find(b"a value that can be found")
        assert at > 0
        data[at] ^= 0x40
        file.write_bytes(data)
        found.start(node)
        until(lambda: state(node.address) == "running", "it is admitted again")
        until(lambda: lag(found, node.address) == 0, "it is up to date again")
        assert sample(node.address).quarantined is None
        (why,) = node.dir.glob("log.damaged-*/why.txt")
        assert "checksum" in why.read_text("utf-8")


def leader_of(found: lab.Lab) -> str:
    """Who takes writes, as soon as somebody does."""
    leader = settling.wait_writable(found.addresses, timeout=20).leader
    assert leader is not None
    return leader.address
