"""Up to where the log may be forgotten, who holds it, who holds too much: decided in one place."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from election.messages import Index, Replica
from qsync.consumer import Consumer, ConsumerKind
from qsync.core import retention
from qsync.core.config import CoreConfig
from qsync.core.progress import Progress, ReplicationState
from qsync.core.replicated_log import ReplicatedLog
from qsync.core.retention import ConsumerChanges, HoldKind, LogHold, RetentionFacts
from qsync.core.trimming import start_at, trim_log
from qsync.member import Member
from qsync.record import Instance, instance_text
from tests.node.lone import CONFIG, Lone, row

ENTRIES = 60
BODY = 1000
"""Bytes of an entry, and some more."""
ME, TWO, THREE = (Member(Replica(each), Instance(each * 17)) for each in (1, 2, 3))
MEMBERS = (ME, TWO, THREE)
RULES = replace(CONFIG, instance=ME.instance, wal_retention_size=30 * BODY)


@pytest.fixture
def log() -> ReplicatedLog:
    lone = Lone()
    lone.write([10, "t", {"primary": [[1, "unsigned"]]}])
    while lone.replica.machine.replicated_log.log.last < ENTRIES:
        lone.write([2, "t", row(1, "x" * BODY)])
    found = lone.replica.machine.replicated_log
    assert found.confirmed == found.log.last == ENTRIES
    return found


def name(member: Member) -> str:
    return instance_text(member.instance)


def at(member: Member, index: int, *, let_go: bool = False) -> Consumer:
    return Consumer(name(member), ConsumerKind.REPLICA, Index(index), let_go=let_go)


def reader(index: int, *, let_go: bool = False) -> Consumer:
    return Consumer("reader", ConsumerKind.SUBSCRIBER, Index(index), "a host", let_go)


def follower(member: Member, match: int, *, replicates: bool = True) -> Progress:
    progress = Progress(member.replica)
    progress.instance, progress.match = member.instance, Index(match)
    progress.connected = True
    progress.state = ReplicationState.REPLICATE if replicates else ReplicationState.PROBE
    return progress


def placed(
    log: ReplicatedLog,
    rows: Iterable[Consumer],
    followers: Iterable[Progress] | None,
    config: CoreConfig = RULES,
) -> dict[str, tuple[int, bool]]:
    peers = None if followers is None else {each.peer: each for each in followers}
    found = retention.placed(rows, MEMBERS, log=log, config=config, followers=peers)
    names = {name(ME): "1", name(TWO): "2", name(THREE): "3"}
    return {names.get(each.name, each.name): (int(each.index), each.let_go) for each in found}


def stored(
    *snapshots: int,
    folded: int = ENTRIES,
    newest_bytes: int = 0,
    age: float = 0.0,
    uptime: float = 0.0,
) -> RetentionFacts:
    return RetentionFacts(
        folded=Index(folded),
        snapshots=tuple(Index(each) for each in snapshots),
        newest_bytes=newest_bytes,
        age=age,
        uptime=uptime,
    )


def goal(
    log: ReplicatedLog, disk: RetentionFacts, *consumers: Consumer, config: CoreConfig = RULES
) -> tuple[int, str]:
    found = retention.holds(log, disk, consumers, config)
    return int(retention.trim_goal(found, log.log.start.index)), str(found[0].kind)


# ------------------------------------------------------------------------------- where members are


def test_a_leader_knows_how_far_its_followers_are(log: ReplicatedLog) -> None:
    found = placed(log, [at(TWO, 5), at(THREE, 6)], [follower(TWO, 40), follower(THREE, 55)])
    assert found == {"1": (ENTRIES, False), "2": (40, False), "3": (55, False)}


def test_who_is_away_is_where_it_was_last_and_else_where_the_log_begins(log: ReplicatedLog) -> None:
    trim_log(log, start_at(log, Index(10)))
    followers = [follower(TWO, 0, replicates=False)]
    assert placed(log, [at(TWO, 25)], followers) == {
        "1": (ENTRIES, False),
        "2": (25, False),
        "3": (10, False),
    }


def test_another_directory_under_the_same_id_is_not_that_member(log: ReplicatedLog) -> None:
    other = follower(TWO, 50)
    other.instance = Instance(99)
    assert placed(log, [at(TWO, 25)], [other])["2"] == (25, False)


def test_a_follower_goes_by_the_rows_alone(log: ReplicatedLog) -> None:
    assert placed(log, [at(TWO, 5), reader(7)], None) == {
        "reader": (7, False),
        "1": (ENTRIES, False),
        "2": (5, False),
        "3": (0, False),
    }


def namesake(member: Member, index: int, *, let_go: bool = False) -> Consumer:
    """What a reader registered by the name of a member's directory, before that was one."""
    return Consumer(name(member), ConsumerKind.SUBSCRIBER, Index(index), let_go=let_go)


