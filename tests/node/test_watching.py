"""Change feeds and broadcast keys of a node, on a replica alone with its log."""

import socket
from collections.abc import Iterator

import pytest

from election.messages import Index, Term
from qsync.data.operation_kinds import Op
from qsync.errors import (
    AccessDenied,
    Compacted,
    LostWrite,
    NoSuchSpace,
    NotLeader,
    Overloaded,
    Rebuilding,
    WrongKey,
)
from qsync.node import watching
from qsync.node.connection import ClosedBy, Connection
from qsync.node.watching import Watching
from qsync.rights import LOCAL_ADMIN
from qsync.wire.verbs import ChangesRequest, WatchRequest
from tests.node.lone import Lone, row


@pytest.fixture
def lone() -> Lone:
    found = Lone()
    found.write([10, "things", {"primary": [[1, "unsigned"]], "is_sync": True}])
    found.write([10, "others", {"primary": [[1, "unsigned"], [2, "string"]]}])
    return found


@pytest.fixture
def reader() -> Iterator[Connection]:
    here, there = socket.socketpair()
    with here, there:
        yield Connection(here, frame_bytes_max=1 << 20, opened_at=0.0)


@pytest.fixture
def room(lone: Lone) -> Watching:
    values = {
        "box.status": lambda: {"confirmed": int(lone.replica.machine.replicated_log.confirmed)}
    }
    return Watching(lone.replica, values, send=lone.send, now=lambda: lone.now)


def changes(
    after: int | None, space: str | int | None = None, *prefix: object, wait: float = 1.0
) -> ChangesRequest:
    return ChangesRequest(7, after, space, list(prefix), wait)


def effects(answer: object) -> list[object]:
    """The effects of each transaction of an answer."""
    assert isinstance(answer, list)
    return [each[5] for each in answer[0]]


def indexes(answer: object) -> list[int]:
    assert isinstance(answer, list)
    return [each[0] for each in answer[0]]


def test_a_feed_has_every_confirmed_transaction_once_in_order_and_whole(
    lone: Lone, room: Watching, reader: Connection
) -> None:
    places = [
        lone.write([2, "things", row(1, "a")], [2, "others", row(1, "x")]),
        lone.write([5, "things", 0, [1]]),
        lone.write([2, "others", row(2, "y")]),
    ]
    room.changes(reader, changes(places[0] - 1, "things"))
    (answer,) = lone.answers()
    assert isinstance(answer, list)
    assert indexes(answer) == places[:2]
    assert effects(answer) == [
        [["put", "things", [1], row(1, "a")]],
        [["delete", "things", [1], None]],
    ]
    assert answer[1] == lone.replica.machine.replicated_log.confirmed
    room.changes(reader, changes(places[0] - 1))
    (answer,) = lone.answers()
    assert [len(each) for each in effects(answer) if isinstance(each, list)] == [2, 1, 1]


def test_a_feed_after_a_write_that_was_cut_says_so_and_skips_nothing(
    lone: Lone, room: Watching, reader: Connection
) -> None:
    place = lone.write([2, "things", row(1, "a")])
    other = changes(place)._replace(term=Term(99))
    with pytest.raises(LostWrite):
        room.changes(reader, other)
    term = lone.replica.machine.replicated_log.log.term_at(Index(place))
    room.changes(reader, changes(place, wait=0.0)._replace(term=term))
    (answer,) = lone.answers()
    assert indexes(answer) == []


def test_a_feed_after_a_write_that_is_not_confirmed_yet_looks_when_it_is(
    lone: Lone, room: Watching, reader: Connection
) -> None:
    lone.write([2, "things", row(1, "a")])
    later = int(lone.replica.machine.replicated_log.confirmed) + 1
    room.changes(reader, changes(later)._replace(term=Term(99)))
    assert lone.answers() == []
    lone.write([2, "things", row(2, "b")])
    room.turn()
    (answer,) = lone.answers()
    assert isinstance(answer, LostWrite)


