"""Bundles of evidence: what is written is what is read, and an interrupted dump is continued."""

import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from admin.evidence import rows
from admin.evidence.bundle import Bundle, is_bundle, write
from admin.evidence.collect import Dump
from admin.evidence.manifest import Manifest, NodeFacts, NoEvidence
from admin.evidence.simulated import Wipe, record
from admin.evidence.tables import TABLES, Row
from admin.evidence.witnesses import (
    TOLD_AFTER_S,
    Account,
    CopiedLog,
    LogChunk,
    LogWasCut,
    LogWasTrimmed,
    Running,
    witnesses,
)
from admin.evidence.writing import EvidenceWriter, PartFormat
from qsync import record as records
from qsync.client.one_node import NodeConnection
from qsync.data import body
from qsync.errors import Compacted, Unavailable, WrongKey
from qsync.record import Entry, EntryKind, LimboRef, ref_body
from qsync.sim.plan import Plan
from qsync.store.contract import PlacedLog
from qsync.store.log import LmdbLog
from qsync.store.memory import NOBODY
from qsync.store.segments.log import SegmentLog
from qsync.wire import packed
from tests.unit.logs import some
from tests.unit.logs import write as write_of


def log(count: int, *, term: int = 1) -> list[Entry]:
    entries: list[Entry] = []
    crc = 0
    for index in range(1, count + 1):
        entry = records.make(
            index=index,
            term=term,
            origin=1,
            lsn=index,
            kind=EntryKind.CONFIRM,
            flags=0,
            time=0.0,
            body=ref_body(LimboRef(owner=1, lsn=index - 1)),  # type: ignore[arg-type]  # plain numbers
            previous=crc,
        )
        crc = entry.crc
        entries.append(entry)
    return entries


class Scripted:
    """A node that says what it is told to say, and counts what it is asked for."""

    def __init__(self, entries: list[Entry], *, confirmed: int, uuid: str = "u1") -> None:
        self.entries = entries
        self.facts = NodeFacts(node=1, name="n1", uuid=uuid, confirmed=confirmed, last=len(entries))
        self.asked: list[int] = []

    def account(self) -> Account:
        return Account(facts=self.facts, cluster_uuid="c")

    def stretches(self, first: int, last: int | None, opening: int) -> Iterator[LogChunk]:
        self.asked.append(first)
        wanted = self.entries[first - 1 : last]
        for at in range(0, len(wanted), 7):
            raw = records.encode(wanted[at : at + 7])
            yield LogChunk(first + at, packed.pack(raw, opening=opening).rows)

    def digests(self, node: int) -> list[Row]:
        return rows.digest_rows(node, 1, {"s": "d"})


def test_a_bundle_is_read_as_it_was_written(tmp_path: Path) -> None:
    manifest = Manifest(run_id="r", source="drill", seed=7, nodes=(NodeFacts(node=2, name="b"),))
    write(tmp_path, manifest, {"nemesis": [{"number": 1, "f": "kill", "value": {"node": 2}}]})
    found = Bundle.open(tmp_path)
    known = replace(manifest, rows={"nemesis": 1}, checksums=found.manifest.checksums)
    assert found.manifest == known
    (row,) = found.rows("nemesis")
    assert set(row) == set(TABLES["nemesis"].columns)
    assert (row["run_id"], row["f"], row["value"], row["type"]) == ("r", "kill", {"node": 2}, None)
    assert list(found.rows("wal")) == []


