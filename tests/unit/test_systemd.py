"""What a node says to systemd, received as systemd receives it."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from qsync.errors import ConfigError
from qsync.node import systemd
from qsync.node.systemd import SystemdSocket, systemd_socket
from qsync.status.members import ElectionStatus
from qsync.status.record import NodeStatus
from qsync.status.storage import DiskStatus

FOLLOWS = NodeStatus(
    id=1,
    status="running",
    election=ElectionStatus(state="follower", term=4, leader=2, leader_name="n2"),
)


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "notify"))
        sock.setblocking(False)
        yield sock


def said(listening: socket.socket) -> list[str]:
    return listening.recv(4096).decode().splitlines()


def spoken_to(listening: socket.socket, **more: str) -> SystemdSocket:
    found = systemd_socket({systemd.SOCKET: listening.getsockname(), **more})
    assert found is not None
    return found


def test_without_systemd_nothing_is_said() -> None:
    assert systemd_socket({}) is None
    assert systemd_socket({systemd.SOCKET: ""}) is None


def test_a_node_that_serves_says_so_and_what_it_does(listening: socket.socket) -> None:
    spoken_to(listening).ready(FOLLOWS)
    assert said(listening) == ["READY=1", "STATUS=follows n2, term 4"]


def test_a_socket_in_the_abstract_namespace_is_reached() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(f"\0qsync-notify-{os.getpid()}")
        found = systemd_socket({systemd.SOCKET: f"@qsync-notify-{os.getpid()}"})
        assert found is not None
        found.stopping()
        assert said(sock) == ["STOPPING=1", "STATUS=stopping"]


@pytest.mark.parametrize(
    ("election", "line"),
    [
        (ElectionStatus(state="leader", term=5, leader=1, leader_name="n1"), "leads in term 5"),
        (ElectionStatus(state="candidate", term=6), "no leader, term 6"),
    ],
)
def test_the_line_of_systemctl_status_says_who_leads(
    listening: socket.socket, election: ElectionStatus, line: str
) -> None:
    spoken_to(listening).beat(NodeStatus(id=1, status="running", election=election))
    assert said(listening) == [f"STATUS={line}"]


def test_the_line_says_what_is_wrong_with_the_node(listening: socket.socket) -> None:
    full = NodeStatus(id=1, status="running", disk=DiskStatus(error="No space left on device"))
    spoken_to(listening).beat(full)
    assert said(listening) == ["STATUS=cannot write to its disk: No space left on device"]


def test_with_a_watchdog_each_look_is_a_sign_of_life(listening: socket.socket) -> None:
    unit = spoken_to(listening, WATCHDOG_USEC="6000000", WATCHDOG_PID=str(os.getpid()))
    assert unit.watchdog_s == 6.0
    assert unit.look_s == 2.0
    unit.beat(FOLLOWS)
    assert said(listening) == ["WATCHDOG=1", "STATUS=follows n2, term 4"]


def test_a_node_whose_disk_keeps_a_write_gives_no_sign_of_life(listening: socket.socket) -> None:
    unit = spoken_to(listening, WATCHDOG_USEC="6000000")
    hangs = NodeStatus(id=1, status="running", disk=DiskStatus(stalled=True, busy_s=2.5))
    unit.beat(hangs)
    assert said(listening) == ["STATUS=no leader, term 0"]


def test_the_watchdog_of_another_process_is_not_ours(listening: socket.socket) -> None:
    unit = spoken_to(listening, WATCHDOG_USEC="6000000", WATCHDOG_PID="1")
    assert unit.watchdog_s is None
    assert unit.look_s == systemd.LOOK_S


def test_when_nobody_listens_a_start_is_refused(tmp_path: Path) -> None:
    """systemd would wait for READY=1 for ever."""
    with pytest.raises(ConfigError, match="gone, where nobody listens: No such file"):
        systemd_socket({systemd.SOCKET: str(tmp_path / "gone")})


def test_a_node_that_serves_goes_on_when_nobody_listens_any_more(
    listening: socket.socket, tmp_path: Path
) -> None:
    unit = spoken_to(listening)
    (tmp_path / "notify").unlink()
    unit.ready(FOLLOWS)
    unit.beat(FOLLOWS)
    unit.stopping()


@pytest.mark.parametrize(
    ("environ", "why"),
    [
        ({"NOTIFY_SOCKET": "run/notify"}, "neither a path nor begins with @"),
        ({"NOTIFY_SOCKET": "@n", "WATCHDOG_USEC": "soon"}, "no number of microseconds"),
        ({"NOTIFY_SOCKET": "@n", "WATCHDOG_USEC": "0"}, "no number of microseconds"),
    ],
)
def test_variables_that_systemd_would_not_set_are_refused(
    environ: dict[str, str], why: str
) -> None:
    with pytest.raises(ConfigError, match=why):
        systemd_socket(environ)
