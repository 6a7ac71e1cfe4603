"""A cluster judged as it goes on: what is life and what is an alarm, with a bounded memory."""

import itertools

import numpy as np
import pytest

from admin.checker.follow import Follow, Log
from admin.checker.follow_events import FollowEventKind, FollowNote
from admin.checker.follow_window import Entries, Window
from admin.checker.verdict import Result
from admin.evidence.tables import TABLES, Row

NAMES = ("node", "generation", "index", "term", "origin", "lsn", "crc", "promote")
_samples = itertools.count()


def said(node: int, *, role: str = "follower", term: int = 1, **known: object) -> Row:
    row: Row = dict.fromkeys(TABLES["status"].columns) | {
        "node": node,
        "generation": 1,
        "life": 100 + node,
        "sample": next(_samples),
        "time_mono": 0,
        "name": f"n{node}",
        "role": role,
        "term": term,
        "ro": role != "leader",
        "last": 10,
        "written": 10,
        "confirmed": 10,
        "visible": 10,
        "limbo_len": 0,
    }
    return row | known


def three(leader: int = 1, term: int = 1) -> list[Row]:
    return [
        said(node, role="leader" if node == leader else "follower", term=term) for node in (1, 2, 3)
    ]


def entry(index: int, *, node: int, term: int = 1, crc: int | None = None, **known: int) -> Row:
    row: Row = {
        "node": node,
        "generation": 1,
        "index": index,
        "term": term,
        "origin": term,
        "lsn": index,
        "crc": index * 7 if crc is None else crc,
        "promote": 0,
    }
    return row | known


def log(*rows: Row) -> Log:
    return {name: np.array([row[name] for row in rows], dtype=np.int64) for name in NAMES}


def logs(first: int, last: int, *, nodes: tuple[int, ...] = (1, 2, 3)) -> Log:
    return log(*(entry(at, node=node) for node in nodes for at in range(first, last + 1)))


def alarms(notes: list[FollowNote]) -> list[tuple[str, int, int]]:
    return [(n.invariant, n.node, n.index) for n in notes if n.what is FollowEventKind.VIOLATION]


def events(notes: list[FollowNote]) -> list[str]:
    return [n.message for n in notes if n.what is FollowEventKind.EVENT]


NOTHING = log()


def test_a_healthy_cluster_passes_and_says_who_leads() -> None:
    follow = Follow()
    first = follow.poll(three(), logs(1, 5))
    assert events(first)[-1] == "n1 leads in term 1"
    assert follow.poll(three(), logs(6, 9)) == []
    assert follow.result is Result.PASS
    assert {each.id for each in follow.judged} >= {"log-matching", "one-writable", "one-leader"}


def test_nothing_seen_is_no_pass() -> None:
    follow = Follow()
    assert follow.result is Result.UNKNOWN
    follow.poll(three(), logs(1, 5, nodes=(1,)))
    assert follow.result is Result.UNKNOWN, "one log alone agrees with nobody"


def test_restarts_new_leaders_and_silence_are_life() -> None:
    follow = Follow()
    follow.poll(three(), NOTHING)
    assert events(follow.poll(three()[1:], NOTHING)) == ["n1 does not answer", "no leader"]
    assert events(follow.poll(three()[1:], NOTHING)) == []
    assert events(follow.poll(three(leader=2, term=2)[1:], NOTHING)) == ["n2 leads in term 2"]
    back = three(leader=2, term=2)
    back[0]["life"] = 999
    back[0]["confirmed"] = 3
    assert events(follow.poll(back, NOTHING)) == ["n1 runs again, as a new process"]
    emptied = three(leader=2, term=2)
    emptied[0] |= {"life": 1001, "written": 2, "confirmed": 2}
    assert events(follow.poll(emptied, NOTHING)) == ["n1 runs again, without what it had above 2"]
    wiped = three(leader=2, term=2)
    wiped[0] |= {"life": 1000, "generation": 2}
    assert events(follow.poll(wiped, NOTHING)) == ["n1 has a new directory"]
    assert follow.violations.total() == 0


def test_what_was_said_in_an_earlier_batch_counts() -> None:
    follow = Follow()
    follow.poll(three(leader=1, term=4), NOTHING)
    for _ in range(5):
        follow.poll(three(leader=2, term=5), NOTHING)
    found = follow.poll([said(3, role="leader", term=4)], NOTHING)
    assert {each[0] for each in alarms(found)} == {"one-writable", "one-leader", "status-monotone"}
    again = follow.poll(three(leader=2, term=5), NOTHING)
    assert alarms(again) == [], "told once"


