"""How many rows and operations a second the checker judges on Spark, beside DuckDB.

`make bench-spark`, or `.venv/bin/python -m tests.bench.spark_speed [ROWS]...`. On a busy machine
look at the second figure: of a second of CPU, Java and Python together.
"""

import argparse
import contextlib
import functools
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq

from admin.checker.kernels.logs.between import compare
from admin.checker.kernels.logs.findings import LogFindings
from admin.checker.kernels.logs.neighbours import neighbours
from admin.checker.kernels.logs.slices import Body, ReferenceColumns, RequestColumns, Slice
from admin.checker.spark import java
from admin.checker.spark.borders import SliceEnds
from admin.checker.spark.clients.histories import ResolvedRequests
from admin.checker.spark.clients.jobs import judge_histories, outlines
from admin.checker.spark.clients.keys import Terms
from admin.checker.spark.columns import slices
from admin.checker.spark.job_schema import DDL, PROVEN, UNEQUAL, FindingRow
from admin.checker.spark.judge import judge
from admin.checker.spark.kernels import finding_rows
from admin.checker.spark.scan import look
from admin.checker.spark.scan_context import Batches, ScanContext, batch
from admin.checker.spark.session import open_session
from admin.checker.spark.units import Unit, plan, tables
from admin.checker.verdict import Result
from admin.evidence.manifest import Manifest
from tests.bench.big_bundle import make
from tests.bench.big_history import make as make_history

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = (1_000_000, 3_000_000, 10_000_000, 30_000_000)
OPERATIONS = (1_000_000, 3_000_000)
CORES = 2
TRIES = 2
LACKING = frozenset(
    {
        *("fates-shared", "leader-complete", "fenced"),
        *("promise-kept", "reads-by-place", "same-directory"),
    }
)
"""Invariants that have nothing to examine in a large bundle, the latter two if one node leads."""


class Bench:
    """A warm session. Figures are of the best of some tries."""

    def __init__(self, session: "SparkSession") -> None:
        self.session = session
        java = session.sparkContext._jvm
        assert java is not None
        self._pid = int(java.java.lang.ProcessHandle.current().pid())

    def told(
        self, what: str, amount: int, unit: str, work: Callable[[], object], *, tries: int = TRIES
    ) -> None:
        """Time some tries of it, and print the best."""
        walls, spent = [], []
        for _ in range(tries):
            begun, before = time.perf_counter(), self._cpu()
            work()
            walls.append(time.perf_counter() - begun)
            spent.append(self._cpu() - before)
        wall, cpu, load = min(walls), min(spent), os.getloadavg()[0]
        rates = f"{amount / wall:12,.0f} {unit}/s {amount / cpu:12,.0f} a CPU second"
        print(f"  {what:46} {rates} {wall:7.2f} s  load {load:.1f}", flush=True)

    def run(self, units: Sequence[Unit], task: Callable[[Unit], Iterator[FindingRow]]) -> list[str]:
        """A task over all units; returns what is broken."""

        def look_at(batches: Batches) -> Batches:
            for each in batches:
                for number in each.column(0).to_pylist():
                    yield batch(task(units[number]))

        frame = self.session.range(0, len(units), 1, len(units)).mapInArrow(look_at, DDL)
        return [row["message"] for row in frame.collect() if row["what"] in {PROVEN, UNEQUAL}]

    def memory(self) -> str:
        """The most that Java, and that any of its Python processes, ever had."""
        java = _peak_mb(self._pid)
        python = max((_peak_mb(pid) for pid in _below(self._pid)), default=0)
        return f"Java at most {java} MB; Python tasks at most {python} MB each"

    def _cpu(self) -> float:
        """Of this process, Java, and all that it started, but not Python tasks that have ended.

        Whoever starts those does not count them; tasks that read what they are given go on.
        """
        ticks = 0
        for pid in (os.getpid(), self._pid, *_below(self._pid)):
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2]
                ticks += sum(int(each) for each in fields.split()[11:15])
        return ticks / os.sysconf("SC_CLK_TCK")


def _below(pid: int) -> list[int]:
    """All processes that it started, and that these started."""
    found = []
    for child in java.children(pid):
        found += [child, *_below(child)]
    return found


def _peak_mb(pid: int) -> int:
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
        return next((int(x.split()[1]) >> 10 for x in lines if x.startswith("VmHWM")), 0)
    return 0


def logs(bench: Bench, folder: Path, rows: int) -> None:
    """The invariants of logs on a bundle of so many rows."""
    path = folder / f"big-{rows}"
    if not (path / "manifest.json").exists():
        make(path, rows)
    units = plan([path])
    given = ScanContext()
    print(
        f"{rows:,} rows of the logs of 3 nodes, {len(units)} tasks, {_size(path):,} MB of Parquet"
    )

    def everything(unit: Unit) -> Iterator[FindingRow]:
        yield from look(unit.run_id, tables(unit), given)

    for what, task in (
        ("log matching, aligned, alone", _matching),
        ("contiguity: index, term, lsn, chain, alone", _contiguity),
        ("all that one scan judges of logs", everything),
    ):
        odd = bench.run(units, task)
        assert not odd, odd[:3]
        bench.told(what, rows, "rows", functools.partial(bench.run, units, task))
    print(f"  {bench.memory()}")
    _duck(bench, path, rows)


