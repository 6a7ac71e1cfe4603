"""A stopped node's log is as long as its own events say, and no honest history is accused."""

import shutil
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from admin.checker.rules.catalogue import judge, load
from admin.checker.verdict import Result, Verdict
from admin.cluster.logs import identity_of
from admin.evidence.bundle import Bundle
from admin.evidence.collect import Dump
from admin.evidence.redacting import redact
from admin.evidence.witnesses import witnesses
from qsync.core.ready import Write
from qsync.record import Entry
from qsync.store.contract import Identity
from qsync.store.directory import Directory
from qsync.store.eventfile import FORMAT, EventFile, clock
from qsync.store.eventpack import What
from qsync.store.opening import open_log
from tests.unit.logs import MEMBER, some, start_behind, write
from tests.unit.test_inside import packed

ME = Identity(cluster="c-1", instance="i-1", replica=1, name="n1")  # type: ignore[arg-type]  # a plain number
LOG = some(9)
OTHERS = some(1, after=LOG[4], term=2)
"""What a new leader has behind entry 5."""


class Stopped:
    """The directory of the only node of a cluster, and what it writes down."""

    def __init__(self, path: Path) -> None:
        self.path = path / "n1"
        self.path.mkdir()
        self.time = 0
        self.file = EventFile(self.path, bytes_max=1 << 20)
        self.notes(What.STARTED, self.about(), [0, None], [], b"")

    def about(self, *, instance: str = ME.instance, first: int = 1) -> dict[str, object]:
        found: dict[str, object] = {"format": FORMAT, "clock": clock(), "me": 1, "voters": [1]}
        return found | {"instance": instance, "first": first}

    def notes(self, what: What, *members: object) -> None:
        self.time += 1
        self.file.write([[what, self.time, *members]])

    def starts_anew(self, log: Sequence[Entry], *, first: int = 1, instance: str = "i-1") -> None:
        self.file.close()
        self.file = EventFile(self.path, bytes_max=1 << 20)
        about = self.about(instance=instance, first=first)
        runs = [[len(log), 1]] if log else []
        self.notes(What.STARTED, about, [1, 1], runs, packed([each.crc for each in log]))

    def commits(self, *entries: Entry, cut: int | None = None, is_told: bool = True) -> None:
        self.does(write(list(entries), cut_above=cut))
        if is_told:
            runs = [[len(entries), int(entries[0].term)]]
            crcs = packed([each.crc for each in entries])
            first = int(entries[0].index)
            self.notes(What.WROTE, [1, 1], cut, first, runs, crcs)

    def does(self, *writes: Write) -> None:
        with Directory(self.path, wanted=ME) as directory, closing(open_log(directory)) as log:
            log.recover()
            for each in writes:
                log.write(each)

    def dumped(self) -> Bundle:
        self.file.close()
        with witnesses([str(self.path)]) as known:
            return Dump(self.path.parent / "out").collect(known, source="directories")


def kept(bundle: Bundle) -> Verdict:
    found = {each.verdict.invariant: each.verdict for each in judge(load(bundle.path))}
    return found["durable-kept"]


@pytest.fixture
def node(tmp_path: Path) -> Stopped:
    """With five entries on its disk."""
    found = Stopped(tmp_path)
    found.commits(*LOG[:2])
    found.commits(*LOG[2:5])
    return found


def test_a_log_with_all_that_was_durable_holds(node: Stopped) -> None:
    bundle = node.dumped()
    assert bundle.manifest.nodes[0].recorded
    found = kept(bundle)
    assert (found.result, found.facts) == (Result.PASS, 1)


def test_an_old_log_that_was_put_back_is_noticed(node: Stopped, tmp_path: Path) -> None:
    """The mark of what is durable is as old as the log is, so the log itself tells nothing."""
    shutil.copytree(node.path / "log", tmp_path / "old")
    node.commits(*LOG[5:])
    shutil.rmtree(node.path / "log")
    shutil.move(tmp_path / "old", node.path / "log")
    bundle = node.dumped()
    assert "wal" not in bundle.manifest.gaps
    found = kept(bundle)
    assert found.result is Result.FAIL
    (broken,) = found.violations
    assert broken.message == "node 1 had 9 on its disk, its log ends at 5"
    assert (broken.node, broken.index) == (1, 9)
    wrote, end = broken.rows
    assert (wrote.table, wrote.row["name"], wrote.row["index"]) == ("events", "durable", 9)
    assert (end.table, end.row["index"], end.row["crc"]) == ("wal", 5, LOG[4].crc)
    again = kept(redact(bundle, tmp_path / "public"))
    assert [each.message for each in again.violations] == [broken.message]


