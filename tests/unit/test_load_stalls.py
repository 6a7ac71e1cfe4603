"""Late answers become stalls, each with what the load and the nodes know of that time."""

from itertools import pairwise

from admin.workload import stalls
from admin.workload.stalls import LOAD, NamedStall, TimedLatencies, WatchedWorkload, stalls_of
from qsync.client.load import LoadRequest

REQUEST = LoadRequest(1, b"", 1, 1)


def held(who: str, begin: float, end: float) -> NamedStall:
    return NamedStall(who=who, begin=begin, end=end, piece="batch", cause="log commit")


def test_late_answers_that_overlap_are_one_stall() -> None:
    found = stalls_of([(10.10, 0.10), (10.11, 0.05), (10.50, 0.03)], [])
    assert [(round(each.at, 2), round(each.seconds, 2), each.requests) for each in found] == [
        (10.0, 0.1, 2),
        (10.47, 0.03, 1),
    ]
    assert "no node knows" in str(found[0])


def test_a_stall_is_explained_by_what_happened_meanwhile_the_longest_first() -> None:
    known = [held("n1", 9.0, 9.5), held("n2", 10.05, 10.08), held("n3", 10.0, 10.09)]
    (found,) = stalls_of([(10.10, 0.10)], known)
    assert [each.who for each in found.causes] == ["n3", "n2"]
    (crowded,) = stalls_of([(10.10, 0.10)], [held(f"n{at}", 10.0, 10.09) for at in range(6)])
    assert str(crowded).endswith("; and 2 more")
    assert found.describe()["causes"] == [
        "n3 batch: log commit 90 ms",
        "n2 batch: log commit 30 ms",
    ]


def test_pieces_in_a_row_are_summed_for_people() -> None:
    known = [held("n1", 10.0, 10.01), held("n1", 10.02, 10.03), held("n2", 10.0, 10.015)]
    (found,) = stalls_of([(10.04, 0.04)], known)
    said = "n1 batch: log commit 20 ms in 2 pieces; n2 batch: log commit 15 ms"
    assert str(found).endswith(said)


def test_a_stall_of_very_many_answers_is_one_line_and_soon_there() -> None:
    late = [(10 + number / 1e5, 0.5) for number in range(100_000)]
    (found,) = stalls_of(late, [])
    assert found.requests == len(late)


def test_no_late_answers_are_no_stalls() -> None:
    assert not stalls_of([], [held("n1", 1.0, 2.0)])


def test_of_late_answers_the_moment_is_kept() -> None:
    latencies = TimedLatencies("d")
    for seconds in (0.001, 0.03, 0.002, 0.02):
        latencies.append(seconds)
    assert list(latencies) == [0.001, 0.03, 0.002, 0.02]
    assert [seconds for _, seconds in latencies.late] == [0.03, 0.02]
    assert all(one[0] <= other[0] for one, other in pairwise(latencies.late))


def test_a_load_that_sends_nothing_says_so() -> None:
    eager = WatchedWorkload(lambda _: b"frame", rate=1e9)
    idle = WatchedWorkload(lambda _: b"frame", rate=1e-9)  # one in thirty years is due
    for each in (eager, idle):
        assert each(REQUEST) == each(REQUEST) == b"frame"
        each._last -= 1.0
        each(REQUEST)
    (gap,) = eager.gaps
    assert gap.who == LOAD
    assert gap.end - gap.begin >= 1.0
    assert not idle.gaps


def test_what_a_node_says_is_read_as_far_as_it_can_be() -> None:
    good = {"time": 50.0, "ms": 40.0, "piece": "folding", "cause": "folding", "parts": {}}
    (found,) = stalls.stalls_told("n1", {"recent": [good, {"time": "later"}, 7]})
    assert (found.who, round(found.begin, 2), found.end) == ("n1", 49.96, 50.0)
    assert str(found) == "n1 folding 40 ms"
    assert not stalls.stalls_told("n1", {})


def test_shorter_pieces_are_read_too() -> None:
    (found,) = stalls.stalls_told("n1", {"brief": [[50.0, 8.0, "batch", "log commit"], [1, 2], 3]})
    assert (round(found.begin, 3), found.end) == (49.992, 50.0)
    assert str(found) == "n1 batch: log commit 8 ms"
