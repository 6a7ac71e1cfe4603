"""From how many rows on Spark judges a bundle sooner than one process does, and what that takes.

`.venv/bin/python -m tests.bench.engine_crossing [ROWS]...`: each bundle is judged by `qsync check`
as a user starts it, with either engine in turn; Spark's start is a part of its time.
"""

import argparse
import contextlib
import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from admin.checker.engine import CheckEngine, rows_in
from tests.bench.big_bundle import make

ROWS = (100_000, 300_000, 600_000, 1_000_000)
"""Of the logs; what surrounds them is as much again."""
TRIES = 2
SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of Linux."""
ENGINES = (CheckEngine.QUICK, CheckEngine.SPARK)


@dataclass(frozen=True, slots=True)
class EngineRun:
    """One check: seconds by the clock, and of the processor; the most memory that it had."""

    wall: float
    cpu: float
    memory: int


def judged(path: Path, engine: CheckEngine) -> EngineRun:
    """The best of some tries, each a process of its own. Both engines must let it pass."""
    found = []
    for _ in range(TRIES):
        begun = time.perf_counter()
        command = (sys.executable, "-m", "qsync", "check", path, "--engine", engine, "--json")
        with tempfile.TemporaryFile() as out:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out)
            _, status, used = os.wait4(child.pid, 0)
            wall = time.perf_counter() - begun
            child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            told = json.load(out)
        assert (told["verdict"], told["engine"]) == ("pass", engine), told["sentence"]
        cpu = sum(each.ru_utime + each.ru_stime for each in (used, *orphans()))
        found.append(EngineRun(wall, cpu, used.ru_maxrss << 10))
    return min(found, key=lambda each: each.wall)


def orphans() -> Iterator[resource.struct_rusage]:
    """What processes used whose parent has ended: Spark's Java, and its Python tasks."""
    with contextlib.suppress(ChildProcessError):
        while True:
            _, _, used = os.wait4(-1, 0)
            yield used


def crossing(sizes: Sequence[int], ratios: Sequence[float]) -> int | None:
    """Where one process takes as long as Spark, on a line between two sizes; None: nowhere here."""
    for (few, below), (many, above) in pairwise(zip(sizes, ratios, strict=True)):
        if below < 1 <= above:
            return round(few + (many - few) * (1 - below) / (above - below))
    return None


def main() -> None:
    """A line for each size, and the crossing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", type=int, default=list(ROWS))
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "qsync-bench")
    given = parser.parse_args()
    assert ctypes.CDLL(None).prctl(SUBREAPER, 1) == 0, "Java becomes a child of ours, to be counted"
    sizes, ratios = [], []
    for rows in given.rows:
        path = given.folder / f"whole-{rows}"
        if not (path / "manifest.json").exists():
            make(path, rows, whole=True)
        size = rows_in([path])
        quick, spark = (judged(path, engine) for engine in ENGINES)
        sizes.append(size)
        ratios.append(quick.wall / spark.wall)
        print(
            f"{size:12,} rows: one process {quick.wall:6.1f} s, Spark {spark.wall:6.1f} s, "
            f"ratio {ratios[-1]:5.2f}; of the processor {quick.cpu:.1f} s and {spark.cpu:.1f} s; "
            f"{quick.memory / size:,.0f} bytes of memory a row; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
    found = crossing(sizes, ratios)
    print("they do not cross here" if found is None else f"they cross at {found:,} rows")


if __name__ == "__main__":
    main()
