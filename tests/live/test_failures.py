"""Real nodes killed, paused, cut from their quorum under writing clients: promises hold."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import qsync
from admin.cluster import ask, settling, surveys
from admin.lab import lab
from qsync.errors import QsyncError
from qsync.status import decode
from qsync.status.record import NodeStatus
from qsync.wire.verbs import DigestRequest
from tests.live.real import Writer, put, running, until

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("QSYNC_TEST_KILLS", "3"))
WRITERS = int(os.environ.get("QSYNC_TEST_WRITERS", "4"))


@pytest.fixture
def three(tmp_path: Path) -> Iterator[lab.Lab]:
    with running(tmp_path / "three", nodes=3) as found:
        yield found


def leader_of(found: lab.Lab) -> lab.LabNode:
    leader = settling.wait_writable(found.addresses, timeout=30).leader
    assert leader is not None
    return found.node(leader.name)


def sample(node: lab.LabNode) -> NodeStatus:
    return decode.status(ask.status(node.address, timeout=5))


def test_no_acknowledged_write_is_lost_and_none_is_applied_twice(three: lab.Lab) -> None:
    stop = threading.Event()
    writers = [Writer(three, number, stop) for number in range(1, WRITERS + 1)]
    for writer in writers:
        writer.start()
    gaps: list[float] = []
    try:
        for _ in range(KILLS):
            until(lambda: all(len(w.acked) > 20 for w in writers), "everybody writes")
            victim = leader_of(three)
            killed = time.monotonic()
            three.kill(victim)
            until(partial(wrote_after, writers, killed), "a new leader")
            gaps.append(min(t for w in writers for t in w.times if t > killed) - killed)
            three.start(victim)
            until(partial(caught_up, three, victim), "the killed node catches up")
    finally:
        stop.set()
        for writer in writers:
            writer.join(60)
    assert not [w.error for w in writers if w.error]
    # An insert that was applied twice would have failed as a duplicate: the error is checked above.
    with qsync.connect(three.addresses, timeout=20) as db:
        present = {row[0] for row in db.space("things").select(limit=1_000_000)}
    for writer in writers:
        assert not writer.unknown
        lost = [v for v in writer.acked if writer.number * 1_000_000 + v not in present]
        assert not lost
    assert sorted(gaps)[len(gaps) // 2] < 30  # docs/performance.md has the figures


def wrote_after(writers: list[Writer], moment: float) -> bool:
    return any(writer.times and writer.times[-1] > moment for writer in writers)


def caught_up(found: lab.Lab, node: lab.LabNode) -> bool:
    try:
        mine = sample(node)
        return (
            mine.status == "running" and mine.confirmed >= sample(leader_of(found)).confirmed - 200
        )
    except QsyncError:
        return False


def test_a_paused_leader_serves_nothing_stale_when_it_wakes(three: lab.Lab) -> None:
    put(three, [1, "old"])
    old = leader_of(three)
    three.pause(old)
    others = [node.address for node in three.nodes if node is not old]
    until(lambda: led(others), "another leader")
    with qsync.connect(others, timeout=20) as db:
        term = db.space("things").replace([1, "new"]).term
    three.resume(old)
    with qsync.connect([old.address], timeout=20) as db:
        assert db.space("things").get(1, consistency="linearizable") == [1, "new"]
    until(lambda: sample(old).term >= term, "the former leader hears of the new term")
    now = sample(old)
    assert now.role != "leader" or now.term > term, "it leads no term but one of its own"


def led(addresses: list[str]) -> bool:
    try:
        return surveys.judge(surveys.survey(addresses)).can_commit
    except QsyncError:
        return False


def test_without_a_quorum_no_write_is_ok_and_everything_returns_by_itself(tmp_path: Path) -> None:
    with running(tmp_path / "lone", nodes=3, replication__synchro_timeout="1s") as found:
        put(found, [1, "kept"])
        leader = leader_of(found)
        others = [node for node in found.nodes if node is not leader]
        for node in others:
            found.send(node, signal.SIGSTOP)
        begun = time.monotonic()
        with qsync.connect([leader.address], timeout=3) as db:
            with pytest.raises(QsyncError) as caught:
                db.space("things").replace([2, "nobody"])
            assert caught.value.outcome != "committed"
            assert time.monotonic() - begun < 10
            assert db.space("things").get(1, consistency="local") == [1, "kept"]
        until(lambda: sample(leader).ro, "the leader is fenced")
        assert sample(leader).ro_reason in {"fenced", "election"}
        for node in others:
            found.send(node, signal.SIGCONT)
        put(found, [3, "again"])


def test_a_tail_that_was_cut_is_archived_and_the_replicas_end_up_identical(tmp_path: Path) -> None:
    with running(tmp_path / "cut", nodes=3) as found:
        put(found, [1, "kept"])
        leader = leader_of(found)
        others = [node for node in found.nodes if node is not leader]
        for node in others:
            found.send(node, signal.SIGSTOP)
        with qsync.connect([leader.address], timeout=0.5) as db:
            for number in range(5):
                with pytest.raises(QsyncError):
                    db.space("things").replace([100 + number, "unconfirmed"], timeout=0.05)
        found.kill(leader)
        for node in others:
            found.send(node, signal.SIGCONT)
        # What the stopped nodes had not read of the old leader is lost with its connections or is
        # in their log by now; either way the cluster decides and the client learns.
        put(found, [2, "after"])
        found.start(leader)
        until(lambda: caught_up(found, leader), "the old leader follows")
        until(lambda: identical(found), "equal digests at an equal index")


def identical(found: lab.Lab) -> bool:
    answers = [ask.value(node.address, DigestRequest(1)) for node in found.nodes]
    return all(answer[0] == answers[0][0] and answer[2] == answers[0][2] for answer in answers)
