"""The status screen at widths people have, without colour."""

from dataclasses import replace

import pytest
from rich.console import Console

from admin.cluster.short import seconds
from admin.cluster.surveys import ClusterHealth, ClusterSurvey, judge
from admin.cluster.unreachable import UnreachableNode, closed_to_us
from cli.render.status import status
from qsync.status import decode
from qsync.status.record import NodeStatus
from tests.answers import placed, synchro, waiting


def sample(id: int, *, leads: bool = False, **more: object) -> NodeStatus:
    peers = [
        {"id": other, "name": f"n{other}", "status": "up", "idle": 0.02, "lag": 0, "acked": 7}
        for other in (1, 2, 3)
        if other != id
    ]
    answer: dict[str, object] = {
        "id": id,
        "name": f"n{id}",
        "uuid": "u",
        "address": f"127.0.0.1:330{id}",
        "role": "leader" if leads else "follower",
        "term": 3,
        "leader": 1,
        "leader_name": "n1",
        "ro": not leads,
        "ro_reason": None if leads else "election",
        "status": "running",
        "vclock": {1: 5, 2: 2},
        "last": 7,
        "written": 7,
        "confirmed": 7,
        "synchro": synchro(quorum=2, len=0, waiting=None),
        "nodes": [[n, f"n{n}", f"127.0.0.1:330{n}"] for n in (1, 2, 3)],
        "peers": peers if leads else [],
        "disk": {"fsync_us": 240},
    }
    return decode.status(placed(answer | more))


HEALTHY = ClusterSurvey(
    samples=(sample(1, leads=True), sample(2), sample(3, written=5, confirmed=5))
)
PEERS = [
    {"id": 2, "name": "n2", "status": "up", "idle": 0.02, "lag": 0, "acked": 7},
    {"id": 3, "name": "n3", "status": "down", "message": "ECONNREFUSED"},
]
DEGRADED = ClusterSurvey(
    samples=(sample(1, leads=True, peers=PEERS), sample(2)),
    silent=(
        UnreachableNode(id=3, name="n3", address="127.0.0.1:3303", why="x: Connection refused"),
    ),
)
ALONE = ClusterSurvey(
    samples=(sample(2, leader=None, leader_name=None),),
    silent=(
        UnreachableNode(id=1, name="n1", address="127.0.0.1:3301", why="x: no answer in time"),
        UnreachableNode(id=3, name="n3", address="127.0.0.1:3303", why="x: Connection refused"),
    ),
)


def screen(found: ClusterSurvey, width: int) -> str:
    console = Console(width=width, no_color=True, record=True, file=None, quiet=True)
    with console.capture() as said:
        console.quiet = False
        console.print(status(found, judge(found), width=width))
    lines = [line.rstrip() for line in said.get().splitlines()]
    return "\n".join(line for line in lines if line)


WIDE = """\
    node  role      rw  term  confirmed  lag  limbo   idle  peer  vclock     fsync  address
 RULE
 *  n1    leader    rw     3          7    -      0      -  -     {1:5 2:2}  240us  A:3301
    n2    follower  ro     3          7    0      0   20ms  up    {1:5 2:2}  240us  A:3302
    n3    follower  ro     3          5    2      0   20ms  up    {1:5 2:2}  240us  A:3303
Healthy: n1 leads term 3 and commits with 3 of 3 voters (quorum 2); 1 more can fail."""


def test_a_healthy_cluster_at_120_columns() -> None:
    said = screen(HEALTHY, 120).replace("127.0.0.1", "A").replace("─" * 97, "RULE")
    assert said == WIDE


def test_a_node_that_does_not_let_us_ask_is_not_down() -> None:
    """Whoever comes by one node's own socket sees the others through that one."""
    up = [each | {"status": "up"} for each in PEERS]
    why = UnreachableNode(id=3, name="n3", address="127.0.0.1:3303", why="log in", denied=True)
    found = ClusterSurvey(samples=(sample(1, leads=True, peers=up), sample(2)), silent=(why,))
    assert judge(found).sentence.startswith("Healthy: n1 leads term 3 and commits with 3 of 3")
    assert "does not answer" in judge(replace(found, silent=(replace(why, denied=False),))).sentence


def test_a_follower_whose_leader_does_not_let_us_ask_is_believed_that_it_follows() -> None:
    silent = tuple(
        UnreachableNode(
            id=id, name=f"n{id}", address=f"127.0.0.1:330{id}", why="log in", denied=yes
        )
        for id, yes in ((1, True), (3, True))
    )
    verdict = judge(ClusterSurvey(samples=(sample(2),), silent=silent))
    assert verdict.health is ClusterHealth.DEGRADED
    assert "n2 follows n1 in term 3; whether it commits is not to be seen" in verdict.sentence
    gone = tuple(replace(each, denied=False) for each in silent)
    assert judge(ClusterSurvey(samples=(sample(2),), silent=gone)).health is ClusterHealth.DOWN


def test_where_nothing_opens_tls_the_others_are_not_asked_in_vain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable in ("QSYNC_CA", "QSYNC_CERTIFICATE", "QSYNC_USER"):
        monkeypatch.delenv(variable, raising=False)
    plain, secured = sample(1), sample(1, tls={"on": True})
    assert closed_to_us([plain]) is None
    assert "QSYNC_CA" in str(closed_to_us([secured]))
    monkeypatch.setenv("QSYNC_CA", "ca.crt")
    assert closed_to_us([secured]) is None
    users = sample(1, tls={"on": True}, upgrade={"features": ["users"]})
    assert "QSYNC_USER" in str(closed_to_us([users]))
    monkeypatch.setenv("QSYNC_CERTIFICATE", "ann.crt")
    assert closed_to_us([users]) is None