def test_what_is_no_bundle_is_refused_with_the_reason(tmp_path: Path) -> None:
    assert not is_bundle(tmp_path)
    with pytest.raises(NoEvidence, match=r"has no manifest\.json"):
        Bundle.open(tmp_path)
    (tmp_path / "manifest.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(NoEvidence, match="format 99"):
        Bundle.open(tmp_path)
    write(tmp_path, Manifest(run_id="r", source="drill"), {"digests": [{"node": 1}]})
    with pytest.raises(NoEvidence, match=r"digests\.jsonl:1 lacks digest, generation, index"):
        list(Bundle.open(tmp_path).rows("digests"))


def test_a_dump_holds_every_entry_with_what_its_checksum_covers(tmp_path: Path) -> None:
    entries = log(250)
    bundle = Dump(tmp_path, part_entries=10).collect(
        [Scripted(entries, confirmed=250)], source="nodes"
    )
    found = list(bundle.rows("wal"))
    assert [each["crc"] for each in found] == [each.crc for each in entries]
    assert (found[9]["ref_owner"], found[9]["ref_lsn"], found[9]["kind"]) == (1, 9, "CONFIRM")
    assert bundle.manifest.rows == {"wal": 250, "status": 0, "digests": 1}
    assert (bundle.manifest.nodes[0].first, bundle.manifest.nodes[0].last) == (1, 250)


def test_a_dump_goes_on_behind_the_parts_in_which_all_was_confirmed(tmp_path: Path) -> None:
    entries = log(40)
    Dump(tmp_path, part_entries=10).collect([Scripted(entries, confirmed=25)], source="nodes")
    again = Scripted(log(52), confirmed=50)
    bundle = Dump(tmp_path, part_entries=10).collect([again], source="nodes")
    assert again.asked == [21]
    assert [row["index"] for row in bundle.rows("wal")] == list(range(1, 53))
    assert bundle.manifest.rows["wal"] == 52


def test_a_dump_of_another_directory_begins_anew(tmp_path: Path) -> None:
    Dump(tmp_path, part_entries=10).collect([Scripted(log(40), confirmed=40)], source="nodes")
    again = Scripted(log(12, term=2), confirmed=0, uuid="u2")
    bundle = Dump(tmp_path, part_entries=10).collect([again], source="nodes")
    assert again.asked == [1]
    assert {row["term"] for row in bundle.rows("wal")} == {2}
    assert bundle.manifest.rows["wal"] == 12


def test_a_wiped_node_is_of_the_next_generation(tmp_path: Path) -> None:
    def node(number: int, uuid: str) -> Scripted:
        found = Scripted(log(12), confirmed=12, uuid=uuid)
        found.facts = replace(found.facts, node=number, name=f"n{number}")
        return found

    Dump(tmp_path, part_entries=10).collect([node(1, "u1"), node(2, "u2")], source="nodes")
    again = [node(1, "u1"), node(2, "u3")]
    bundle = Dump(tmp_path, part_entries=10).collect(again, source="nodes")
    assert [each.generation for each in bundle.manifest.nodes] == [1, 2]
    assert again[1].asked == [1]
    found = {(row["node"], row["generation"], row["index"]) for row in bundle.rows("wal")}
    assert found == {(node, node, index) for node in (1, 2) for index in range(1, 13)}


def test_an_interrupted_dump_goes_on_where_it_stopped(tmp_path: Path) -> None:
    class Unplugged(Scripted):
        def stretches(self, first: int, last: int | None, opening: int) -> Iterator[LogChunk]:
            for each in super().stretches(first, last, opening):
                if each.first > 30:
                    raise OSError("unplugged")
                yield each

    with pytest.raises(OSError, match="unplugged"):
        Dump(tmp_path, part_entries=10).collect([Unplugged(log(52), confirmed=52)], source="nodes")
    again = Scripted(log(52), confirmed=52)
    bundle = Dump(tmp_path, part_entries=10).collect([again], source="nodes")
    assert again.asked == [31]
    assert [row["index"] for row in bundle.rows("wal")] == list(range(1, 53))


def test_a_log_that_is_cut_while_it_is_read_is_read_again(tmp_path: Path) -> None:
    class Cut(Scripted):
        def stretches(self, first: int, last: int | None, opening: int) -> Iterator[LogChunk]:
            begun = len(self.asked)
            for each in super().stretches(first, last, opening):
                if each.first > 30 and not begun:
                    self.entries = self.entries[:20] + log(40, term=2)[20:]
                    raise LogWasCut
                yield each

    node = Cut(log(52), confirmed=20)
    bundle = Dump(tmp_path, part_entries=10).collect([node], source="nodes")
    terms = [row["term"] for row in bundle.rows("wal")]
    assert terms == [1] * 20 + [2] * 20


def test_a_log_that_is_trimmed_while_it_is_read_is_read_from_where_it_begins(
    tmp_path: Path,
) -> None:
    class Trimmed(Scripted):
        def stretches(self, first: int, last: int | None, opening: int) -> Iterator[LogChunk]:
            begun = len(self.asked)
            for each in super().stretches(first if not begun else 41, last, opening):
                if each.first > 30 and not begun:
                    raise LogWasTrimmed
                yield each

    node = Trimmed(log(52), confirmed=52)
    bundle = Dump(tmp_path, part_entries=10).collect([node], source="nodes")
    bundle.check_whole()
    assert bundle.manifest.nodes[0].first == 41
    assert [row["index"] for row in bundle.rows("wal")] == list(range(41, 53))


def test_a_running_node_tells_that_what_is_read_next_was_trimmed() -> None:
    class Line:
        greeting = SimpleNamespace(features=(packed.FEATURE,))

        def ask(self, _request: object) -> object:
            raise WrongKey("an older release")

        def post(self, _request: object) -> None: ...

        def receive(self, _request: object) -> object:
            raise Compacted("the log begins at 9", details={"first": 9})

    running = Running(cast("NodeConnection", Line()))
    with pytest.raises(LogWasTrimmed):
        next(running.stretches(1, None, 0))


def test_a_log_that_is_always_being_cut_is_given_up(tmp_path: Path) -> None:
    class Restless(Scripted):
        def stretches(self, first: int, last: int | None, opening: int) -> Iterator[LogChunk]:
            yield from super().stretches(first, 5, opening)
            raise LogWasCut

    with pytest.raises(NoEvidence, match="again and again"):
        Dump(tmp_path).collect([Restless(log(9), confirmed=0)], source="nodes")


def test_parquet_holds_what_lines_hold(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the [spark] extra")
    from admin.checker.parquet import rows_of_parquet  # noqa: PLC0415 - needs the extra

    entries = log(25)
    lines = Dump(tmp_path / "a", run_id="r", part_entries=10)
    columns = Dump(
        tmp_path / "b", run_id="r", part_entries=10, writer=EvidenceWriter(PartFormat.PARQUET)
    )
    found = list(lines.collect([Scripted(entries, confirmed=25)], source="nodes").rows("wal"))
    bundle = columns.collect([Scripted(entries, confirmed=25)], source="nodes")
    parts = bundle.parts("wal")
    assert [each.path.suffix for each in parts] == [".parquet"] * 3
    assert [row for part in parts for row in rows_of_parquet(part, "r")] == found


def test_openings_that_are_too_short_are_asked_for_again(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the [spark] extra")
    content = body.encode((bytes(16), 7, 1), [[512, b"k" * 200, b"v"]], [])
    entry = records.make(
        index=1, term=1, origin=1, lsn=1, kind=1, flags=1, time=0.0, body=content, previous=0
    )
    openings: list[int] = []

    class Long(Scripted):
        def stretches(self, first: int, last: int | None, opening: int) -> Iterator[LogChunk]:
            openings.append(opening)
            return super().stretches(first, last, opening)

    dump = Dump(tmp_path, writer=EvidenceWriter(PartFormat.PARQUET))
    bundle = dump.collect([Long([entry], confirmed=1)], source="nodes")
    assert openings == [64, 384]
    assert bundle.manifest.rows["wal"] == 1


STORED: dict[str, tuple[Callable[[Path], PlacedLog], str]] = {
    "lmdb": (lambda path: LmdbLog(path, identity=NOBODY), "data.mdb"),
    "segments": (lambda path: SegmentLog(path, identity=NOBODY), "000000000001.log"),
}


@pytest.mark.parametrize("form", sorted(STORED))
def test_a_copy_of_a_log_is_evidence_and_stays_as_it_is(tmp_path: Path, form: str) -> None:
    made, (opened, name) = some(9), STORED[form]
    stored = opened(tmp_path / "log")
    stored.recover()
    stored.write(write_of(made[:4], confirmed=0))
    stored.write(write_of(made[4:], confirmed=7))
    stored.close()
    copy = tmp_path / "log"
    before = (copy / name).read_bytes()
    with pytest.raises(NoEvidence, match="is the log of some node"), witnesses([str(copy)]):
        pass
    with witnesses([f"3={copy}"]) as found:
        assert found == [CopiedLog(copy, 3)]
        bundle = Dump(tmp_path / "out", part_entries=5).collect(found, source="directories")
    (node,) = bundle.manifest.nodes
    assert (node.node, node.confirmed, node.last) == (3, 7, 9)
    assert [row["crc"] for row in bundle.rows("wal")] == [each.crc for each in made]
    again = [each.rows.entries for each in CopiedLog(copy, 3).stretches(6, None, 8)]
    assert sum(again) == 4
    assert (copy / name).read_bytes() == before


def test_damage_is_told_with_its_place(tmp_path: Path) -> None:
    stored = LmdbLog(tmp_path / "log", identity=NOBODY)
    stored.recover()
    stored.write(write_of(some(9)))
    stored.close()
    file = tmp_path / "log" / "data.mdb"
    # The length of the last body: it seems to be longer than there is.
    raw = file.read_bytes()
    at = raw.rindex(some(9)[8].raw) + 30
    file.write_bytes(raw[:at] + bytes((127,)) + raw[at + 1 :])
    with pytest.raises(NoEvidence, match="log is damaged: torn entry"):
        list(CopiedLog(tmp_path / "log", 1).stretches(1, None, 8))


def test_a_damaged_copy_of_segments_gives_what_holds_and_says_what_does_not(
    tmp_path: Path,
) -> None:
    stored = SegmentLog(tmp_path / "log", identity=NOBODY)
    stored.recover()
    stored.write(write_of(some(9)[:4]))
    stored.write(write_of(some(9)[4:]))
    stored.close()
    file = tmp_path / "log" / "000000000001.log"
    file.write_bytes(file.read_bytes().replace(b"body 7", b"body 8"))
    with witnesses([f"1={tmp_path / 'log'}"]) as found:
        bundle = Dump(tmp_path / "out").collect(found, source="directories")
    assert [row["index"] for row in bundle.rows("wal")] == [1, 2, 3, 4]
    (facts,) = bundle.manifest.nodes
    assert facts.problem.startswith("a checksum that does not hold in record 2")
    assert bundle.manifest.gaps == {"wal": f"the log of n1 is damaged: {facts.problem}"}


def test_who_does_not_answer_is_named_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(Unavailable, match=address) as found, witnesses([address]):
        pass
    assert "name the directory" in str(found.value.hint)


def test_a_node_that_is_silent_is_waited_for_as_long_as_one_says_and_not_in_silence() -> None:
    told: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = f"127.0.0.1:{mute.getsockname()[1]}"
        limited = witnesses([address], timeout=TOLD_AFTER_S * 1.5, tell=told.append)
        with pytest.raises(Unavailable, match=address), limited:
            pass
    assert told == [f"waiting for {address}, up to 1.5 s"]


def test_what_is_no_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(b"nonsense" * 4096)
    with pytest.raises(NoEvidence, match="cannot be opened"):
        CopiedLog(tmp_path, 1).account()


def test_nodes_of_two_clusters_are_no_evidence_of_one(tmp_path: Path) -> None:
    class Foreign(Scripted):
        def account(self) -> Account:
            return Account(facts=replace(self.facts, node=2), cluster_uuid="other")

    both = [Scripted(log(1), confirmed=0), Foreign(log(1), confirmed=0)]
    with pytest.raises(NoEvidence, match="2 clusters"):
        Dump(tmp_path / "new" / "folder").collect(both, source="nodes")
    assert not any(tmp_path.iterdir())  # nothing was read, so nothing is left


def test_a_simulated_run_leaves_evidence_of_all_it_did(tmp_path: Path) -> None:
    report, bundle = record(Plan(seed=3, events=800), tmp_path)
    assert report.held, report.describe()
    counted = {name: len(list(bundle.rows(name))) for name in TABLES}
    assert counted == bundle.manifest.rows
    assert all(counted.values()), counted
    assert bundle.manifest.seed == 3
    last: dict[int, int] = {}
    for row in bundle.rows("wal"):
        node, index = int(str(row["node"])), int(str(row["index"]))
        last[node] = max(last.get(node, 0), index)
    assert {node.node: node.last for node in bundle.manifest.nodes} == last


def wiped_in(bundle: Bundle) -> list[object]:
    return [row["value"] for row in bundle.rows("nemesis") if row["f"] == "wipe"]


def test_a_wiped_node_is_another_generation_of_it(tmp_path: Path) -> None:
    # Not every run has a moment when all the others can do without the node.
    plans = (Plan(seed=seed, nodes=3, events=1500) for seed in range(1, 4))
    runs = (record(each, tmp_path / f"{each.seed}", wipe=Wipe(node=2, after=1.0)) for each in plans)
    report, bundle = next(each for each in runs if wiped_in(each[1]))
    assert report.held, report.describe()
    assert wiped_in(bundle) == [2]
    assert {row["node"]: row["generation"] for row in bundle.rows("wal")} == {1: 1, 2: 2, 3: 1}
    lives = {row["generation"] for row in bundle.rows("status") if row["node"] == 2}
    assert lives == {1, 2}


@pytest.mark.pure
def test_an_onlooker_lets_a_broken_run_go_on(tmp_path: Path) -> None:
    plans = (Plan(seed=seed, events=1500, mutant="quorum_minus_one") for seed in range(1, 20))
    runs = ((plan, *record(plan, tmp_path / "stopped")) for plan in plans)
    plan, _, short = next(each for each in runs if each[1].broken is not None)
    _, long = record(plan, tmp_path / "on", judged=False)
    assert len(list(long.rows("events"))) > len(list(short.rows("events")))


def test_readers_of_the_feed_of_a_run_are_recorded(tmp_path: Path) -> None:
    # Not in every run do both have the time to begin.
    plans = (Plan(seed=seed, events=1500) for seed in range(1, 6))
    runs = (list(record(each, tmp_path / f"{each.seed}")[1].rows("feeds")) for each in plans)
    rows = next(each for each in runs if {row["reader"] for row in each} == {1, 2})
    assert any(row["places"] for row in rows)
