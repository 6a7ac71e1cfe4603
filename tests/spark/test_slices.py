"""Logs in slices give the same verdicts as whole logs, wherever they are cut; no Spark needed."""

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="needs the [spark] extra")

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from admin.checker.kernels.columns import Samples
from admin.checker.kernels.in_memory import MemoryKernels, failed_requests
from admin.checker.kernels.logs.crc import ChecksumColumns, checksums
from admin.checker.kernels.logs.outlines import LogOutline
from admin.checker.kernels.logs.requests import AskedRequests
from admin.checker.kernels.logs.slices import Whose
from admin.checker.kernels.logs.walk import LogWalk
from admin.checker.parquet import to_parquet
from admin.checker.rules.catalogue import load
from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import RunTables, build
from admin.checker.spark.columns import slices
from admin.checker.spark.findings import JobOutputs, conclude
from admin.checker.spark.kernels import finding_rows
from admin.checker.spark.scan import look
from admin.checker.spark.scan_context import ScanContext
from admin.checker.spark.units import known_columns, plan
from admin.checker.spark.units import tables as tables_of
from admin.evidence.arrow import batch
from admin.evidence.bundle import Bundle, log_part
from admin.evidence.manifest import Manifest, NodeFacts, NoEvidence
from admin.evidence.tables import TABLES, Row
from tests.oracle import client_promises, feeds, receipts, rolled_back_reads, shape
from tests.oracle.entry_checksum import checksum
from tests.oracle.table import RUN_ORACLE
from tests.spark.planted import cases, clean_run, save

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ORACLES = {**RUN_ORACLE, shape.DENSE: shape.dense, shape.TERMS: shape.terms}
OF_LOGS = ORACLES.keys() - {
    client_promises.RECEIPTS,
    receipts.OWN,
    rolled_back_reads.HIDDEN,
    feeds.FEED,
}
"""Invariants that only need the logs, and who failed."""
SPANS = (3, 11, 1000)
WIDE = (15,)
SEEDS = range(60)


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> list[Bundle]:
    """All with planted faults, and clean ones: a minute of simulated runs."""
    return [bundle for _, bundle, _ in cases(tmp_path_factory.mktemp("planted"))]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return save(clean_run(0), tmp_path_factory.mktemp("clean"))


@pytest.mark.parametrize("span", WIDE)
def test_slices_of_any_width_break_what_whole_logs_break(bundles: list[Bundle], span: int) -> None:
    for bundle in bundles:
        run = load(bundle.path)
        tables = [table for unit in plan([bundle.path]) for table in tables_of(unit)]
        assert _in_slices(tables, run, span) == _whole(run), bundle.manifest.run_id


def test_slices_judge_logs_of_any_nonsense_as_whole_logs_are_judged() -> None:
    """CONFIRMs and ROLLBACKs of anything, retries, holes: dice decide. Facts, texts and proofs."""
    seen = Counter[str]()
    for seed in SEEDS:
        run, rows = _nonsense(Random(seed))
        table = known_columns(pa.Table.from_batches([batch("wal", rows)]))
        wanted = _told({id_: ORACLES[id_](run) for id_ in OF_LOGS})
        seen.update(id_ for id_, (_, breaches) in wanted.items() if breaches)
        assert _whole(run) == wanted, seed
        for span in SPANS:
            assert _in_slices([table], run, span) == wanted, (seed, span)
    assert set(seen) == OF_LOGS, "dice that never show it prove nothing"


def test_a_part_that_holds_other_entries_than_its_name_says_is_refused(
    clean: Bundle, tmp_path: Path
) -> None:
    folder = tmp_path / "renamed"
    shutil.copytree(clean.path, folder)
    place = folder / "wal" / "1.1" / f"{1:012d}-{5:012d}.jsonl"
    place.parent.mkdir(parents=True)
    (folder / "wal.jsonl").rename(place)
    with pytest.raises(NoEvidence, match=r"holds node \d, which is not what"):
        tables_of(plan([folder])[0])


