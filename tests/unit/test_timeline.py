"""The list of rare events: kept, counted, written, read back after a restart."""

import json
from pathlib import Path

from admin.drills import evidence
from admin.lab import lab
from qsync.node.timeline import EVENTS_MAX, FILE_BYTES_MAX, REREAD_BYTES_MAX, Timeline


def test_events_are_counted_and_their_losses_summed(tmp_path: Path) -> None:
    timeline = Timeline(tmp_path / "timeline.jsonl")
    timeline.append("elected", {"term": 3})
    timeline.append("cut", {"above": 5, "asynchronous": 2})
    timeline.append("cut", {"above": 9, "asynchronous": 1})
    timeline.append("rollback", {"transactions": 4})
    assert timeline.counts["cut"] == 2
    assert (timeline.sums["cut"], timeline.sums["rollback"]) == (3, 4)
    lines = (tmp_path / "timeline.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == list(timeline.events)
    assert [each["event"] for each in timeline.latest(2)] == ["cut", "rollback"]


def test_the_past_is_known_after_a_restart_but_not_counted_again(tmp_path: Path) -> None:
    path = tmp_path / "timeline.jsonl"
    Timeline(path).append("elected", {"term": 3})
    with path.open("a") as file:
        file.write('{"time": "torn by a cra')
    again = Timeline(path)
    assert [each["event"] for each in again.events] == ["elected"]
    assert again.counts.total() == 0


def test_an_event_after_a_torn_line_stands_on_a_line_of_its_own(tmp_path: Path) -> None:
    """A disk that is full for a moment takes half a line, and later whole ones."""
    path = tmp_path / "timeline.jsonl"
    timeline = Timeline(path)
    timeline.append("elected", {"term": 3})
    with path.open("a") as file:
        file.write('{"time": "2026-11-28T07:00:00.000+00:00", "event": "rollb')
    timeline.append("votes", {"term": 4})
    assert [each["event"] for each in Timeline(path).events] == ["elected", "votes"]


def test_a_drill_reads_the_events_around_a_torn_line(tmp_path: Path) -> None:
    made = lab.create(tmp_path / "lab", name="lab", nodes=1)
    (node,) = made.nodes
    node.dir.mkdir(exist_ok=True)
    timeline = Timeline(node.dir / "timeline.jsonl")
    timeline.append("elected", {"term": 3})
    with (node.dir / "timeline.jsonl").open("a") as file:
        whole = '{"time": "2026-11-28T07:00:00.000+00:00", "event": "votes"}'
        file.write(f'{{"time": "2026-11-28T07:0{whole}\n')  # as former releases wrote it
    timeline.append("follows", {"term": 4})
    told = evidence.events(made, since=float("-inf"))
    assert {each.name for each in told} == {"elected", "follows"}


def test_only_the_end_of_a_long_file_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "timeline.jsonl"
    line = json.dumps({"event": "votes", "why": "x" * 1000})
    path.write_text(f"{line}\n" * (2 * REREAD_BYTES_MAX // 1000))
    found = Timeline(path).events
    assert 50 < len(found) < REREAD_BYTES_MAX // 1000
    assert all(each["event"] == "votes" for each in found)


def test_a_large_file_is_set_aside_and_the_ring_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "timeline.jsonl"
    with path.open("wb") as file:
        file.truncate(FILE_BYTES_MAX + 1)
    timeline = Timeline(path)
    timeline.append("elected", {})
    assert (tmp_path / "timeline.1.jsonl").stat().st_size > FILE_BYTES_MAX
    assert len(path.read_text().splitlines()) == 1
    for number in range(EVENTS_MAX + 5):
        timeline.append("votes", {"term": number})
    assert len(timeline.events) == EVENTS_MAX


def test_what_lasts_is_kept_when_it_begins_and_ends_and_now_and_then_between() -> None:
    now = [1000.0]
    timeline = Timeline(None, wall=lambda: now[0])

    def fail(seconds: float, why: str) -> None:
        """As a log does that is written again every half second."""
        for _ in range(int(seconds * 2)):
            timeline.append("disk_failed", {"why": why})
            now[0] += 0.5

    fail(70, "no space")
    assert len(timeline.events) == 3, "at first, after 30 s, and after 60 s"
    fail(5, "input/output error")
    assert len(timeline.events) == 4, "another reason is news"
    timeline.append("disk_works", {"seconds": 75.0})
    fail(5, "input/output error")
    assert [each["event"] for each in timeline.events][-2:] == ["disk_works", "disk_failed"]
    assert timeline.counts["disk_failed"] == 160
    now[0] -= 3600
    fail(5, "input/output error")
    assert len(timeline.events) == 7, "a wall clock that goes back hides nothing"


def test_a_disk_that_takes_nothing_is_counted_and_takes_no_node_down(tmp_path: Path) -> None:
    timeline = Timeline(tmp_path / "no such folder" / "timeline.jsonl")
    timeline.append("elected", {"term": 1})
    assert timeline.unwritten == 1
    assert len(timeline.events) == 1


def test_numbers_and_words_that_json_does_not_know_become_text() -> None:
    timeline = Timeline(None)
    timeline.append("stepped_down", {"why": Path("x")})
    assert timeline.events[0]["why"] == "x"
