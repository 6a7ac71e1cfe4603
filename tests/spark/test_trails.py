"""A task that follows logs in the files of a bundle finds what one process finds; no Spark."""

from collections import defaultdict
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="needs the [spark] extra")

import pyarrow as pa

from admin.checker.kernels.in_memory import MemoryKernels, failed_requests, followed
from admin.checker.kernels.logs import neighbours
from admin.checker.kernels.logs.requests import AskedRequests
from admin.checker.kernels.registry import LOG_KERNELS
from admin.checker.rules.catalogue import load
from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import RunTables
from admin.checker.spark.job_schema import FACTS, PROVEN, FindingRow
from admin.checker.spark.kernels import proven
from admin.checker.spark.proofs import prove
from admin.checker.spark.scan_context import ScanContext
from admin.checker.spark.trails import follow, trails
from admin.checker.spark.units import plan
from tests.spark.planted import cases

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

IN_ORDER = {each.id for each in LOG_KERNELS} - {each.id for each in neighbours.KERNELS}
"""The others take slices in any order."""


def test_followed_bundles_break_what_one_process_finds(tmp_path: Path) -> None:
    for name, bundle, _ in cases(tmp_path):
        run = load(bundle.path)
        wanted, given = followed(MemoryKernels(run)), _given(run)
        for span in (11, None):
            walked = trails({bundle.manifest.run_id: bundle.path}, plan([bundle.path], span))
            numbers = pa.RecordBatch.from_arrays([pa.array(range(len(walked)))], ["id"])
            found: dict[str, RuleFinding] = defaultdict(RuleFinding)
            for each in follow(walked, given)(iter([numbers])):
                for row in map(FindingRow._make, zip(*each.to_pydict().values(), strict=True)):
                    if row.what == FACTS:
                        found[row.invariant].facts += row.amount
                    elif row.what == PROVEN:
                        found[row.invariant].breaches.append(proven(row))
            prove([bundle.path], {bundle.manifest.run_id: found})
            for id_ in IN_ORDER:
                assert found[id_] == wanted[id_], (name, span)


def _given(run: RunTables) -> ScanContext:
    name = run.manifest.run_id
    return ScanContext(
        confirmed={(name, *log): upto for log, upto in run.confirmed.items()},
        requests={name: AskedRequests.of(failed_requests(run.ops))},
    )
