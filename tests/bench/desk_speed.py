"""What the operator's desk costs: start-up of commands and test clusters, the dashboard's share.

`.venv/bin/python -m tests.bench.desk_speed [RUNS]`: the least of many runs, because others use the
machine too; the processor time counts the work of the process alone.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from admin.lab.playground import Playground
from tests.terminal import screen

ROOT = Path(__file__).parents[2]
NODES = 5
TOP_S = 20.0


def main() -> None:
    """Measure and print."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory() as folder:
        starts = [_started(Path(folder) / f"c{number}") for number in range(max(3, runs // 5))]
        print(f"test cluster of 3 nodes takes writes after  {min(starts):.2f} s")
        cluster = Playground(Path(folder) / "desk", nodes=NODES)
        try:
            place = str(cluster.lab.dir)
            _commands(place, runs)
            _top(cluster, Path(folder))
        finally:
            cluster.close()


def _commands(place: str, runs: int) -> None:
    for args in (("-e", "box.info.ro", place), ("status", place), ("--version",)):
        wall, cpu = _least(args, runs)
        print(f"qsync {' '.join(args).replace(place, 'LAB'):30} wall {wall:.3f} s  cpu {cpu:.3f} s")


def _least(args: tuple[str, ...], runs: int) -> tuple[float, float]:
    """Seconds by the clock and of the processor."""
    walls: list[float] = []
    cpus: list[float] = []
    command = [sys.executable, "-m", "qsync", *args]
    for _ in range(runs):
        began, spent = time.perf_counter(), _children()
        subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        walls.append(time.perf_counter() - began)
        cpus.append(_children() - spent)
    return min(walls), min(cpus)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _started(folder: Path) -> float:
    began = time.perf_counter()
    cluster = Playground(folder)
    took = time.perf_counter() - began
    cluster.close()
    return took


def _top(cluster: Playground, home: Path) -> None:
    """A dashboard at the usual four pictures a second, on a large screen."""
    with screen.running("top", cluster.lab.dir, home=home, columns=200, rows=50) as shown:
        shown.until("HEALTHY")
        before, began = _spent(shown.process.pid), time.monotonic()
        while time.monotonic() < began + TOP_S:
            shown.until("HEALTHY")
            shown.watch()
        share = (_spent(shown.process.pid) - before) / (time.monotonic() - began)
    print(f"qsync top, {NODES} nodes, 200x50, 4 a second: {share:.1%} of a core")


def _spent(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
