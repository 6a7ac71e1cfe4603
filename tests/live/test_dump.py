"""Evidence from real nodes: what is dumped under load holds, however it is taken and kept."""

import contextlib
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from admin.checker.quick import CheckedInvariant
from admin.checker.rules.catalogue import judge, load
from admin.checker.verdict import Result
from admin.cluster import ask, surveys
from admin.evidence import witnesses
from admin.evidence.bundle import Bundle
from admin.evidence.collect import Dump
from admin.evidence.sampling import Generations, sample
from admin.evidence.writing import EvidenceWriter, PartFormat
from admin.lab import lab
from election.messages import Index
from qsync.client.one_node import NodeConnection
from qsync.data import schema
from qsync.store.spaces import SpaceStore
from qsync.wire import packed
from qsync.wire.verbs import PackedRequest
from tests.live.real import PATIENT, Writer, put, running, until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.Lab]:
    with running(tmp_path_factory.mktemp("dump") / "three", nodes=3) as found:
        yield found


@contextlib.contextmanager
def load_on(found: lab.Lab, number: int) -> Iterator[Writer]:
    """A client writes continuously."""
    done = threading.Event()
    writer = Writer(found, number, done)
    writer.start()
    try:
        until(lambda: len(writer.acked) > 20 or writer.error, "20 rows are acknowledged")
        yield writer
    finally:
        done.set()
        writer.join()
    assert writer.error is None, writer.error


def failed(path: Path) -> list[str]:
    """Every invariant that the logs, status and digests of a bundle break."""
    checked = judge(load(path))
    assert {each.verdict.result for each in checked} & {Result.PASS}
    return [
        line
        for each in checked
        if each.verdict.result is Result.FAIL
        for line in each.verdict.describe()
    ]


def test_a_dump_under_load_breaks_nothing_and_has_what_was_acknowledged(
    three: lab.Lab, tmp_path: Path
) -> None:
    with load_on(three, 1) as writer:
        acked = len(writer.acked)
        with witnesses.witnesses(three.addresses) as found:
            bundle = Dump(tmp_path / "out").collect(found, source="nodes")
    assert failed(bundle.path) == []
    for node in bundle.manifest.nodes:
        assert node.last >= node.confirmed > 0
    rows = [row for row in bundle.rows("wal") if row["seq"] is not None]
    assert len({row["key_hash"] for row in rows}) >= acked


def test_a_command_watches_and_keeps_columns(three: lab.Lab, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the [spark] extra")
    out = tmp_path / "out"
    with load_on(three, 2):
        command = [sys.executable, "-m", "qsync", "dump", *three.addresses, "--out", str(out)]
        command += ["--format", "parquet", "--sample", "1", "--every", "0.1", "--json"]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=120, cwd=ROOT, check=False
        )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert rows["status"] > 6
    bundle = Bundle.open(out)
    assert {each.path.suffix for each in bundle.parts("wal")} == {".parquet"}
    assert failed(out) == []
    series = [row["sample"] for row in bundle.rows("status")]
    assert series == sorted(set(series), key=lambda number: int(str(number)))


def test_samples_come_from_every_member_with_both_clocks(three: lab.Lab) -> None:
    rows = sample(three.addresses[:1], Generations(), 5, seconds=1.0, period=0.05)
    assert {row["node"] for row in rows} == {1, 2, 3}
    assert [row["sample"] for row in rows] == list(range(5, 5 + len(rows)))
    for row in rows:
        assert isinstance(row["time_wall"], float)
        assert isinstance(row["time_mono"], int)
        assert isinstance(row["crc"], int)


def test_directories_and_copies_tell_what_the_nodes_told(
    tmp_path: Path,
) -> None:
    with running(tmp_path / "lab", nodes=3, **PATIENT) as found:
        with load_on(found, 3):
            pass
        until(lambda: _quiet(found), "all nodes have the same log")
        with witnesses.witnesses(found.addresses) as nodes:
            online = Dump(tmp_path / "online").collect(nodes, source="nodes")
        _kill_all(found)
        directories = [str(node.dir) for node in found.nodes]
        with witnesses.witnesses(directories) as nodes:
            offline = Dump(tmp_path / "offline").collect(nodes, source="directories")
        copies = []
        for number, node in enumerate(found.nodes, start=1):
            copy = tmp_path / f"copy{number}"
            shutil.copytree(node.dir / "log", copy)
            copies.append(f"{number}={copy}")
        with witnesses.witnesses(copies) as nodes:
            copied = Dump(tmp_path / "copied").collect(nodes, source="directories")

    def log(bundle: Bundle) -> list[tuple[object, ...]]:
        names = [name for name in next(bundle.rows("wal")) if name != "run_id"]
        return sorted(tuple(row[name] for name in names) for row in bundle.rows("wal"))

    assert len(log(online)) > 20
    assert log(offline) == log(online)
    assert log(copied) == log(online)
    assert failed(offline.path) == []


def _kill_all(found: lab.Lab) -> None:
    """The leader last: nobody is elected, so no log grows any more."""
    leader = surveys.survey(found.addresses).leader
    assert leader is not None
    for node in sorted(found.nodes, key=lambda each: each.name == leader.name):
        found.kill(node)


