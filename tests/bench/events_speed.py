"""What it costs a node to write down what happens inside of it: two clusters, one that does.

`.venv/bin/python -m tests.bench.events_speed [PAIRS]`: short runs in turn on both, since others use
the machine too, and the processor time of all nodes for each operation; the median of the ratios.
"""

import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from admin.cluster import settling
from admin.lab import lab
from admin.lab.lab import Lab
from admin.workload import bench
from admin.workload.bench import BenchPlan
from qsync.store.eventfile import FOLDER

SECONDS = 3.0
PLANS = {
    "put, 64 clients": BenchPlan(clients=64, seconds=SECONDS),
    "put, 1 client": BenchPlan(clients=1, seconds=SECONDS),
    "get, 64 clients": BenchPlan(workload="get", clients=64, seconds=SECONDS),
}


def main() -> None:
    """Measure and print."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        labs = {told: _lab(Path(folder) / told, told, running) for told in ("false", "true")}
        for name, plan in PLANS.items():
            _compare(name, plan, labs, pairs)


def _lab(directory: Path, told: str, running: ExitStack) -> Lab:
    options = {"node.events": told, "node.events_bytes_max": "1TiB", "store.writer": "inline"}
    made = lab.create(directory, name=directory.name, nodes=3, options=options)
    running.callback(made.stop_all)
    made.start_all()
    settling.wait_writable(made.addresses, timeout=30)
    return made


def _compare(name: str, plan: BenchPlan, labs: dict[str, Lab], pairs: int) -> None:
    off: list[float] = []
    on: list[float] = []
    size, operations = _size(labs["true"]), 0
    for pair in range(pairs):
        for told in ("false", "true") if pair % 2 else ("true", "false"):
            spent, done = _spent(plan, labs[told])
            (on if told == "true" else off).append(spent)
            operations += done if told == "true" else 0
    size = _size(labs["true"]) - size
    ratio = statistics.median(b / a for a, b in zip(off, on, strict=True))
    print(
        f"{name:16} off {statistics.median(off):7.1f} us, on {statistics.median(on):7.1f} us an "
        f"operation, all nodes; {ratio - 1:+.1%}; {size / operations:.0f} bytes, all nodes"
    )


def _spent(plan: BenchPlan, where: Lab) -> tuple[float, int]:
    found = bench.run(plan, where.addresses, timeout=30)
    assert not found.errors, found.first_error
    return found.cpu_us_per_op["leader"] + found.cpu_us_per_op["followers"], found.operations


def _size(where: Lab) -> int:
    return sum(
        file.stat().st_size for node in where.nodes for file in (node.dir / FOLDER).iterdir()
    )


if __name__ == "__main__":
    main()
