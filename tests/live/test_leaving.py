"""Real leaders that must not lead any more: another one leads long before anybody missed them."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from admin.cluster import ask, fault_points, settling, surveys
from admin.lab import lab
from qsync.faults import Fault
from qsync.wire.verbs import OptionsRequest
from tests.live.real import put, running, until

pytestmark = pytest.mark.slow


@pytest.fixture
def three(tmp_path: Path) -> Iterator[lab.Lab]:
    # Whatever waits until something is missed waits for longer than the 20 s of a client.
    options = {"election__timeout": "60s", "replication__timeout": "2s", "cluster__tag": "lab"}
    with running(tmp_path / "three", nodes=3, **options) as found:
        yield found


def stopped(found: lab.Lab, leader: lab.LabNode) -> None:
    found.send(leader, signal.SIGTERM)


def votes_only(_found: lab.Lab, leader: lab.LabNode) -> None:
    ask.value(leader.address, OptionsRequest(1, {"election_mode": "voter"}))


def cannot_write(_found: lab.Lab, leader: lab.LabNode) -> None:
    fault_points.arm(leader.address, Fault.FAIL_FSYNC, lasts=60.0)


@pytest.mark.parametrize("ends", [stopped, votes_only, cannot_write])
def test_a_leader_that_steps_down_alive_is_replaced_within_a_moment(
    three: lab.Lab, ends: Callable[[lab.Lab, lab.LabNode], None]
) -> None:
    put(three, [1, "before"])
    leader = _leader(three)
    ends(three, leader)
    put(three, [2, "after"])
    until(lambda: _leads_elsewhere(three, leader), "another node leads")


def _leader(found: lab.Lab) -> lab.LabNode:
    leader = settling.wait_writable(found.addresses, timeout=20).leader
    assert leader is not None
    return found.node(leader.name)


def _leads_elsewhere(found: lab.Lab, former: lab.LabNode) -> bool:
    leader = surveys.survey(found.addresses).leader
    return leader is not None and leader.name != former.name
