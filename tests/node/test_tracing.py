"""Stages of an entry's life with their times, on a replica alone with its log."""

import pytest

from qsync.node.tracing import Tracing
from tests.node.lone import Lone, row


@pytest.fixture
def lone() -> Lone:
    found = Lone()
    found.write([10, "things", {"primary": [[1, "unsigned"]], "is_sync": True}])
    return found


@pytest.fixture
def tracing(lone: Lone) -> Tracing:
    return Tracing(lone.replica.machine, now=lambda: lone.now, wall=lambda: 1000.0 + lone.now)


def stages(told: dict[str, object]) -> list[tuple[object, object]]:
    marks = told["marks"]
    assert isinstance(marks, list)
    return [(what, time) for what, _, time in marks]


def test_a_trace_says_when_an_entry_got_how_far(lone: Lone, tracing: Tracing) -> None:
    tracing.arm(10.0)
    done = lone.submit([2, "things", row(1)])
    tracing.turn()
    assert tracing.tell(done.index)["fate"] == "pending"
    lone.now = 2.0
    lone.settle()
    tracing.turn()
    told = tracing.tell(done.index)
    assert (told["fate"], told["durable"]) == ("confirmed", True)
    assert stages(told) == [("appended", 1000.0), ("durable", 1002.0), ("confirmed", 1002.0)]
    entry = told["entry"]
    assert isinstance(entry, dict)
    assert (entry["index"], entry["kind"]) == (done.index, "TXN")


def test_what_happened_before_the_watch_began_has_no_times(lone: Lone, tracing: Tracing) -> None:
    place = lone.write([2, "things", row(1)])
    tracing.arm(10.0)
    lone.write([2, "things", row(2)])
    tracing.turn()
    told = tracing.tell(place)
    assert told["fate"] == "confirmed"
    assert stages(told) == []
    assert tracing.tell(place + 1000)["fate"] == "absent"


@pytest.mark.pure
def test_marks_are_bounded_and_forgotten_ones_are_not_made_up(
    lone: Lone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qsync.node.tracing.MARKS_MAX", 3)
    tracing = Tracing(lone.replica.machine, now=lambda: lone.now, wall=lambda: lone.now)
    tracing.arm(10.0)
    first = lone.write([2, "things", row(1)])
    tracing.turn()
    second = lone.write([2, "things", row(2)])
    tracing.turn()
    assert stages(tracing.tell(first)) == []
    assert [what for what, _ in stages(tracing.tell(second))] == [
        "appended",
        "durable",
        "confirmed",
    ]


def test_the_watch_ends_when_nobody_asks_for_it(lone: Lone, tracing: Tracing) -> None:
    assert not tracing.armed
    tracing.arm(10.0)
    lone.now = 9.0
    tracing.tick()
    assert tracing.armed
    lone.now = 11.0
    tracing.tick()
    assert not tracing.armed