def test_at_80_columns_the_least_telling_columns_go() -> None:
    said = screen(DEGRADED, 80)
    assert max(map(len, said.splitlines())) <= 80
    assert "vclock" not in said
    assert " x  n3    silent" in said
    assert "n1 sees n3 as down: ECONNREFUSED" in said
    assert "Degraded: n3 does not answer" in said
    assert "losing any one of them" in said


def test_below_60_columns_a_node_is_one_line() -> None:
    said = screen(HEALTHY, 50).splitlines()
    assert said[0] == "* n1 leader rw t3 c7"
    assert said[1] == "  n2 follower ro t3 c7"


def test_a_minority_says_whom_to_bring_back() -> None:
    verdict = judge(ALONE)
    assert verdict.health is ClusterHealth.DOWN
    assert not verdict.can_commit
    assert verdict.margin == -1
    assert "no majority: 1 of 3 voters answer; bring back 1 of n1, n3" in verdict.sentence


def test_a_minority_does_not_call_members_gone_that_it_may_not_ask() -> None:
    """They may have a leader: to bring them back would be the wrong advice."""
    one, other = ALONE.silent
    verdict = judge(replace(ALONE, silent=(replace(one, denied=True), other)))
    assert verdict.health is ClusterHealth.DEGRADED
    assert not verdict.can_commit
    assert "1 of 3 voters; n1 may have one, and this is not to be seen" in verdict.sentence
    nodes = [[n, f"n{n}", f"127.0.0.1:330{n}"] for n in range(1, 6)]
    of_five = sample(2, leader=None, leader_name=None, nodes=nodes)
    few = replace(ALONE, samples=(of_five,), silent=(replace(one, denied=True), other))
    assert judge(few).health is ClusterHealth.DOWN, "two of five cannot elect a leader either"


def test_a_leader_that_cannot_write_is_down() -> None:
    stuck = sample(1, leads=True, ro=True, ro_reason="synchro")
    verdict = judge(ClusterSurvey(samples=(stuck, sample(2), sample(3))))
    assert verdict.health is ClusterHealth.DOWN
    assert "n1 leads term 3 but is read-only: synchro" in verdict.sentence


def test_a_voter_that_catches_up_counts_in_no_quorum() -> None:
    peers = [PEERS[0], PEERS[0] | {"id": 3, "name": "n3", "recruit": True}]
    leader = sample(1, leads=True, peers=peers)
    verdict = judge(ClusterSurvey(samples=(leader, sample(2), sample(3))))
    assert (verdict.health, verdict.margin, leader.margin) == (ClusterHealth.DEGRADED, 0, 0)
    assert "n3 is catching up" in verdict.sentence


def test_a_quorum_below_a_majority_is_always_said() -> None:
    unsafe = sample(1, leads=True, synchro={"quorum": 1, "unsafe": True})
    verdict = judge(ClusterSurvey(samples=(unsafe, sample(2), sample(3))))
    assert "below a majority, so confirmed writes can be lost" in verdict.sentence


def test_the_oldest_pending_transaction_names_who_is_missing() -> None:
    pending = synchro(quorum=2, len=4, waiting=waiting(8, 2, 3, acked=(1,)))
    found = ClusterSurvey(samples=(sample(1, leads=True, synchro=pending), sample(2), sample(3)))
    assert "the oldest pending transaction, index 8, waits for n2, n3" in screen(found, 80)


def stalled(seconds: float) -> NodeStatus:
    """A leader in touch with all, whose oldest pending transaction is old."""
    oldest = waiting(8, 2, 3, acked=(1,))
    pending = synchro(quorum=2, len=3, age=14.0, stalled=seconds, timeout=60.0, waiting=oldest)
    return sample(1, leads=True, synchro=pending, election={"timeout": 5.0})


def test_a_leader_in_touch_with_all_that_confirms_nothing_cannot_commit() -> None:
    hangs = sample(2, disk={"busy_s": 12.5})
    verdict = judge(ClusterSurvey(samples=(stalled(12.0), hangs, sample(3))))
    assert (verdict.health, verdict.can_commit, verdict.margin) == (
        ClusterHealth.DEGRADED,
        False,
        1,
    )
    assert verdict.sentence == (
        "Degraded: nothing has been confirmed for 12 s: waits for n2 (a write of its log has not "
        "ended for 12 s), n3; n1 leads term 3 with 3 of 3 voters (quorum 2)."
    )


def test_a_queue_that_moves_is_no_stall_however_old_its_oldest_is() -> None:
    verdict = judge(ClusterSurvey(samples=(stalled(0.2), sample(2), sample(3))))
    assert (verdict.health, verdict.can_commit) == (ClusterHealth.HEALTHY, True)


def test_durations_are_short() -> None:
    assert [seconds(each) for each in (0.00024, 0.012, 2.44, 63.0, 600.0, 7200.0)] == [
        "240us",
        "12ms",
        "2.4s",
        "63.0s",
        "10m",
        "2h",
    ]


def test_members_without_their_data_make_no_majority_and_it_says_so() -> None:
    def lost(id: int, *, recruit: bool) -> NodeStatus:
        return sample(id, leader=None, leader_name=None, recruit=recruit, last=0 if recruit else 7)

    found = ClusterSurvey(
        samples=(lost(1, recruit=True), lost(2, recruit=True), lost(3, recruit=False))
    )
    verdict = judge(found)
    assert verdict.health is ClusterHealth.DOWN
    assert "3 of 3 voters answer, but the data of n1, n2 is gone" in verdict.sentence
    assert "waiting for an election" not in verdict.sentence
    one = ClusterSurvey(
        samples=(lost(1, recruit=True), lost(2, recruit=False), lost(3, recruit=False))
    )
    assert "waiting for an election" in judge(one).sentence