def test_two_promotes_of_a_term_are_two_leaders() -> None:
    follow = Follow()
    follow.poll([], log(entry(1, node=1, promote=1), entry(1, node=2, promote=1)))
    found = follow.poll([], log(entry(2, node=3, promote=1, origin=9)))
    assert [each[0] for each in alarms(found)] == ["one-leader"]


def test_a_divergence_is_told_once_where_it_begins_however_the_batches_fall() -> None:
    for size in (1, 3, 20):
        follow = Follow()
        found: list[FollowNote] = []
        for first in range(1, 21, size):
            rows = [
                entry(at, node=node, crc=at * 7 + (at >= 8 and node == 3))
                for at in range(first, first + size)
                for node in (1, 2, 3)
            ]
            found += follow.poll([], log(*rows))
        told = [each for each in found if each.what is FollowEventKind.VIOLATION]
        assert {(each.invariant, each.index) for each in told} == {("log-matching", 8)}
        assert follow.result is Result.FAIL


def test_confirmed_entries_of_two_terms_at_one_place_do_not_agree() -> None:
    follow = Follow()
    follow.poll([], logs(1, 5))
    found = follow.poll([], log(entry(6, node=1, term=1), entry(6, node=2, term=2)))
    assert ("confirmed-agree", 0, 6) in alarms(found)


def test_what_a_node_had_confirmed_must_be_the_same_when_it_is_read_again() -> None:
    follow = Follow()
    follow.poll([], logs(1, 9))
    assert alarms(follow.poll([], logs(5, 9, nodes=(2,)))) == []
    again = log(*(entry(at, node=2, crc=at * 7 + (at >= 7)) for at in range(5, 10)))
    assert ("confirmed-kept", 2, 7) in alarms(follow.poll([], again))


def test_the_shape_of_each_log_is_followed() -> None:
    follow = Follow()
    follow.poll([], logs(1, 5))
    odd = log(entry(6, node=1, term=3, lsn=1), entry(7, node=1, term=2, lsn=1))
    assert alarms(follow.poll([], odd)) == [("log-terms", 1, 7)]
    follow.poll([], logs(6, 6, nodes=(2,)))
    skipped = log(entry(7, node=2, lsn=9))
    assert ("log-lsns", 2, 7) in alarms(follow.poll([], skipped))


def test_entries_that_were_missed_are_said_and_do_not_hide_a_divergence() -> None:
    follow = Follow()
    follow.poll([], logs(1, 5))
    follow.poll([], logs(6, 20, nodes=(1, 2)))
    found = follow.poll([], log(entry(15, node=3, crc=1)))
    assert ("log-matching", 0, 15) in alarms(found)
    assert events(found) == ["9 entries were not looked at: their node went away"]


def test_the_window_is_all_that_is_kept_and_a_late_node_is_compared_where_it_reaches_it() -> None:
    window = Window(size=8)

    def some(first: int, last: int, *, odd: int = 0) -> Entries:
        index = np.arange(first, last + 1)
        return Entries(first, np.ones_like(index), index * 7 + odd, np.ones_like(index), index)

    assert list(window.extend((1, 1), some(1, 100))) == []
    assert window.holds(1) == (93, 100)
    late = list(window.extend((2, 1), some(1, 92, odd=1)))
    assert late == [], "the window has moved on"
    (found,) = window.extend((2, 1), some(93, 94, odd=1))
    assert (found.invariant, found.index) == ("log-matching", 93)
    assert window.holds(2) == (87, 94)
    assert list(window.extend((2, 2), some(90, 100))) == [], "a new directory is a new log"


def test_violations_are_counted_beyond_those_that_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("admin.checker.follow.VIOLATIONS_MAX", 3)
    follow = Follow()
    told = 0
    for term in range(1, 9):
        rows = [said(1, role="leader", term=term), said(2, role="leader", term=term)]
        told += len(alarms(follow.poll(rows, NOTHING)))
    assert told == 3
    assert follow.violations.total() > 8


def test_only_the_newest_terms_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("admin.checker.follow.TERMS_MAX", 4)
    follow = Follow()
    for term in range(1, 40):
        follow.poll([said(1, role="leader", term=term)], NOTHING)
    assert len(follow._writable) == 4
    assert len(follow._leading) == 4