def test_a_place_behind_the_end_of_the_log_is_nowhere_if_the_leader_does_not_have_it(
    lone: Lone, room: Watching, reader: Connection
) -> None:
    """As one of another cluster: it would be waited for until this log has something else there."""
    lone.replica.clock(0.1)
    last = int(lone.replica.machine.replicated_log.log.last)
    with pytest.raises(LostWrite, match=f"the log ends at {last}, before the place 9000") as raised:
        room.changes(reader, changes(9000))
    assert raised.value.details == {"index": 9000, "last": last}
    assert "of another cluster" in raised.value.hint
    room.changes(reader, changes(last))
    assert lone.answers() == []


def test_who_waits_behind_the_end_of_a_log_is_sent_on_when_its_time_is_over(
    lone: Lone, room: Watching, reader: Connection
) -> None:
    """A follower does not know whether others have that place."""
    last = int(lone.replica.machine.replicated_log.log.last)
    lone.replica.machine.state.leader = None
    room.changes(reader, changes(last + 1))
    assert lone.answers() == []
    lone.now += 1.1
    room.tick()
    (answer,) = lone.answers()
    assert isinstance(answer, NotLeader)
    assert f"the log ends at {last}, before the place {last + 1}" in answer.message


def test_a_receipt_of_a_term_that_is_over_is_nowhere_behind_an_entry_of_a_later_one(
    lone: Lone, room: Watching, reader: Connection
) -> None:
    log = lone.replica.machine.replicated_log.log
    with pytest.raises(LostWrite, match="before the place 9000 that was asked for"):
        room.changes(reader, changes(9000)._replace(term=Term(log.position.term - 1 or 0)))


def test_what_is_pending_is_not_told_before_it_is_confirmed(
    lone: Lone, room: Watching, reader: Connection
) -> None:
    room.changes(reader, changes(None))
    (answer,) = lone.answers()
    assert isinstance(answer, list)
    done = lone.submit([2, "things", row(1)])
    room.changes(reader, changes(answer[1], "things"))
    room.turn()
    assert lone.answers() == []
    assert room.busy
    lone.settle()
    room.turn()
    (answer,) = lone.answers()
    assert indexes(answer) == [done.index]
    assert not room.busy


def test_a_feed_of_a_prefix_leaves_other_keys_out(
    lone: Lone, room: Watching, reader: Connection
) -> None:
    lone.write([2, "others", row(1, "x")])
    place = lone.write([2, "others", row(2, "x")], [2, "others", row(2, "y")])
    room.changes(reader, changes(0, "others", 2))
    (answer,) = lone.answers()
    assert indexes(answer) == [place]
    room.changes(reader, changes(0, "others", 2, "y"))
    assert effects(lone.answers()[0]) == [[["put", "others", [2, "y"], row(2, "y")]]]


def test_a_truncated_and_a_dropped_space_are_said_to_be(
    lone: Lone, room: Watching, reader: Connection
) -> None:
    lone.write([6, "things"])
    number = lone.replica.state.spaces()["things"].id
    lone.write([12, "things"])
    room.changes(reader, changes(0, number))
    assert effects(lone.answers()[0]) == [
        [["truncate", number, [], None]],
        [["drop", number, [], None]],
    ]


def test_a_place_that_the_log_has_let_go_of_is_answered_with_compacted(
    lone: Lone, room: Watching, reader: Connection
) -> None:
    lone.write([2, "things", row(1)])
    last = lone.write([2, "things", row(2)])
    lone.forget(below=last)
    with pytest.raises(Compacted) as caught:
        room.changes(reader, changes(last - 2, "things"))
    assert caught.value.details["first"] == last
    room.changes(reader, changes(last - 1, "things"))
    assert indexes(lone.answers()[0]) == [last]