def test_statistics_in_parquet_say_what_one_task_reads(clean: Bundle, tmp_path: Path) -> None:
    kept = to_parquet(clean, tmp_path / "parquet")
    whole = plan([kept.path])
    assert [(unit.first, unit.last) for unit in whole] == [(1, kept.manifest.part_entries)]
    cut = plan([kept.path], 10)
    assert len(cut) > 1
    rows = [sum(table.num_rows for table in tables_of(unit)) for unit in cut]
    assert sum(rows) == kept.manifest.rows["wal"]
    held = {i for t in tables_of(cut[1]) for i in t.column("index").to_pylist()}
    assert held
    assert held == {row["index"] for row in clean.rows("wal")} & set(range(11, 21))


def test_one_large_file_does_not_make_all_ranges_as_wide(clean: Bundle, tmp_path: Path) -> None:
    """A log in one file of many row groups, beside those of others in parts."""
    rows = [{k: v for k, v in row.items() if k != "run_id"} for row in clean.rows("wal")]
    counted = {"wal": len(rows)}
    manifest = replace(clean.manifest, part_entries=10, rows=counted, checksums={})
    for node in (each.node for each in manifest.nodes):
        own = [row for row in rows if row["node"] == node]
        size = len(own) if node == 1 else 10
        for at in range(0, len(own), size):
            some = own[at : at + size]
            place = log_part(tmp_path, node, 1, at + 1, at + len(some)).with_suffix(".parquet")
            place.parent.mkdir(parents=True, exist_ok=True)
            table = pa.Table.from_batches([batch("wal", some)])
            pq.write_table(table, place, row_group_size=10)
    manifest.save(tmp_path)
    whole = load(tmp_path)
    units = plan([tmp_path])
    assert {unit.last - unit.first for unit in units} == {9}
    assert len(units) == (max(log.last for log in whole.logs.values()) + 9) // 10
    assert sum(table.num_rows for unit in units for table in tables_of(unit)) == len(rows)


def test_checksums_of_columns_are_those_of_entries() -> None:
    dice = np.random.default_rng(7)
    size = 2000
    sealed = ChecksumColumns(
        index=np.arange(size) + 5_000_000_000,
        term=dice.integers(1, 1 << 40, size),
        origin=dice.integers(1, 1 << 31, size),
        lsn=dice.integers(1, 1 << 50, size),
        kind=dice.integers(1, 6, size),
        flags=dice.integers(0, 4, size),
        time=1.7e9 + dice.random(size),
        body_crc=dice.integers(0, 1 << 32, size),
        body_len=dice.integers(0, 5000, size),
        previous=dice.integers(0, 1 << 32, size),
    )
    rows = zip(
        *(getattr(sealed, name).tolist() for name in ChecksumColumns.__dataclass_fields__),
        strict=True,
    )
    wanted = [checksum(row[:6], (row[6], row[7], row[8]), row[9]) for row in rows]
    assert checksums(sealed).tolist() == wanted


Told = dict[str, tuple[int, list[str]]]
"""By invariant how many facts, and all that was said of each breach."""


def _told(found: Mapping[str, RuleFinding]) -> Told:
    return {id_: (found[id_].facts, sorted(map(repr, found[id_].breaches))) for id_ in OF_LOGS}


def _whole(run: RunTables) -> Told:
    memory = MemoryKernels(run)
    return _told({id_: memory.find(id_) for id_ in OF_LOGS})


def _in_slices(tables: list[pa.Table], run: RunTables, span: int) -> Told:
    """What tasks and the driver do, in this process."""
    given, name = _given(run), run.manifest.run_id
    brought, ranges = JobOutputs(), list(_cut(tables, span))
    walks: dict[Whose, LogWalk] = {}
    for each in ranges:
        brought.add(look(name, each, given))
        for here in slices(name, each):
            if here.whose not in walks:
                upto, asked = given.confirmed.get(here.whose, 0), given.requests[name]
                log = here.whose[1:]
                walks[here.whose] = LogWalk(*log, Samples(), [], upto=upto, asked=asked)
            walks[here.whose].next_slice(here)
    suspects = {log for log, walk in walks.items() if walk.suspects}
    for here in (here for each in ranges for here in slices(name, each)):
        if here.whose in suspects:
            walks[here.whose].look_again(here)
    logs = [LogOutline.parse(walk.outline().text()) for walk in walks.values()]
    for walk in walks.values():
        for id_, finding in walk.end().items():
            brought.add(finding_rows(name, id_, finding))
    found = conclude(run.manifest, brought, logs)
    MemoryKernels(run).proven(found)
    return _told(found)


