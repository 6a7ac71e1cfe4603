"""`box.info` as a record: whatever a node says, all of it that can be read is there."""

from hypothesis import given
from hypothesis import strategies as st

from qsync.status import decode

WHOLE: dict[str, object] = {
    "id": 1,
    "uuid": "u-1",
    "name": "n1",
    "lsn": 7,
    "signature": 9,
    "vclock": {1: 7, 2: 2},
    "ro": False,
    "ro_reason": None,
    "ro_reasons": [],
    "status": "running",
    "uptime": 3.5,
    "version": "0.1.0",
    "upgrade": {"protocol": [1], "format": 3, "features": [], "knows": [], "waits": []}
    | {"unheard": []},
    "package": "qsync",
    "form": "compiled",
    "hostname": "h",
    "pid": 5,
    "listen": "127.0.0.1:3301",
    "cluster": {"name": "c", "tag": "production"},
    "replicaset": {"uuid": "r-1", "name": "c"},
    "replication": {
        1: {"id": 1, "uuid": "u-1", "name": "n1", "lsn": 7},
        2: {
            "id": 2,
            "uuid": None,
            "name": "n2",
            "lsn": 2,
            "upstream": {
                "status": "ready",
                "idle": None,
                "lag": 0.0,
                "peer": "a:1",
                "message": None,
            },
            "downstream": {"status": "follow", "idle": 0.1, "lag": 0.0, "vclock": {1: 6}},
        },
    },
    "replication_anon": {"count": 0},
    "election": {"state": "leader", "term": 4, "vote": 1, "leader": 1, "leader_name": "n1"},
    "synchro": {
        "quorum": 2,
        "queue": {
            "len": 1,
            "size": 90,
            "owner": 1,
            "term": 4,
            "age": 0.25,
            "busy": False,
            "confirm_lag": 0.001,
            "waiting": {
                "index": 9,
                "term": 4,
                "lsn": 7,
                "origin": 1,
                "since": 1.7e9,
                "age": 0.25,
                "quorum": 2,
                "acks": 1,
                "acked_by": ["n1"],
                "missing": [{"id": 2, "name": "n2", "acked": 8, "behind": 1, "why": "slow"}],
            },
        },
    },
    "memory": {"rss": 1 << 25},
    "gc": {"signature": 3},
    "lost": {"count": 0, "tails": []},
    "faults": [],
    "health": {"alive": True, "ready": True, "checks": {"box": {"ok": True, "why": None}}},
}


def test_everything_that_a_node_tells_is_in_the_record() -> None:
    info = decode.box_info(WHOLE)
    assert info.errors == {}
    assert info.vclock == {1: 7, 2: 2}
    assert info.cluster.tag == "production"
    assert info.replication[1].upstream is None
    down = info.replication[2].downstream
    assert down is not None
    assert (down.status, down.vclock) == ("follow", {1: 6})
    waiting = info.synchro.queue.waiting
    assert waiting is not None
    assert (waiting.acks, waiting.acked_by, waiting.missing[0].name) == (1, ("n1",), "n2")
    assert info.election.leader_name == "n1"


def test_a_part_that_failed_on_the_node_hides_no_other() -> None:
    info = decode.box_info({**WHOLE, "synchro": {"error": "KeyError: 3"}, "memory": "much"})
    assert info.errors["synchro"] == "KeyError: 3"
    assert "memory" in info.errors
    assert info.synchro.quorum == 0
    assert (info.name, info.election.term) == ("n1", 4)


def test_what_an_older_node_does_not_tell_is_said_to_be_missing() -> None:
    info = decode.box_info({"id": 3, "name": "n3"})
    assert (info.id, info.name, info.ro) == (3, "n3", True)
    assert "does not tell" in info.errors["synchro"]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(WHOLE)), anything))
def test_reading_never_fails(answer: dict[str, object]) -> None:
    info = decode.box_info(answer)
    assert set(info.errors) >= set(WHOLE) - set(answer)