def test_a_reader_by_the_name_of_a_member_does_not_say_where_that_is(log: ReplicatedLog) -> None:
    trim_log(log, start_at(log, Index(10)))
    away = [follower(TWO, 0, replicates=False)]
    for followers in (None, away):
        assert placed(log, [namesake(TWO, ENTRIES)], followers)["2"] == (10, False)
        assert placed(log, [namesake(TWO, 20, let_go=True)], followers)["2"] == (10, False)
    assert placed(log, [namesake(TWO, 20)], [follower(TWO, 40)])["2"] == (40, False)


def test_who_was_let_go_and_is_back_is_held_again(log: ReplicatedLog) -> None:
    rows = [at(TWO, 5, let_go=True), at(THREE, 5, let_go=True)]
    found = placed(log, rows, [follower(TWO, 40), follower(THREE, 20)])
    assert found["2"] == (40, False)
    assert found["3"] == (20, True), "it still lacks more than one may hold"
    away = follower(TWO, 40)
    away.connected = False
    assert placed(log, rows, [away])["2"] == (40, True), "it was let go since, and is not back"


# ------------------------------------------------------------------------------------ who holds it


@pytest.mark.parametrize(
    ("disk", "consumers", "expected"),
    [
        (stored(), [], (0, HoldKind.SNAPSHOT)),
        (stored(30), [], (30, HoldKind.SNAPSHOT)),
        (stored(30, 40), [], (30, HoldKind.SNAPSHOT)),
        (stored(20, 30, 40), [], (30, HoldKind.SNAPSHOT)),
        (stored(30, 40, folded=25), [], (25, HoldKind.FOLD)),
        (stored(30, 40), [reader(12)], (12, ConsumerKind.SUBSCRIBER)),
        (stored(30, 40), [reader(12, let_go=True)], (30, HoldKind.SNAPSHOT)),
        (stored(30, 40), [reader(50), at(TWO, 8)], (8, ConsumerKind.REPLICA)),
    ],
)
def test_the_log_is_kept_for_whoever_needs_most_of_it(
    log: ReplicatedLog, disk: RetentionFacts, consumers: list[Consumer], expected: tuple[int, str]
) -> None:
    assert goal(log, disk, *consumers) == expected


def test_the_log_never_goes_beyond_what_is_confirmed(log: ReplicatedLog) -> None:
    """membership.md M6 g."""
    log.limbo.confirmed = Index(50)
    assert goal(log, stored(55, 58)) == (50, HoldKind.CONFIRMED)


def test_a_snapshot_from_before_the_log_begins_is_of_no_use(log: ReplicatedLog) -> None:
    trim_log(log, start_at(log, Index(35)))
    assert goal(log, stored(30)) == (35, HoldKind.SNAPSHOT)
    assert goal(log, stored(30, 40)) == (40, HoldKind.SNAPSHOT)


def test_nothing_goes_for_a_while_after_a_start_if_that_is_wanted(log: ReplicatedLog) -> None:
    config = replace(RULES, wal_cleanup_delay=10.0)
    assert goal(log, stored(30, uptime=9.0), config=config) == (0, HoldKind.START)
    assert goal(log, stored(30, uptime=10.0), config=config) == (30, HoldKind.SNAPSHOT)


def test_the_log_behind_a_snapshot_that_is_on_its_way_stays(log: ReplicatedLog) -> None:
    sent = LogHold(name="n2", kind=HoldKind.TRANSFER, index=Index(22), why="it is sent")
    assert goal(log, replace(stored(30, 40), transfers=(sent,))) == (22, HoldKind.TRANSFER)


# -------------------------------------------------------------------------------- what is written


def changes(
    log: ReplicatedLog,
    rows: list[Consumer],
    followers: list[Progress],
    disk: RetentionFacts,
    *,
    settled: bool = True,
    config: CoreConfig = RULES,
) -> ConsumerChanges:
    peers = {each.peer: each for each in followers}
    now = retention.placed(rows, MEMBERS, log=log, config=config, followers=peers)
    found = retention.holds(log, disk, now, config)
    return retention.consumer_changes(
        rows, now, log=log.log, found=found, config=config, settled=settled
    )