def _cut(tables: list[pa.Table], span: int) -> Iterator[list[pa.Table]]:
    """Ranges of all logs, as one task would see them."""
    last = max(pc.max(table.column("index")).as_py() for table in tables)
    for first in range(0, last + 1, span):
        inside = [
            table.filter((pc.field("index") >= first) & (pc.field("index") < first + span))
            for table in tables
        ]
        yield [table for table in inside if table.num_rows]


def _nonsense(dice: Random) -> tuple[RunTables, list[Row]]:
    """Two logs that share a beginning, of controls that name whatever they like."""
    size = dice.randrange(10, 60)
    one = _log(dice, size)
    other = [dict(row) for row in one]
    fork = dice.randrange(size)
    other[fork:] = [dict(row) for row in _log(dice, size)[fork:]]
    rows = [row | {"node": node} for node, log in ((1, one), (2, other)) for row in log]
    rows = [row for row in rows if dice.random() > 0.01 or row["index"] == 1]
    rows += [dict(row) for row in rows if dice.random() < 0.01]
    nodes = tuple(
        NodeFacts(node=node, confirmed=dice.randrange(size // 2, size + 1), last=size)
        for node in (1, 2)
    )
    manifest = Manifest(run_id="dice", source="dice", voters=2, quorum=1, nodes=nodes)
    failed = [
        {
            "index": n,
            "time": n,
            "process": n,
            "type": "fail",
            "f": "write",
            "session": "s",
            "seq": n,
        }
        for n in range(1, 4)
    ]
    whole = [dict.fromkeys(TABLES["wal"].columns) | row for row in rows]
    ops = [dict.fromkeys(TABLES["ops"].columns) | row for row in failed]
    return build(manifest, {"wal": whole, "ops": ops}), whole


def _log(dice: Random, size: int) -> list[Row]:
    term, lsns = 1, {1: 0, 2: 0, 3: 0}
    kinds = dice.choice(("TTTTC", "TTTTCR", "TCR", "TTTTTTTTR"))
    log: list[Row] = []
    for index in range(1, size + 1):
        term += dice.random() < 0.06
        if dice.random() < 0.01:
            term -= 1
        origin = term % 3 + 1
        lsns[origin] += 1 + (dice.random() < 0.01)
        kind = {"T": "TXN", "C": "CONFIRM", "R": "ROLLBACK"}[dice.choice(kinds)]
        kind = "PROMOTE" if dice.random() < 0.04 else kind
        row: Row = {"generation": 1, "index": index, "term": term, "kind": kind, "origin": origin}
        row |= {"lsn": lsns[origin], "flags": 0, "crc": dice.randrange(1 << 32)}
        if kind == "TXN":
            row["flags"] = int(dice.random() < 0.6)
            row |= {"session": dice.choice("st"), "seq": index if dice.random() < 0.9 else 2}
        elif dice.random() < 0.95:
            back = dice.randrange(1, 10)
            named = log[-back] if len(log) >= back else {"origin": 0, "lsn": dice.randrange(2)}
            row |= {"ref_owner": named["origin"], "ref_lsn": named["lsn"]}
        log.append(row)
    return log


def _given(run: RunTables) -> ScanContext:
    name = run.manifest.run_id
    return ScanContext(
        confirmed={(name, *log): upto for log, upto in run.confirmed.items()},
        wanted={name: max(each.confirmed for each in run.manifest.nodes)},
        requests={name: AskedRequests.of(failed_requests(run.ops))},
    )
