"""Bundles of evidence: what is written is what is read, and an interrupted dump is continued."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from admin.evidence import rows
from admin.evidence.bundle import Bundle, is_bundle, write
from admin.evidence.collect import Account, Dump
from admin.evidence.manifest import Manifest, NodeFacts, NoEvidence
from admin.evidence.simulated import Wipe, record
from admin.evidence.tables import TABLES, Row
from qsync import record as records
from qsync.record import Entry, Kind, Ref, ref_body
from qsync.sim.plan import Plan


def log(count: int, *, term: int = 1) -> list[Entry]:
    entries: list[Entry] = []
    crc = 0
    for index in range(1, count + 1):
        entry = records.make(
            index=index,
            term=term,
            origin=1,
            lsn=index,
            kind=Kind.CONFIRM,
            flags=0,
            time=0.0,
            body=ref_body(Ref(owner=1, lsn=index - 1)),  # type: ignore[arg-type]  # plain numbers
            previous=crc,
        )
        crc = entry.crc
        entries.append(entry)
    return entries


class Scripted:
    """A node that says what it is told to say, and counts what it is asked for."""

    def __init__(self, entries: list[Entry], *, confirmed: int, uuid: str = "u1") -> None:
        self.entries = entries
        self.facts = NodeFacts(node=1, name="n1", uuid=uuid, confirmed=confirmed)
        self.asked: list[int] = []

    def account(self) -> Account:
        return Account(facts=self.facts, cluster_uuid="c")

    def batches(self, first: int) -> Iterator[bytes]:
        self.asked.append(first)
        for at in range(first - 1, len(self.entries), 100):
            yield records.encode(self.entries[at : at + 100])

    def digests(self, node: int) -> list[Row]:
        return rows.digest_rows(node, 1, {"s": "d"})


def test_a_bundle_is_read_as_it_was_written(tmp_path: Path) -> None:
    manifest = Manifest(run_id="r", source="drill", seed=7, nodes=(NodeFacts(node=2, name="b"),))
    write(tmp_path, manifest, {"nemesis": [{"number": 1, "f": "kill", "value": {"node": 2}}]})
    found = Bundle.open(tmp_path)
    assert found.manifest == replace(manifest, rows={"nemesis": 1})
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


def test_nodes_of_two_clusters_are_no_evidence_of_one(tmp_path: Path) -> None:
    class Foreign(Scripted):
        def account(self) -> Account:
            return Account(facts=replace(self.facts, node=2), cluster_uuid="other")

    both = [Scripted(log(1), confirmed=0), Foreign(log(1), confirmed=0)]
    with pytest.raises(NoEvidence, match="2 clusters"):
        Dump(tmp_path).collect(both, source="nodes")


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


def test_a_wiped_node_is_another_generation_of_it(tmp_path: Path) -> None:
    plan = Plan(seed=2, nodes=3, events=1500)
    report, bundle = record(plan, tmp_path, wipe=Wipe(node=2, after=1.0))
    assert report.held, report.describe()
    assert [row["value"] for row in bundle.rows("nemesis") if row["f"] == "wipe"] == [2]
    assert {row["node"]: row["generation"] for row in bundle.rows("wal")} == {1: 1, 2: 2, 3: 1}
    lives = {row["generation"] for row in bundle.rows("status") if row["node"] == 2}
    assert lives == {1, 2}


def test_an_onlooker_lets_a_broken_run_go_on(tmp_path: Path) -> None:
    plans = (Plan(seed=seed, events=1500, mutant="quorum_minus_one") for seed in range(1, 20))
    runs = ((plan, *record(plan, tmp_path / "stopped")) for plan in plans)
    plan, _, short = next(each for each in runs if each[1].broken is not None)
    _, long = record(plan, tmp_path / "on", judged=False)
    assert len(list(long.rows("events"))) > len(list(short.rows("events")))


def test_readers_of_the_feed_of_a_run_are_recorded(tmp_path: Path) -> None:
    _, bundle = record(Plan(seed=2, events=1500), tmp_path)
    rows = list(bundle.rows("feeds"))
    assert {row["reader"] for row in rows} == {1, 2}
    assert any(row["places"] for row in rows)