def test_one_question_reads_a_bounded_part_of_the_log_and_says_how_far(
    lone: Lone, room: Watching, reader: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qsync.node.feed.SCAN_ENTRIES_MAX", 3)
    places = [lone.write([2, "things", row(at)]) for at in range(10)]
    found: list[int] = []
    upto = 0
    while upto < lone.replica.machine.replicated_log.confirmed:
        room.changes(reader, changes(upto, "things", wait=0.0))
        (answer,) = lone.answers()
        assert isinstance(answer, list)
        assert len(answer[0]) <= 3
        assert answer[1] > upto
        found += indexes(answer)
        upto = answer[1]
    assert found == places


def test_a_reader_that_waits_is_not_kept_waiting_by_what_it_does_not_want(
    lone: Lone, room: Watching, reader: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More was confirmed at once than one question may read, and its news are behind that."""
    monkeypatch.setattr("qsync.node.feed.SCAN_ENTRIES_MAX", 3)
    confirmed = int(lone.replica.machine.replicated_log.confirmed)
    room.changes(reader, changes(confirmed, "things"))
    for at in range(5):
        lone.submit([2, "others", row(at, "x")])
    wanted = lone.write([2, "things", row(1)])
    room.turn()
    (answer,) = lone.answers()
    assert isinstance(answer, list)
    assert (answer[0], answer[1]) == ([], confirmed + 3)
    room.changes(reader, changes(answer[1], "things"))
    (answer,) = lone.answers()
    assert indexes(answer) == [wanted]


def test_a_question_without_news_is_answered_when_its_time_is_over(
    lone: Lone, room: Watching, reader: Connection
) -> None:
    confirmed = int(lone.replica.machine.replicated_log.confirmed)
    room.changes(reader, changes(confirmed, wait=100.0))
    lone.now = watching.WAIT_MAX - 0.01
    room.tick()
    assert lone.answers() == []
    lone.now = watching.WAIT_MAX
    room.tick()
    (answer,) = lone.answers()
    assert answer == [[], confirmed, confirmed, None]
    assert len(room) == 0


def test_a_reader_that_is_gone_is_forgotten(lone: Lone, room: Watching, reader: Connection) -> None:
    confirmed = int(lone.replica.machine.replicated_log.confirmed)
    room.changes(reader, changes(confirmed))
    room.key(reader, WatchRequest(8, "box.status", {"confirmed": confirmed}, 1.0))
    assert len(room) == 2
    reader.closed = ClosedBy.US
    room.tick()
    assert len(room) == 0
    assert lone.answers() == []


@pytest.mark.pure
def test_no_more_watchers_than_the_limit_are_parked(
    lone: Lone, room: Watching, reader: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qsync.node.watching.PARKED_MAX", 2)
    confirmed = int(lone.replica.machine.replicated_log.confirmed)
    room.changes(reader, changes(confirmed))
    room.key(reader, WatchRequest(8, "box.status", {"confirmed": confirmed}, 1.0))
    with pytest.raises(Overloaded, match="the limit is 2"):
        room.changes(reader, changes(confirmed))


def test_one_user_leaves_room_for_the_watchers_of_others(
    lone: Lone, room: Watching, reader: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qsync.node.watching.PARKED_MAX", 10)
    confirmed = int(lone.replica.machine.replicated_log.confirmed)
    reader.turn.login = "ann"
    for _ in range(8):
        room.changes(reader, changes(confirmed))
    room.key(reader, WatchRequest(8, "box.status", {"confirmed": confirmed}, 1.0))
    with pytest.raises(Overloaded, match="9 watchers of user 'ann'"):
        room.changes(reader, changes(confirmed))
    with pytest.raises(Overloaded, match="9 watchers of user 'ann'"):
        room.key(reader, WatchRequest(8, "box.status", {"confirmed": confirmed}, 1.0))
    other = Connection(reader.sock, frame_bytes_max=1 << 20, opened_at=0.0)
    other.turn.login = "bob"
    room.changes(other, changes(confirmed))
    with pytest.raises(Overloaded, match="the limit is 10"):
        room.changes(other, changes(confirmed))


@pytest.mark.parametrize("user", ["", LOCAL_ADMIN])
@pytest.mark.parametrize("woken_by", ["a change", "the clock"])
def test_who_waits_is_sent_to_another_node_where_a_snapshot_takes_the_place_of_the_rows(
    lone: Lone, room: Watching, reader: Connection, woken_by: str, user: str
) -> None:
    """The owner has all rights, but the space of the feed is in a schema that is rebuilt."""
    reader.turn.login = reader.turn.user = user
    confirmed = int(lone.replica.machine.replicated_log.confirmed)
    room.changes(reader, changes(confirmed, "things"))
    if woken_by == "a change":
        lone.write([2, "things", row(1)])
    lone.replica.lose("a snapshot takes the place of the rows", snapshot=Index(confirmed))
    if woken_by == "a change":
        room.turn()
    else:
        room.tick()
    (answer,) = lone.answers()
    assert isinstance(answer, Rebuilding)
    room.tick()
    assert lone.answers() == [], "it waits no longer"


def test_a_second_greedy_user_leaves_a_tenth_of_what_the_first_left(
    lone: Lone, room: Watching, reader: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qsync.node.watching.PARKED_MAX", 100)
    confirmed = int(lone.replica.machine.replicated_log.confirmed)
    for user, places in (("ann", 90), ("bob", 9), ("eve", 1)):
        connection = Connection(reader.sock, frame_bytes_max=1 << 20, opened_at=0.0)
        connection.turn.login = user
        for _ in range(places):
            room.changes(connection, changes(confirmed))
        with pytest.raises(Overloaded, match=f"{places} watchers of user|the limit is 100"):
            room.changes(connection, changes(confirmed))


def test_a_key_tells_its_value_at_once_and_then_only_another_one(
    lone: Lone, room: Watching, reader: Connection
) -> None:
    room.key(reader, WatchRequest(8, "box.status", None, 1.0))
    (first,) = lone.answers()
    assert isinstance(first, list)
    room.key(reader, WatchRequest(8, "box.status", first[0], 1.0))
    room.tick()
    assert lone.answers() == []
    lone.write([2, "things", row(1)])
    room.tick()
    assert lone.answers() == [[{"confirmed": lone.replica.machine.replicated_log.confirmed}]]


def test_what_cannot_be_watched_is_refused(lone: Lone, room: Watching, reader: Connection) -> None:
    with pytest.raises(WrongKey, match=r"box\.nothing"):
        room.key(reader, WatchRequest(8, "box.nothing", None, 1.0))
    with pytest.raises(NoSuchSpace):
        room.changes(reader, changes(0, "nowhere"))
    with pytest.raises(WrongKey, match="needs the space"):
        room.changes(reader, changes(0, None, 1))
    with pytest.raises(WrongKey, match="must be unsigned"):
        room.changes(reader, changes(0, "things", "text"))


def become_ann(lone: Lone, reader: Connection, *names: str) -> None:
    """The reader is a user who may read the spaces of these names, there or not."""
    reader.turn.user = "ann"
    lone.write([Op.ENABLE_USERS, bytes(32)])
    for user in ("root", "ann"):  # the first one may do everything
        lone.write([Op.CREATE_USER, user, None])
    for name in names:
        lone.write([Op.GRANT, "ann", "read", "space", name])


def wait_for_news(lone: Lone, room: Watching, reader: Connection, *spaces: str) -> None:
    """Of each space, behind all that is confirmed."""
    here = int(lone.replica.machine.replicated_log.confirmed)
    for space in spaces:
        room.changes(reader, changes(here, space, wait=watching.WAIT_MAX))


def test_who_loses_a_right_while_it_waits_for_news_is_refused_at_the_next_look(
    lone: Lone, room: Watching, reader: Connection
) -> None:
    """Nothing has to happen in the space, and its time need not be over."""
    become_ann(lone, reader, "things", "others")
    wait_for_news(lone, room, reader, "things", "others")
    room.tick()
    assert lone.answers() == []
    lone.write([Op.REVOKE, "ann", "read", "space", "things"])
    room.tick()
    (answer,) = lone.answers()
    assert isinstance(answer, AccessDenied)
    assert "read on space 'things'" in answer.message
    assert len(room) == 1, "the other one still waits"


def test_who_waits_for_news_of_a_space_is_refused_once_its_name_is_one_without_a_right(
    lone: Lone, room: Watching, reader: Connection
) -> None:
    """Also if another space has the old name by then. A dropped space is told of as before."""
    become_ann(lone, reader, "things", "others", "things2", "dropped")
    lone.write([10, "dropped", None])
    wait_for_news(lone, room, reader, "things", "others", "dropped")
    lone.write([Op.ALTER_SPACE, "things", {"name": "things2"}])
    lone.write([Op.ALTER_SPACE, "others", {"name": "private"}])
    lone.write([10, "others", None], [2, "private", row(1, "a")], [2, "things2", row(1)])
    lone.write([Op.DROP_SPACE, "dropped"])
    room.turn()
    renamed, private, dropped = lone.answers()
    assert effects(renamed) == [[["put", "things2", [1], row(1)]]]
    assert isinstance(private, AccessDenied)
    assert effects(dropped) == [[["drop", 514, [], None]]]
