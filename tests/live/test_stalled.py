"""A cluster whose nodes all answer, but whose disks hang: it does not say that it can commit."""

import http.client
import json
import re
import threading
from pathlib import Path

import pytest

from admin.box import why
from admin.cluster import fault_points, surveys
from admin.cluster.ask import value
from admin.doctor import checks
from admin.doctor.facts import gather
from admin.lab import lab
from qsync.faults import Fault
from qsync.status import decode
from qsync.wire.replies import read_map
from qsync.wire.verbs import InfoRequest
from tests.live.real import put, running, until

pytestmark = pytest.mark.slow

TIMING = {
    "election__timeout": "1s",
    "replication__timeout": "250ms",
    "replication__synchro_timeout": "60s",
    "store__writer": "thread",
    "node__faults": "true",
    "metrics__listen": "127.0.0.1:0",
}


def verdict(found: lab.Lab) -> surveys.ClusterVerdict:
    return surveys.judge(surveys.survey(found.addresses))


def ready(node: lab.LabNode) -> tuple[int, str]:
    said = re.findall(r"metrics on (127\.0\.0\.1:\d+)", node.log.read_text())
    line = http.client.HTTPConnection(said[-1], timeout=20)
    try:
        line.request("GET", "/ready")
        answer = line.getresponse()
        return answer.status, str(json.loads(answer.read()).get("why"))
    finally:
        line.close()


def test_a_cluster_whose_disks_hang_says_that_nothing_is_confirmed_and_why(tmp_path: Path) -> None:
    with running(tmp_path / "stalled", nodes=3, **TIMING) as found:
        leader = surveys.survey(found.addresses).leader
        assert leader is not None
        others = [each for each in found.nodes if each.name != leader.name]
        for each in others:
            fault_points.arm(each.address, Fault.SLOW_FSYNC, seconds=6.0, lasts=60.0)
        writing = threading.Thread(target=put, args=(found, [1, "waits"]))
        writing.start()

        def blames_all(said: surveys.ClusterVerdict) -> bool:
            hangs = [f"{each.name} (a write of its log has not ended" for each in others]
            return all(each in said.sentence for each in hangs)

        try:
            until(lambda: not verdict(found).can_commit, "it says that it cannot commit")
            # The write of a follower begins a little later than the leader begins to wait.
            until(lambda: blames_all(verdict(found)), "it says whose disks hang")
            survey = surveys.survey(found.addresses)
            said = surveys.judge(survey)
            assert said.health is surveys.ClusterHealth.DEGRADED
            assert said.leader == leader.name
            assert "nothing has been confirmed for" in said.sentence
            assert blames_all(said)
            (moves,) = checks.run(gather(found.addresses), checks.chosen(["limbo-moves"]))
            assert [each.severity for each in moves.findings] == ["critical"]
            told = read_map(value(leader.address, InfoRequest(1, ""), timeout=10))
            answer = why.waiting(decode.box_info(told), survey)
            assert any("a write of its log has not ended" in fact for fact in answer.facts)
            code, reason = ready(found.node(leader.name))
            assert code == 503
            assert "nothing has been confirmed" in reason
        finally:
            for each in others:
                fault_points.disarm(each.address)
            writing.join()
        until(lambda: verdict(found).health is surveys.ClusterHealth.HEALTHY, "it commits again")


def test_leadership_stays_where_it_is_when_all_disks_are_equally_slow(tmp_path: Path) -> None:
    with running(tmp_path / "shared", nodes=3, **TIMING) as found:
        before = surveys.survey(found.addresses).leader
        assert before is not None
        for each in found.nodes:
            fault_points.arm(each.address, Fault.SLOW_FSYNC, seconds=1.6, lasts=60.0)
        try:
            for number in range(3):
                put(found, [number, "late, but by the same leader"])
        finally:
            for each in found.nodes:
                fault_points.disarm(each.address)
        after = surveys.survey(found.addresses).leader
        assert after is not None
        assert (after.name, after.term) == (before.name, before.term)
