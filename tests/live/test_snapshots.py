"""Nodes that lack what no log has any more take a snapshot, on real processes, under load."""

from pathlib import Path

import pytest

import qsync
from admin.cluster import ask, logs, settling, surveys
from admin.lab import lab
from qsync.client.one_node import NodeConnection
from qsync.errors import Rebuilding
from qsync.status import decode
from qsync.status.members import SnapshotStatus
from qsync.status.record import NodeStatus
from qsync.wire.verbs import DigestRequest, InfoRequest
from tests.live.real import running, until
from tests.live.test_membership import under_load

pytestmark = pytest.mark.slow

ROWS, ROW_BYTES = 320, 10_000
"""About three chunks, which take about as many seconds: long enough to be seen on their way."""
SMALL = {
    "store__checkpoint_wal_threshold": "256KiB",
    "store__checkpoint_count": "1",
    "store__wal_retention_size": "256KiB",
    "replication__snapshot_rate": "1MiB",
}


def status(node: lab.LabNode) -> NodeStatus:
    return decode.status(ask.status(node.address))


def begins(node: lab.LabNode) -> int:
    with NodeConnection(node.address, timeout=5) as line:
        return logs.start_of(line).index + 1


def events(node: lab.LabNode) -> list[dict[str, object]]:
    found = ask.only(ask.value(node.address, InfoRequest(1, "events")))
    assert isinstance(found, list)
    return found


def newest(found: lab.Lab, event: str) -> dict[str, object]:
    """Of whichever node: another one may lead by now."""
    told = [each for node in found.nodes for each in events(node) if each["event"] == event]
    return max(told, key=lambda each: str(each["time"]))


def installed(node: lab.LabNode) -> bool:
    """Since its process began; under load it may need another one soon."""
    return status(node).counters["snapshots_installed"] > 0


def digests(found: lab.Lab) -> set[str]:
    """What the nodes show; of one whose rows are being put in place nothing that is the same."""
    shown = set()
    for each in found.nodes:
        try:
            *_, rows = ask.value(each.address, DigestRequest(1))
        except Rebuilding as error:
            rows = error.message
        shown.add(repr(rows))
    return shown


def arriving(node: lab.LabNode) -> SnapshotStatus | None:
    """What of a snapshot has come to a node, by its own word."""
    try:
        members = status(node).replication.values()
    except qsync.QsyncError:
        return None
    shown = [each.upstream.snapshot for each in members if each.upstream is not None]
    return next((each for each in shown if each is not None), None)


def fill(found: lab.Lab) -> None:
    with qsync.connect(found.addresses, timeout=20) as db:
        for number in range(ROWS):
            db.space("things").insert([number, f"{number:05}" * (ROW_BYTES // 5)])


def sender(found: lab.Lab, late: lab.LabNode) -> lab.LabNode | None:
    """Who leads, where both say that some of a snapshot is there, and some is not."""
    here, leader = arriving(late), surveys.survey(found.addresses).leader
    if here is None or leader is None or late.id not in leader.replication:
        return None
    there = leader.replication[late.id].downstream
    if there is None or there.snapshot is None or there.status != "snapshot":
        return None
    return found.node(leader.name) if 1 <= here.chunks < here.chunks_in_all else None


def half_way(found: lab.Lab, late: lab.LabNode) -> lab.LabNode:
    """The sender, when it is half way."""
    told: list[lab.LabNode] = []

    def is_half_way() -> bool:
        told.extend(each for each in (sender(found, late),) if each is not None)
        return bool(told)

    until(is_half_way, "both say that some of it is there")
    return told[0]


def killed_half_way(found: lab.Lab, late: lab.LabNode) -> None:
    """It comes back, takes a chunk at least, and is started once more."""
    found.start(late)
    half_way(found, late)
    found.kill(late)
    found.start(late)
    settling.wait_answers(late.address, timeout=20)


def sender_killed_half_way(found: lab.Lab, late: lab.LabNode) -> None:
    """The leader at that time continues, with its own snapshot if that is another one."""
    leader = half_way(found, late)
    found.kill(leader)
    found.start(leader)
    settling.wait_answers(leader.address, timeout=20)


def test_a_node_that_was_away_or_wiped_takes_a_snapshot_while_clients_write(tmp_path: Path) -> None:
    with running(tmp_path / "three", nodes=3, **SMALL) as found:
        led = settling.wait_writable(found.addresses, timeout=20).leader
        assert led is not None
        leader = found.node(led.name)
        late = next(each for each in found.nodes if each.name != leader.name)
        found.kill(late)
        fill(found)
        until(lambda: begins(leader) > ROWS * 3 // 4, "the log begins behind what the late one has")
        with under_load(found):
            killed_half_way(found, late)
            until(lambda: installed(late), "the log begins at it")
            sent = newest(found, "snapshot_sent")["bytes"]
            assert isinstance(sent, int)
            assert sent < ROWS * ROW_BYTES * 0.8, "it went on behind what was there"
            found.kill(late)
            found.wipe(late)
            found.start(late)
            settling.wait_answers(late.address, timeout=20)
            sender_killed_half_way(found, late)
            until(lambda: installed(late), "the wiped one has it, too")
        settling.wait_at_rest(found.addresses)
        until(lambda: len(digests(found)) == 1, "all are the same")
        assert begins(late) > 1
