"""The metrics and health URLs of real nodes, asked as a load balancer and Prometheus ask them."""

import html
import http.client
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from admin.cluster import ask, surveys
from admin.lab import lab
from admin.metrics.families import FAMILIES
from qsync.wire.verbs import PlainRequest, Verb
from tests.browser import browsing
from tests.live.real import put, running, until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.Lab]:
    """Nodes that tell on a port of the system's choice, with something to tell."""
    directory = tmp_path_factory.mktemp("metrics") / "three"
    with running(directory, nodes=3, metrics__listen="127.0.0.1:0") as found:
        put(found, [1, "one"])
        yield found


def place(node: lab.LabNode) -> str:
    """Where it listens stands in the first line that it wrote."""
    said: list[str] = re.findall(r"metrics on (127\.0\.0\.1:\d+)", node.log.read_text())
    return said[-1]


def get(node: lab.LabNode, target: str) -> tuple[int, str]:
    line = http.client.HTTPConnection(place(node), timeout=20)
    try:
        line.request("GET", target)
        answer = line.getresponse()
        return answer.status, answer.read().decode()
    finally:
        line.close()


def page(node: lab.LabNode) -> str:
    return html.unescape(get(node, "/")[1])


def samples(node: lab.LabNode) -> dict[str, float]:
    text = get(node, "/metrics")[1]
    return {s.name: s.value for f in text_string_to_metric_families(text) for s in f.samples}


def test_exactly_one_node_takes_writes_and_the_others_are_its_replicas(three: lab.Lab) -> None:
    until(lambda: {get(node, "/ready")[0] for node in three.nodes} == {200}, "all are ready")
    for one, other in (("/leader", "/replica"), ("/writable", "/replica?lag=100")):
        codes = sorted((get(node, one)[0], get(node, other)[0]) for node in three.nodes)
        assert codes == [(200, 503), (503, 200), (503, 200)]


def test_every_family_that_a_leader_can_tell_has_a_value(three: lab.Lab) -> None:
    put(three, [2, "two"])  # the leader at the first write may no longer lead
    leader = next(node for node in three.nodes if get(node, "/leader")[0] == 200)
    ask.value(leader.address, PlainRequest(1, Verb.SNAPSHOT))
    found = samples(leader)
    names = {re.sub("_(bucket|sum|count)$", "", name) for name in found}
    silent = {family.name for family in FAMILIES} - names
    assert silent == {
        "qsync_ca_seconds_left",  # of nodes that speak TLS
        "qsync_certificate_error",
        "qsync_certificate_seconds_left",
        "qsync_leader_idle_seconds",
        "qsync_peer_snapshot_chunks",
        "qsync_peer_snapshot_chunks_in_all",
        "qsync_read_only",
        "qsync_refused_connections_total",
    }
    assert found["qsync_writes_total"] >= 1
    assert found["qsync_commit_seconds_count"] >= 1
    assert found["qsync_disk_write_seconds_count"] >= 1
    assert (found["qsync_quorum"], found["qsync_quorum_margin"]) == (2, 1)
    assert found["qsync_disk_size_bytes"] > found["qsync_disk_free_bytes"] > 0
    follower = next(node for node in three.nodes if node.id != leader.id)
    assert samples(follower)["qsync_leader_idle_seconds"] < 20


def test_the_page_of_every_node_has_the_sentence_and_the_nodes_of_qsync_status(
    three: lab.Lab,
) -> None:
    for node in three.nodes:

        def told(node: lab.LabNode = node) -> bool:
            return surveys.judge(surveys.survey(three.addresses)).sentence in page(node)

        until(told, "the page has the sentence")
        said = page(node)
        assert f"seen by {node.name}" in said
        found = json.loads(get(node, "/status.json")[1])
        assert [each["name"] for each in found["nodes"]] == ["n1", "n2", "n3"]
        assert {each["status"] for each in found["nodes"]} == {"running"}
        assert "elected" in {each["event"] for each in found["events"]}


def test_a_browser_sees_the_next_leader_without_being_touched(
    three: lab.Lab, tmp_path: Path
) -> None:
    leader = next(node for node in three.nodes if get(node, "/leader")[0] == 200)
    rest = [node for node in three.nodes if node.id != leader.id]
    with browsing(tmp_path) as browser:
        browser.open(f"http://{place(rest[0])}/")
        verdict = "document.getElementById('verdict').textContent"
        browser.until(f"{verdict}.startsWith('Healthy: {leader.name} leads')")
        three.kill(leader)
        next_one = f"{verdict}.includes('{leader.name} does not answer; ')"
        browser.until(f"{next_one} && /n[123] leads term .* and commits/.test({verdict})")
        three.start(leader)
        browser.until(f"{verdict}.startsWith('Healthy: ')")
        assert browser.complaints == []


def test_the_margin_falls_when_a_node_is_gone(three: lab.Lab) -> None:
    victim = next(node for node in three.nodes if get(node, "/leader")[0] != 200)
    rest = [node for node in three.nodes if node.id != victim.id]
    three.kill(victim)
    until(lambda: any(samples(n).get("qsync_quorum_margin") == 0 for n in rest), "margin 0")
    gone = f"Degraded: {victim.name} does not answer"
    until(lambda: all(gone in page(node) for node in rest), "every page says who is gone")
    three.start(victim)
    until(lambda: any(samples(n).get("qsync_quorum_margin") == 1 for n in rest), "margin 1")
