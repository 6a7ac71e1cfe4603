"""Histories spread by key are judged as in one process; no Spark needed: tasks are functions."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="needs the [spark] extra")
pytest.importorskip("pyspark", reason="needs the [spark] extra")

import pyarrow as pa

from admin.checker.bundles import history_of
from admin.checker.elle import IsolationLevel
from admin.checker.facts import FAILURES
from admin.checker.kernels.columns import Samples
from admin.checker.kernels.in_memory import MemoryKernels
from admin.checker.kernels.logs.outlines import LogOutline
from admin.checker.kernels.logs.requests import AskedRequests
from admin.checker.kernels.logs.slices import Whose
from admin.checker.kernels.logs.walk import LogWalk
from admin.checker.kinds import Hints
from admin.checker.linear import STEPS_MAX, zones
from admin.checker.operation import CompletionType, Operation, happened
from admin.checker.parquet import to_parquet
from admin.checker.quick import check_operations
from admin.checker.rules.catalogue import load
from admin.checker.spark.clients.histories import Outline, outline, spread
from admin.checker.spark.clients.jobs import decide, sessions, together
from admin.checker.spark.clients.keys import KeyVerdicts, Terms
from admin.checker.spark.clients.pairing import SCHEMA
from admin.checker.spark.clients.partitions import judge_partition
from admin.checker.spark.clients.zones import decided
from admin.checker.verdict import Result
from admin.evidence.bundle import Bundle, write
from admin.evidence.manifest import Manifest
from admin.evidence.simulated import record
from admin.evidence.tables import Row
from qsync.sim.plan import Plan
from tests.unit import histories

SEEDS = range(300)
"""Of histories of a register."""
RUNS = (2, 3, 9, 14, 24)
"""Of simulated clusters."""


def test_all_keys_at_once_are_decided_as_one_by_one() -> None:
    """A key passes exactly if the zones of one key do; whatever is no such register is left."""
    keys: list[list[Operation]] = []
    for seed in SEEDS:
        dice = Random(seed)
        apply = histories.register(values=dice.choice((None, None, 5)), cas=dice.random() < 0.1)
        clients = histories.Clients(unknown=0.1, spread=dice.choice((3, 12)))
        lived = histories.lived(dice, 30, apply, clients)
        keys.append(_spoiled(dice, lived) if seed % 2 else lived)
    table = pa.concat_tables([_table(each, key) for key, each in enumerate(keys)])
    sizes = [len(each) for each in keys]
    passes, counts = decided(table, np.repeat(np.arange(len(keys)), sizes), len(keys))
    for at, operations in enumerate(keys):
        known = happened(operations)
        assert counts[at] == len(known)
        simple = {each.f for each in operations} <= {"read", "write"}
        wanted = simple and zones.applies(known) and zones.clash(known) is None
        assert bool(passes[at]) == wanted, at
    assert 0.2 < passes.mean() < 0.8


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> list[Bundle]:
    """Clean ones, and each once more with reads that nothing explains."""
    folder = tmp_path_factory.mktemp("histories")
    found = []
    for seed in RUNS:
        _, bundle = record(Plan(seed=seed, events=1500), folder / f"seed-{seed}")
        rows = list(bundle.rows("ops"))
        for row in rows[len(rows) // 2 :]:
            if (
                row["f"] == "read"
                and row["type"] == "ok"
                and isinstance(row["value"], int)
                and row["key"] is not None
            ):
                row["value"] += 1
        spoiled = replace(bundle.manifest, run_id=f"spoiled-{seed}", rows={})
        kept = {"wal": bundle.rows("wal"), "status": bundle.rows("status"), "ops": rows}
        tables = {name: [_bare(row) for row in some] for name, some in kept.items()}
        lying = write(folder / f"spoiled-{seed}", spoiled, {**tables})
        found += [bundle, to_parquet(lying, folder / f"parquet-{seed}")]
    return found


def test_histories_spread_by_key_get_the_verdicts_of_one_process(bundles: list[Bundle]) -> None:
    results: set[Result] = set()
    for bundle in bundles:
        run = load(bundle.path)
        operations = history_of(run)
        _, checked = check_operations(
            operations, Hints(), IsolationLevel.STRICT_SERIALIZABLE, STEPS_MAX
        )
        wanted = {each.verdict.invariant: each.verdict.result for each in checked}
        told = _spread(bundle)
        assert {each.invariant: each.result for each in told.verdicts} == wanted
        facts = {each.verdict.invariant: each.verdict.facts for each in checked}
        found = {each.invariant: each.facts for each in told.verdicts}
        # Of failures only those keys are counted in which something failed.
        assert found.pop(FAILURES, 0) <= facts.pop(FAILURES, 0)
        assert found == facts
        results.update(wanted.values())
    assert {Result.PASS, Result.FAIL} <= results


def test_what_was_only_read_is_of_a_kind_that_the_history_has(tmp_path: Path) -> None:
    steps = [("add", "a", 3), ("read", "b", []), ("read", "c", 0), ("write", "d", 1)]
    rows = [
        {"index": at, "time": at, "process": 1, "type": type_, "f": f, "key": key, "value": value}
        for number, (f, key, value) in enumerate(steps)
        for at, type_ in ((2 * number, "invoke"), (2 * number + 1, "ok"))
    ]
    bundle = write(tmp_path, Manifest(run_id="only-read", source="test"), {"ops": rows})
    assert {each.result for each in _spread(bundle).verdicts} <= {Result.PASS, Result.SKIPPED}
    rows[5]["value"] = 1
    bundle = write(tmp_path / "wrong", bundle.manifest, {"ops": rows})
    assert Result.FAIL in {each.result for each in _spread(bundle).verdicts}


def test_the_log_settles_what_nobody_heard_of(bundles: list[Bundle], tmp_path: Path) -> None:
    unknown = applied = 0
    for bundle in [*bundles, *(_unheard(each, tmp_path) for each in bundles[::2])]:
        name, known = bundle.manifest.run_id, outline(bundle.path)
        found = decide({name: bundle.manifest}, {name: known}, _logs(bundle, known))[name]
        settled = {(str(e.session), e.seq): e.kind for e in history_of(load(bundle.path))}
        for request in found.unknown:
            assert (settled[request] is CompletionType.OK) == (request in found.applied), (
                name,
                request,
            )
        unknown += len(found.unknown)
        applied += len(found.applied & found.unknown)
    assert 0 < applied < unknown


def test_a_process_that_begins_twice_is_no_history(tmp_path: Path) -> None:
    line = {"time": 0, "process": 1, "type": "invoke", "f": "read"}
    manifest = Manifest(run_id="twice", source="test")
    bundle = write(tmp_path, manifest, {"ops": [{"index": n, **line} for n in (0, 1)]})
    with pytest.raises(ValueError, match="process 1 begins twice, at line 1"):
        outline(bundle.path)


def test_two_lines_with_one_index_are_no_history(tmp_path: Path) -> None:
    line = {"index": 4, "time": 0, "process": 1, "f": "read"}
    rows: list[Row] = [line | {"type": type_} for type_ in ("invoke", "ok")]
    bundle = write(tmp_path, Manifest(run_id="one-index", source="test"), {"ops": rows})
    with pytest.raises(ValueError, match="two lines have the index 4"):
        outline(bundle.path)
    with pytest.raises(ValueError, match="two lines have the index 4"):
        history_of(load(bundle.path))


def test_lines_in_any_order_are_the_same_history(bundles: list[Bundle], tmp_path: Path) -> None:
    bundle = bundles[0]
    rows = [_bare(row) for row in bundle.rows("ops")]
    Random(1).shuffle(rows)
    # With the same log, which settles what nobody heard of.
    wal = [_bare(row) for row in bundle.rows("wal")]
    mixed = write(tmp_path, replace(bundle.manifest, rows={}), {"wal": wal, "ops": rows})
    assert not outline(mixed.path).ordered
    assert _spread(mixed) == _spread(bundle)


def _unheard(bundle: Bundle, folder: Path) -> Bundle:
    """The same run, of which clients did not hear that their numbered requests were done."""
    name = f"unheard-{bundle.manifest.run_id}"
    rows = [_bare(row) for row in bundle.rows("ops")]
    for row in rows:
        if row["type"] == "ok" and row.get("seq"):
            row["type"] = "info"
    wal = [_bare(row) for row in bundle.rows("wal")]
    manifest = replace(bundle.manifest, run_id=name, rows={})
    return write(folder / name, manifest, {"wal": wal, "ops": rows})


def _spread(bundle: Bundle) -> KeyVerdicts:
    """What the jobs do, in this process."""
    name, known = bundle.manifest.run_id, outline(bundle.path)
    logs = _logs(bundle, known)
    fates = decide({name: bundle.manifest}, {name: known}, logs)
    numbers = pa.RecordBatch.from_pydict({"id": [0]})
    rows = list(spread([bundle.path], {name: known}, fates, 3)(iter([numbers])))
    sessioned = frozenset({name} if known.sessioned else ())
    fs = {name: frozenset(known.fs)}
    judged = judge_partition(Terms(), sessioned, fs)(iter(rows))
    told = sessions(judged) if sessioned else judged
    packed = [each for batch in told for each in batch.column("said").to_pylist()]
    return together([KeyVerdicts.unpacked(each) for each in packed])


def _logs(bundle: Bundle, known: Outline) -> dict[Whose, LogOutline]:
    run = load(bundle.path)
    name = run.manifest.run_id
    asked = AskedRequests.of({}, known.unknown)
    found = {}
    for here in MemoryKernels(run).slices:
        _, *log = here.whose
        upto = run.confirmed.get((log[0], log[1]), 0)
        walk = LogWalk(log[0], log[1], Samples(), [], upto=upto, asked=asked)
        walk.next_slice(here)
        found[name, log[0], log[1]] = walk.outline()
    return found


def _bare(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != "run_id"}


def _spoiled(dice: Random, operations: list[Operation]) -> list[Operation]:
    """One read answers what some other one did."""
    reads = [at for at, each in enumerate(operations) if each.f == "read"]
    if len(reads) < 2:
        return operations
    one, other = dice.sample(reads, 2)
    fresh = list(operations)
    fresh[one] = replace(fresh[one], value=operations[other].value)
    return fresh


def _table(operations: list[Operation], key: int) -> pa.Table:
    rows = [
        {
            "run_id": "r",
            "part": json.dumps(key),
            "key": json.dumps(key),
            "number": each.number,
            "process": each.process,
            "f": each.f,
            "value": None if each.value is None else json.dumps(each.value),
            "ended": each.ended,
            "kind": each.kind.value,
        }
        for each in operations
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)