ALL_THERE = [follower(TWO, 55), follower(THREE, 50)]


def test_the_places_of_members_are_written_when_that_frees_enough(log: ReplicatedLog) -> None:
    frees_enough = replace(RULES, checkpoint_wal_threshold=8 * 25 * BODY)
    found = changes(log, [], ALL_THERE, stored(40), config=frees_enough)
    assert found.moved == [at(ME, ENTRIES), at(TWO, 55), at(THREE, 50)]
    assert not changes(log, [], ALL_THERE, stored(20), config=frees_enough)
    rows = [at(ME, ENTRIES), at(TWO, 55), at(THREE, 50)]
    assert not changes(log, rows, ALL_THERE, stored(40), config=frees_enough)
    later = replace(frees_enough, checkpoint_wal_threshold=8 * 100 * BODY)
    assert not changes(log, [], ALL_THERE, stored(40), config=later)


def test_who_holds_too_much_is_let_go(log: ReplicatedLog) -> None:
    """The limit is 30 entries."""
    rows = [at(TWO, 20), reader(25)]
    found = changes(log, rows, [follower(THREE, 58)], stored(50))
    assert [each.name for each in found.let_go] == ["reader", name(TWO)]
    gone = [replace(each, let_go=True) for each in rows]
    assert not changes(log, gone, [follower(THREE, 58)], stored()).let_go
    assert not changes(log, [at(TWO, 40), reader(45)], ALL_THERE, stored()).let_go


def test_a_leader_that_has_just_begun_lets_no_member_go(log: ReplicatedLog) -> None:
    """Nobody has had the time to say where it is; a reader's place is in the log."""
    found = changes(log, [at(TWO, 20), reader(20)], [], stored(50), settled=False)
    assert [each.name for each in found.let_go] == ["reader"]


def test_who_is_behind_what_is_left_of_the_log_is_let_go(log: ReplicatedLog) -> None:
    trim_log(log, start_at(log, Index(40)))
    assert [each.name for each in changes(log, [reader(39)], ALL_THERE, stored()).let_go] == [
        "reader"
    ]


def test_who_is_back_is_written_down_at_once(log: ReplicatedLog) -> None:
    found = changes(log, [at(TWO, 5, let_go=True)], ALL_THERE, stored())
    assert found.moved == [at(TWO, 55)]


def test_a_reader_by_the_name_of_a_member_goes_before_that_has_a_row(log: ReplicatedLog) -> None:
    frees_enough = replace(RULES, checkpoint_wal_threshold=8 * 25 * BODY)
    for rows in ([namesake(TWO, 5)], [namesake(TWO, ENTRIES)], [namesake(TWO, 5, let_go=True)]):
        found = changes(log, rows, ALL_THERE, stored(40), config=frees_enough)
        assert (found.dropped, found.let_go) == ([name(TWO)], [])
        assert found.moved == [at(ME, ENTRIES), at(THREE, 50)]
        away = changes(log, rows, [follower(THREE, 58)], stored(50))
        assert (away.dropped, away.let_go) == ([name(TWO)], [])


def test_the_row_of_who_is_no_member_goes(log: ReplicatedLog) -> None:
    gone = Member(Replica(9), Instance(999))
    found = changes(log, [at(gone, 5), reader(50)], ALL_THERE, stored())
    assert (found.dropped, found.let_go) == ([name(gone)], [])


# ------------------------------------------------------------------------------ when one is written


def test_a_snapshot_is_due_by_growth_by_time_and_where_nothing_else_has_the_rows(
    log: ReplicatedLog,
) -> None:
    config = replace(RULES, checkpoint_interval=60.0, checkpoint_wal_threshold=20 * BODY)

    def due(disk: RetentionFacts) -> str:
        return retention.snapshot_due(log, disk, config) or ""

    assert "grew" in due(stored())
    assert "grew" in due(stored(30))
    assert due(stored(50)) == ""
    assert due(stored(30, newest_bytes=40 * BODY)) == "", "no more than half is snapshots"
    assert "old" in due(stored(50, age=60.0))
    assert due(stored(ENTRIES, age=1e9)) == "", "nothing came since"
    trim_log(log, start_at(log, Index(40)))
    assert "the log begins behind 40" in due(stored(30))
    assert due(stored(45)) == ""


def test_without_an_interval_only_growth_counts(log: ReplicatedLog) -> None:
    config = replace(RULES, checkpoint_interval=0.0)
    assert retention.snapshot_due(log, stored(10, age=1e9), config) is None
