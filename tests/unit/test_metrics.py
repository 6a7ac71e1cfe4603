"""The Prometheus text: what a strict reader of the format makes of it."""

import pytest
from msgspec import structs
from prometheus_client.parser import text_string_to_metric_families

from admin.metrics.families import FAMILIES, MetricType
from admin.metrics.text import expose
from qsync.histogram import Histogram
from qsync.status import decode
from qsync.status.members import IN_TOUCH, DownstreamStatus, MemberStatus, PeerStatus
from qsync.status.record import NodeStatus
from tests.answers import placed, spread, synchro, waiting

TIMES = Histogram()
for seconds in (0.0002, 0.0002, 0.003, 0.5):
    TIMES.add(seconds)
STATUS: dict[str, object] = {
    "id": 1,
    "name": 'n"1\\',
    "cluster": {"name": "de\nmo"},
    "role": "leader",
    "leader": 1,
    "ro": False,
    "status": "running",
    "term": 7,
    "last": 12,
    "time": 1700000000.25,
    "synchro": synchro(quorum=2, len=4, age=1.5, stalled=1.25, waiting=waiting(9, 2, 3)),
    "nodes": [[1, "n1", "a:1"], [2, "n2", "a:2"], [3, "n3", "a:3"]],
    "peers": [
        {"id": 2, "name": "n2", "status": "up", "lag": 3, "idle": 0.25},
        {"id": 3, "name": "n3", "status": "down", "lag": 9, "idle": None},
    ],
    "counters": {"writes": 10, "unknown": 2, "lost_async": 1},
    "refused": {"protocol": 5},
    "latency": spread(TIMES),
    "files": [12, 1024],
}
LEADER = decode.status(placed(STATUS))
FOLLOWER = decode.status(
    placed(STATUS | {"name": "n2", "role": "follower", "ro": True, "ro_reason": "election"})
)


def read(*nodes: NodeStatus) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Every sample by its name; the labels that all have are left out."""
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(expose(nodes)):
        for sample in family.samples:
            labels = {k: v for k, v in sample.labels.items() if k not in {"cluster", "node"}}
            found.setdefault(sample.name, []).append((labels, sample.value))
    return found


def test_every_family_is_announced_once_and_with_its_kind() -> None:
    found = list(text_string_to_metric_families(expose([LEADER])))
    # The reader strips `_total` from the names of counters, as the newer format has it.
    assert [each.name for each in found] == [each.name.removesuffix("_total") for each in FAMILIES]
    assert [each.type for each in found] == [each.kind.value for each in FAMILIES]
    assert all(each.documentation for each in found)
    assert all(
        family.name.endswith("_total") == (family.kind is MetricType.COUNTER) for family in FAMILIES
    )


def test_values_are_those_of_the_status() -> None:
    found = read(LEADER)
    assert found["qsync_term"] == [({}, 7)]
    assert found["qsync_clock_seconds"] == [({}, 1700000000.25)]
    assert found["qsync_leader"] == [({}, 1)]
    assert found["qsync_quorum_margin"] == [({}, 0)]
    assert found["qsync_limbo_age_seconds"] == [({}, 1.5)]
    assert found["qsync_commit_stalled_seconds"] == [({}, 1.25)]
    assert found["qsync_commits"] == [({}, 1)]
    assert found["qsync_limbo_missing_acks"] == [({}, 2)]
    assert found["qsync_peer_up"] == [({"peer": "n2"}, 1), ({"peer": "n3"}, 0)]
    assert found["qsync_peer_idle_seconds"] == [({"peer": "n2"}, 0.25)]
    assert found["qsync_unknown_outcomes_total"] == [({}, 2)]
    assert found["qsync_lost_async_writes_total"] == [({}, 1)]
    assert found["qsync_refused_connections_total"] == [({"reason": "protocol"}, 5)]
    assert found["qsync_open_files_max"] == [({}, 1024)]


@pytest.mark.parametrize(
    ("lag", "margin"),
    [
        pytest.param(None, 1, id="nobody knows"),
        pytest.param(4.0, 1, id="on its way"),
        pytest.param(6.0, 0, id="its disk takes nothing"),
    ],
)
def test_a_voter_in_touch_that_acks_nothing_is_no_margin(lag: float | None, margin: int) -> None:
    peers = tuple(PeerStatus(id=each, status=IN_TOUCH) for each in (2, 3))
    last = MemberStatus(id=3, uuid=None, name="n3", lsn=0, downstream=DownstreamStatus(lag=lag))
    leader = structs.replace(LEADER, peers=peers, replication={3: last})
    assert leader.margin == margin
    assert leader.commits


def test_what_a_node_does_not_know_it_does_not_say() -> None:
    found = read(FOLLOWER)
    assert "qsync_quorum_margin" not in found
    assert "qsync_commit_stalled_seconds" not in found
    assert found["qsync_commits"] == [({}, 0)]
    assert "qsync_limbo_missing_acks" not in found
    assert found["qsync_read_only"] == [({"reason": "election"}, 1)]
    assert "qsync_read_only" not in read(LEADER)
    assert "qsync_disk_free_bytes" not in found


def test_a_histogram_is_cumulative_and_sums_up() -> None:
    found = read(LEADER)
    buckets = [
        (float(labels["le"]), value) for labels, value in found["qsync_commit_seconds_bucket"]
    ]
    assert buckets == sorted(buckets)
    values = [value for _, value in buckets]
    assert values == sorted(values)
    assert dict(buckets)[0.001] == 2
    assert dict(buckets)[1.0] == values[-1] == 4
    assert found["qsync_commit_seconds_count"] == [({}, 4)]
    assert abs(found["qsync_commit_seconds_sum"][0][1] - 0.5034) < 1e-9


def test_several_nodes_share_a_family_and_names_are_escaped() -> None:
    families = {
        each.name: each for each in text_string_to_metric_families(expose([LEADER, FOLLOWER]))
    }
    labels = [sample.labels for sample in families["qsync_term"].samples]
    assert labels == [
        {"cluster": "de\nmo", "node": 'n"1\\'},
        {"cluster": "de\nmo", "node": "n2"},
    ]