def test_a_log_that_was_emptied_is_noticed(node: Stopped) -> None:
    """By somebody who has made a new one there: the node itself would be no member by it."""
    shutil.rmtree(node.path / "log")
    with Directory(node.path, wanted=ME) as directory, closing(open_log(directory)) as log:
        log.recover()
    found = kept(node.dumped())
    assert [each.message for each in found.violations] == [
        "node 1 had 5 on its disk, its log ends at 0"
    ]


def cut_by_a_leader(node: Stopped) -> None:
    node.commits(*LOG[5:])
    node.commits(*OTHERS, cut=5)


def cut_as_it_was_killed(node: Stopped) -> None:
    """Its disk has the cut, and its events do not."""
    node.commits(*LOG[5:])
    node.commits(*OTHERS, cut=5, is_told=False)


def written_as_it_was_killed(node: Stopped) -> None:
    node.commits(*LOG[5:], is_told=False)


def trimmed(node: Stopped) -> None:
    with Directory(node.path, wanted=ME) as directory, closing(open_log(directory)) as log:
        log.recover()
        log.trim(start_behind(LOG[3]))


def trimmed_and_started(node: Stopped) -> None:
    trimmed(node)
    node.starts_anew(LOG[3:5], first=4)


def begins_at_a_snapshot(node: Stopped) -> None:
    """What it had behind that was of a leader that is no more."""
    start = start_behind(OTHERS[0])
    node.commits(*LOG[5:])
    with Directory(node.path, wanted=ME) as directory, closing(open_log(directory)) as log:
        log.recover()
        log.begin_at(start)
    node.notes(What.BEGAN, int(start.index), int(start.term), int(start.crc))


def begins_at_a_snapshot_as_it_was_killed(node: Stopped) -> None:
    node.commits(*LOG[5:])
    with Directory(node.path, wanted=ME) as directory, closing(open_log(directory)) as log:
        log.recover()
        log.begin_at(start_behind(OTHERS[0]))


def set_aside(node: Stopped) -> None:
    """Its log was damaged; it ended before it wrote down that it begins again."""
    with Directory(node.path, wanted=ME) as directory, closing(open_log(directory)) as log:
        log.recover()
        log.start_over(why="damaged")


def set_aside_and_started(node: Stopped) -> None:
    set_aside(node)
    node.starts_anew([])
    node.does(write(LOG[:1], ballot=replace(MEMBER, member=False)))


def damaged(node: Stopped) -> None:
    file = node.path / "log" / "000000000001.log"
    file.write_bytes(file.read_bytes().replace(b"body 4", b"body -"))


def another_instance(node: Stopped) -> None:
    """As of a disk that was lost, or of a copy that was found out."""
    with Directory(node.path, wanted=ME) as directory, closing(open_log(directory)) as log:
        log.recover()
        log.start_over(why="an old copy", untrusted=True)
        directory.renew_instance()


def another_instance_and_started(node: Stopped) -> None:
    another_instance(node)
    node.starts_anew([], instance=identity_of(node.path).instance)


def started_without_events(node: Stopped) -> None:
    (node.path / "events" / "000002.unsaid").touch()


@pytest.mark.parametrize(
    "did",
    [
        cut_by_a_leader,
        cut_as_it_was_killed,
        written_as_it_was_killed,
        trimmed,
        trimmed_and_started,
        begins_at_a_snapshot,
        begins_at_a_snapshot_as_it_was_killed,
        set_aside,
        set_aside_and_started,
        damaged,
        another_instance,
        another_instance_and_started,
        started_without_events,
    ],
)
def test_what_happens_to_a_log_by_the_rules_accuses_nobody(
    node: Stopped, did: Callable[[Stopped], None]
) -> None:
    did(node)
    assert kept(node.dumped()).result in {Result.PASS, Result.SKIPPED, Result.UNKNOWN}


def test_events_that_end_early_decide_nothing(node: Stopped) -> None:
    """The cut that followed is in none of them."""
    node.commits(*LOG[5:])
    node.file.end(node.time + 1, "no room")
    node.does(write(cut_above=6))
    found = kept(node.dumped())
    assert found.result is Result.SKIPPED
    assert "events of node 1 end early: no room" in found.note
