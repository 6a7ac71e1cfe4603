"""Running nodes on Spark: their tables, and a cluster followed through what happens to it."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from admin.checker import verdict
from admin.checker.follow import Follow
from admin.checker.follow_events import FollowEventKind, FollowNote
from admin.checker.spark.follow import FollowOptions, follow
from admin.checker.spark.source import QsyncSource
from admin.cluster import ask
from admin.lab import lab
from cli.main import run
from qsync.errors import Unavailable
from tests.live.real import Writer, running, until
from tests.unit.pretender import Pretender, entries, pretending

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PATIENCE_S = 120.0
"""The first micro-batch on a busy machine."""


@pytest.fixture
def nodes() -> Iterator[list[Pretender]]:
    with pretending(3) as found:
        yield found


class Following(threading.Thread):
    """Follows in another thread, as the command does; what it told is in `notes`."""

    def __init__(self, session: "SparkSession", addresses: Sequence[str]) -> None:
        super().__init__(name="following")
        self.notes: list[FollowNote] = []
        self.state: Follow | None = None
        self.error: BaseException | None = None
        self._session = session
        self._wanted = FollowOptions(addresses=addresses)
        self._stopping = threading.Event()

    def run(self) -> None:
        try:
            self.state = follow(
                self._session, self._wanted, told=self.notes.extend, stop=self._stopping
            )
        except BaseException as error:  # noqa: BLE001 - shown by the test that joins us
            self.error = error

    def wait_for(self, what: str, fact: Callable[[FollowNote], bool]) -> FollowNote:
        """The first note that is so."""
        try:
            until(lambda: self.error or any(map(fact, list(self.notes))), what, timeout=PATIENCE_S)
        except AssertionError as late:
            late.add_note(f"told was {[each.message for each in self.notes]}")
            raise
        assert self.error is None, self.error
        return next(filter(fact, self.notes))

    def end(self) -> Follow:
        self._stopping.set()
        self.join()
        assert self.error is None, self.error
        assert self.state is not None
        return self.state


@contextmanager
def following(session: "SparkSession", addresses: Sequence[str]) -> Iterator[Following]:
    found = Following(session, addresses)
    found.start()
    try:
        yield found
    finally:
        found._stopping.set()
        found.join()


def says(*words: str) -> Callable[[FollowNote], bool]:
    return lambda note: all(word in note.message for word in words)


def is_alarm(note: FollowNote) -> bool:
    return note.what is FollowEventKind.VIOLATION


@contextmanager
def under_load(found: lab.Lab) -> Iterator[Writer]:
    done = threading.Event()
    writer = Writer(found, 1, done)
    writer.start()
    try:
        yield writer
    finally:
        done.set()
        writer.join()
    assert writer.error is None, writer.error


def table(session: "SparkSession", addresses: Sequence[str], **options: str) -> "DataFrame":
    session.dataSource.register(QsyncSource)
    reader = session.read.format("qsync").option("nodes", ",".join(addresses))
    return reader.options(**options).load()


def test_tables_of_nodes_are_read_in_ranges_and_filtered_where_they_are(
    session: "SparkSession", nodes: list[Pretender]
) -> None:
    for each in nodes:
        each.log = entries(50)
    addresses = [each.address for each in nodes]
    wal = table(session, addresses, table="wal", span="20", run="r")
    aligned = table(session, addresses, table="wal", align="true", span="20", run="r")
    for frame in (wal, aligned):
        found = frame.groupBy("node").count().collect()
        assert sorted((row["node"], row["count"]) for row in found) == [(1, 50), (2, 50), (3, 50)]
    few = wal.where("node = 2 and `index` > 45")
    assert sorted(row["index"] for row in few.collect()) == [46, 47, 48, 49, 50]
    status = table(session, addresses, table="status").select("node", "confirmed").collect()
    assert sorted((row["node"], row["confirmed"]) for row in status) == [(1, 50), (2, 50), (3, 50)]


def test_a_killed_leader_a_restart_and_a_wipe_are_no_alarm(
    session: "SparkSession", tmp_path: Path
) -> None:
    with (
        running(tmp_path / "lab", nodes=3) as found,
        under_load(found) as writer,
        following(session, found.addresses[:1]) as watch,
    ):
        watch.wait_for("the leader is told", says("leads in term"))
        said = {node.name: ask.status(node.address) for node in found.nodes}
        leader = next(node for node in found.nodes if said[node.name]["role"] == "leader")
        found.kill(leader)
        watch.wait_for("its silence is told", says(leader.name, "does not answer"))
        watch.wait_for(
            "its successor is told",
            lambda note: says("leads in term")(note) and not note.message.startswith(leader.name),
        )
        found.start(leader)
        watch.wait_for("its restart is told", says(leader.name, "runs again"))
        acked = len(writer.acked)
        until(lambda: len(writer.acked) > acked + 50, "writes go on", timeout=PATIENCE_S)
        found.kill(leader)
        found.wipe(leader)
        (leader.dir / "identity.json").unlink()
        found.start(leader)
        watch.wait_for("its new directory is told", says(leader.name, "has a new directory"))
        acked = len(writer.acked)
        until(lambda: len(writer.acked) > acked + 50, "writes go on", timeout=PATIENCE_S)
        state = watch.end()
    assert [note for note in watch.notes if is_alarm(note)] == []
    assert state.result is verdict.Result.PASS, state.judged
    assert all(each.facts > 10 for each in state.judged), state.judged


def test_a_divergence_of_a_growing_log_is_raised_within_seconds(
    session: "SparkSession", nodes: list[Pretender]
) -> None:
    log = entries(20)
    for each in nodes:
        each.log = log
    with following(session, [nodes[0].address]) as watch:
        watch.wait_for("the nodes are met", says("n3"))
        for _ in range(3):
            log = entries(5, after=log)
            for each in nodes:
                each.log = log
        assert not any(map(is_alarm, watch.notes))
        for each in nodes:
            each.log = entries(5, after=log, salt="another" if each.node == 3 else "")
        planted = time.monotonic()
        alarm = watch.wait_for("the divergence is raised", is_alarm)
        late = time.monotonic() - planted
        state = watch.end()
    assert (alarm.invariant, alarm.index, alarm.term) == ("log-matching", 36, 1)
    assert {each.invariant for each in watch.notes if is_alarm(each)} == {"log-matching"}
    assert state.result is verdict.Result.FAIL
    assert late < 30, "seconds, also where eight programs share two cores"


def test_nobody_to_follow_is_said_at_once(session: "SparkSession", nodes: list[Pretender]) -> None:
    for each in nodes:
        each.close()
    wanted = FollowOptions(addresses=[nodes[0].address])
    with pytest.raises(Unavailable, match="none of"):
        follow(session, wanted, told=lambda _: None, stop=threading.Event())


def test_the_command_ends_in_time_with_a_summary(
    session: "SparkSession", nodes: list[Pretender], capsys: pytest.CaptureFixture[str]
) -> None:
    for each in nodes:
        each.log = entries(20)
    nodes[0].known = {"role": "leader", "ro": False, "term": 1}
    # It takes the session that this process has, and leaves it.
    code = run(["check", "--follow", nodes[0].address, "--for", "3s", "--json"])
    said = capsys.readouterr()
    assert code == 0, said
    lines = [json.loads(line) for line in said.out.splitlines()]
    assert {line["schema"] for line in lines} == {"qsync/follow/1"}
    assert (lines[-1]["what"], lines[-1]["verdict"]) == ("summary", "pass")
    assert "n1 leads in term 1" in {line.get("message") for line in lines}


def test_an_interrupt_ends_the_command_with_what_was_found(
    session: "SparkSession",
    nodes: list[Pretender],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for each in nodes:
        each.log = entries(20, salt=f"{each.node}")
    interrupted = threading.Event()

    def told(note: FollowNote) -> str:
        if is_alarm(note) and not interrupted.is_set():
            interrupted.set()
            os.kill(os.getpid(), signal.SIGINT)
        return note.message

    monkeypatch.setattr("cli.check_follow._as_text", told)
    code = run(["check", "--follow", nodes[0].address])
    said = capsys.readouterr().out.splitlines()
    assert interrupted.is_set()
    assert code == 6, said
    assert said[-1].startswith("fail: ")