def whole(bench: Bench, folder: Path, rows: int) -> None:
    """Every invariant on a bundle that has every table, beside so many rows of logs."""
    path = folder / f"whole-{rows}"
    if not (path / "manifest.json").exists():
        make(path, rows, whole=True)
    run = Manifest.load(path)
    told = ", ".join(f"{amount:,} {name}" for name, amount in run.rows.items())
    print(f"everything of 3 nodes: {told}; {_size(path):,} MB of Parquet")

    def verdicts() -> None:
        found = judge(bench.session, [path])[run.run_id]
        assert not any(each.breaches for each in found.values()), found
        lacking = {name for name, each in found.items() if not each.facts}
        assert lacking <= LACKING, lacking

    what = "the whole judgement, from plan to verdicts"
    bench.told(what, rows, "rows", verdicts, tries=1)
    print(f"  {bench.memory()}")


def clients(bench: Bench, folder: Path, operations: int) -> None:
    """Linearizability of a history of registers of unique values."""
    path = folder / f"history-{operations}"
    if not (path / "manifest.json").exists():
        make_history(path, operations)
    print(f"{operations:,} operations on registers, 5 clients a key, 2 % unknown")

    def work() -> None:
        known = outlines(bench.session, [path])
        fates = {run: ResolvedRequests(frozenset(), frozenset(), False) for run in known}
        (told,) = judge_histories(bench.session, [path], known, fates, Terms()).values()
        assert told.verdicts[0].result is Result.PASS, told
        assert told.verdicts[0].facts == operations, told

    bench.told("zones, from files to the verdict", operations, "ops", work)
    print(f"  {bench.memory()}")


def _matching(unit: Unit) -> Iterator[FindingRow]:
    none = np.empty(0, dtype=np.int64)
    flags = np.empty(0, dtype=np.bool_)
    found = []
    for piece in unit.pieces:
        table = pq.read_table(piece.path, columns=["index", "term", "crc"], use_threads=False)
        index, term, crc = (table.column(name).to_numpy() for name in ("index", "term", "crc"))
        found.append(
            Slice(
                whose=(unit.run_id, int(piece.path.parent.name.split(".")[0]), 1),
                index=index,
                term=term,
                crc=crc,
                kind=none,
                origin=none,
                lsn=none,
                flags=none,
                body=Body(none.astype(np.float64), none, none, flags),
                ref=ReferenceColumns(none, none, flags),
                request=RequestColumns(none, none, ()),
            )
        )
    for each in compare(found):
        yield FindingRow(unit.run_id, UNEQUAL, index=each.index)


def _contiguity(unit: Unit) -> Iterator[FindingRow]:
    for each in slices(unit.run_id, tables(unit)):
        found = LogFindings(*each.whose[1:])
        neighbours(each, found)
        for id_, finding in found.by_id.items():
            yield from finding_rows(unit.run_id, id_, finding)
        SliceEnds.of(each).text()


def _duck(bench: Bench, path: Path, rows: int) -> None:
    try:
        import duckdb  # noqa: PLC0415 - not needed for anything else
    except ImportError:
        print("  DuckDB is not installed (`pip install duckdb`), so it is left out")
        return
    files = f"read_parquet('{path}/wal/*/*.parquet')"
    matching = f"""
        select count(*) from (select index, term from {files} group by index, term
                              having min(crc) != max(crc))"""
    shapes = f"""
        select count(*) from (
            select index - lag(index) over w di, term - lag(term) over w dt,
                   lsn - lag(lsn) over (partition by node, origin order by index) dl
            from {files} window w as (partition by node order by index))
        where di != 1 or dt < 0 or dl != 1"""
    known = duckdb.connect(config={"threads": CORES})
    for what, query in (("log matching", matching), ("contiguity, no chain", shapes)):

        def ask(query: str = query) -> None:
            assert known.execute(query).fetchall() == [(0,)]

        bench.told(f"DuckDB {duckdb.__version__}, {CORES} threads: {what}", rows, "rows", ask)
    print(f"  this process, with DuckDB, at most {_peak_mb(os.getpid())} MB")


def _size(path: Path) -> int:
    return sum(each.stat().st_size for each in path.rglob("*.parquet")) >> 20


def main() -> None:
    """Print a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", type=int, default=list(ROWS), help="of logs; 0 for none")
    parser.add_argument("--operations", nargs="*", type=int, default=list(OPERATIONS))
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "qsync-bench")
    parser.add_argument(
        "--whole", nargs="*", type=int, default=[], help="the whole judgement beside so many rows"
    )
    given = parser.parse_args()
    begun = time.perf_counter()
    session = open_session(spark=f"local[{CORES}]")
    print(f"session in {time.perf_counter() - begun:.1f} s, {CORES} cores of {os.cpu_count()}")
    try:
        bench = Bench(session)
        for rows in filter(None, given.rows):
            logs(bench, given.folder, rows)
        for rows in given.whole:
            whole(bench, given.folder, rows)
        for operations in given.operations:
            clients(bench, given.folder, operations)
    finally:
        session.stop()


if __name__ == "__main__":
    main()