def test_of_a_lab_with_a_dead_node_its_directory_is_read(tmp_path: Path) -> None:
    with running(tmp_path / "lab", nodes=3, node__events="true") as found:
        put(found, [1, "one"])
        until(lambda: _quiet(found), "all nodes have the same log")
        found.kill(found.nodes[2])
        out = tmp_path / "out"
        command = [sys.executable, "-m", "qsync", "dump", str(found.dir), "--out", str(out)]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=120, cwd=ROOT, check=False
        )
    assert done.returncode == 0, done.stderr
    bundle = Bundle.open(out)
    assert [bool(each.address) for each in bundle.manifest.nodes] == [True, True, False]
    assert {row["node"] for row in bundle.rows("wal")} == {1, 2, 3}
    assert {row["node"] for row in bundle.rows("events")} == {1, 2, 3}
    assert failed(out) == []


def _quiet(found: lab.Lab) -> bool:
    said = [ask.status(address) for address in found.addresses]
    keys = ("last", "written", "confirmed")
    return len({each[key] for each in said for key in keys}) == 1


def test_nodes_say_that_they_pack_and_an_older_one_is_asked_for_entries(three: lab.Lab) -> None:
    for number in range(9):
        put(three, [number, "x"])
    known = partial(surveys.survey, three.addresses)
    until(lambda: min(each.written for each in known().samples) >= 9, "all have as much")
    with NodeConnection(three.addresses[0], timeout=20) as line:
        assert packed.FEATURE in line.greeting.features
        answer = packed.read(line.ask(PackedRequest(1, Index(1), 3, 64)))
        assert (answer.first, answer.reached, answer.before) == (1, 3, 0)
        new = list(witnesses.Running(line).stretches(2, 9, 64))
        line.greeting = type(line.greeting)(
            cluster="", instance="", replica=line.greeting.replica, name=""
        )
        old = list(witnesses.Running(line).stretches(2, 9, 64))
    rows = packed.join([each.rows for each in new])
    assert (new[0].first, rows.entries) == (2, 8)
    assert packed.join([each.rows for each in old]).crcs == rows.crcs


@pytest.mark.parametrize("kept", PartFormat)
def test_of_what_nodes_wrote_down_under_load_nothing_is_without_its_cause(
    tmp_path: Path, kept: PartFormat
) -> None:
    if kept is PartFormat.PARQUET:
        pytest.importorskip("pyarrow", reason="needs the [spark] extra")
    counts: list[int] = []
    with running(tmp_path / "lab", nodes=3, node__events="true") as found:
        directories = {node.id: node.dir for node in found.nodes}
        with load_on(found, 1), witnesses.witnesses(found.addresses) as nodes:
            for number in range(4):
                out = tmp_path / str(number)
                dump = Dump(out, writer=EvidenceWriter(kept), directories=directories)
                bundle = dump.collect(nodes, source="nodes")
                counts.append(bundle.manifest.rows["events"])
                assert bundle.manifest.gaps == {}
                assert failed(out) == []
        found.stop_all()
        with witnesses.witnesses(map(str, directories.values())) as nodes:
            stopped = Dump(tmp_path / "stopped", writer=EvidenceWriter(kept)).collect(
                nodes, source="directories"
            )
        assert 0 < counts[0] < counts[-1] < stopped.manifest.rows["events"]
        assert failed(stopped.path) == []
        with witnesses.witnesses(map(str, list(directories.values())[:2])) as nodes:
            two = Dump(tmp_path / "two").collect(nodes, source="directories")
        why = "there are no events of node 3, by which node 1 counted to the end"
        assert two.manifest.gaps == {"events": f"{why}: what is in that directory is needed, too"}
        assert two.manifest.voters == 3
        assert failed(two.path) == []


def test_what_a_stopped_node_has_stored_is_compared_with_its_log(tmp_path: Path) -> None:
    with running(tmp_path / "one", nodes=1) as found:
        for number in range(20):
            put(found, [number, "one"])
        found.stop_all()
        node = found.nodes[0]
        sound = _stored(node.dir, tmp_path / "sound")
        with contextlib.closing(SpaceStore(node.dir / "data")) as spaces:
            key, _ = next(spaces.scan(*schema.keys_of(schema.USER_SPACE_MIN)))
            spaces.fold(Lost(folded=spaces.folded, deletes=[key]))
        spoiled = _stored(node.dir, tmp_path / "spoiled")
    assert sound.verdict.result is Result.PASS
    assert sound.verdict.facts > 0
    assert spoiled.verdict.result is Result.FAIL
    assert {each.node for each in spoiled.verdict.violations} == {1}


@dataclass(frozen=True, slots=True)
class Lost:
    """A fold of which the log knows nothing."""

    folded: Index
    deletes: list[bytes]
    puts: tuple[tuple[bytes, bytes], ...] = ()


def _stored(directory: Path, out: Path) -> CheckedInvariant:
    with witnesses.witnesses([str(directory)]) as found:
        Dump(out).collect(found, source="directories")
    return next(e for e in judge(load(out)) if e.verdict.invariant == "stored-replayed")
