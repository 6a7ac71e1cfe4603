"""Scale curves: how operations a second change with clients, nodes, size of values, and keys.

`python -m tests.bench.peers.curves [--short] [--with FILE] [--svg FILE] [--json]`: each contestant
in turn at every point, beginning with another one each time, so that what the machine does to one
it does to all. Who cannot do a point is listed with the reason, and the rest goes on. Everything
but the number of nodes is measured on three. Where keys are put ahead, a point waits until the
nodes have folded them. Progress goes to standard error.
"""

import argparse
import contextlib
import json
import os
import shlex
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.peers import curve_picture
from tests.bench.peers.__main__ import conditions, contestant, say
from tests.bench.peers.cluster import FAILURES, NODES, PeerCluster
from tests.bench.peers.scaling import Axis, ScaleCurves, ScalePoint
from tests.bench.peers.workloads import KEYS, VALUE_BYTES, Operation, PeerWorkload

CLIENTS = 64
"""Where it is not the number of clients that changes."""
SHORT: dict[Axis, tuple[int, ...]] = {
    Axis.CLIENTS: (1, 16, 256),
    Axis.NODES: (1, 3, 5),
    Axis.VALUE_BYTES: (100, 4_000, 100_000),
    Axis.KEYS: (10_000, 50_000),
}
LONG: dict[Axis, tuple[int, ...]] = {
    Axis.CLIENTS: (1, 4, 16, 64, 256, 1_000),
    Axis.NODES: (1, 2, 3, 5, 7),
    Axis.VALUE_BYTES: (100, 1_000, 10_000, 100_000, 1_000_000),
    Axis.KEYS: (10_000, 100_000, 1_000_000, 5_000_000),
}


def workload_at(axis: Axis, value: int) -> PeerWorkload:
    """What is asked at a point."""
    return PeerWorkload(
        Operation.PUT,
        value if axis is Axis.CLIENTS else CLIENTS,
        1,
        value_bytes=value if axis is Axis.VALUE_BYTES else VALUE_BYTES,
        keys=value if axis is Axis.KEYS else KEYS,
    )


def options(argv: list[str] | None = None) -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.peers.curves", description=__doc__)
    parser.add_argument("--peers", default="qsync-compiled,etcd", help="who takes part")
    parser.add_argument("--axes", default=",".join(Axis), help="which curves")
    parser.add_argument("--short", action="store_true", help="few points: minutes, not an hour")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.0, help="of one run")
    parser.add_argument("--fetch", action="store_true", help="take missing peers from packages")
    parser.add_argument("--priority", type=int, default=0, help="niceness of all autogroups")
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--with",
        dest="earlier",
        type=Path,
        action="append",
        default=[],
        help="points of an earlier run of other axes, as --json gave them",
    )
    parser.add_argument("--svg", type=Path, help="draw the curves into this file")
    return parser.parse_args(argv)


def measure_all(told: argparse.Namespace, folder: Path) -> ScaleCurves:
    """All curves."""
    found = ScaleCurves()
    told.tree = []
    axes = [Axis(name) for name in told.axes.split(",")]
    values = SHORT if told.short else LONG
    sizes = dict.fromkeys(values[Axis.NODES]) if Axis.NODES in axes else {}
    for size in dict.fromkeys([NODES, *sizes]):
        own = folder / f"{size} nodes"
        own.mkdir()
        with _running(told, own, size, found) as there:
            if size in sizes:
                _point(there, told, found, Axis.NODES, size)
            for axis in (each for each in axes if size == NODES and each is not Axis.NODES):
                for value in values[axis]:
                    if axis is Axis.KEYS:
                        _fill(there, found, value)
                    _point(there, told, found, axis, value)
    return found


@contextlib.contextmanager
def _running(
    told: argparse.Namespace, folder: Path, size: int, found: ScaleCurves
) -> Iterator[list[PeerCluster]]:
    with contextlib.ExitStack() as ending:
        there: list[PeerCluster] = []
        for name in told.peers.split(","):
            try:
                cluster = contestant(name, folder, told)
                cluster.size = size
                ending.callback(cluster.close)
                cluster.start()
                found.versions.setdefault(name, cluster.version())
            except FAILURES as why:
                found.refuse(name, f"{size} nodes", str(why))
                say(f"{name} takes no part with {size} nodes: {why}")
                continue
            there.append(cluster)
        yield there


def _fill(there: list[PeerCluster], found: ScaleCurves, keys: int) -> None:
    for cluster in there:
        try:
            say(f"{cluster.name}: putting {keys:,} keys")
            cluster.fill(keys)
            cluster.settle()
        except FAILURES as why:
            found.refuse(cluster.name, f"{keys:,} keys", str(why))


def _point(
    there: list[PeerCluster], told: argparse.Namespace, found: ScaleCurves, axis: Axis, value: int
) -> None:
    workload = workload_at(axis, value)
    for turn in range(told.rounds):
        at = turn % max(1, len(there))
        for cluster in there[at:] + there[:at]:
            try:
                run = cluster.measure(workload, told.seconds)
            except FAILURES as why:
                found.refuse(cluster.name, f"{axis} {value:,}", str(why))
                say(f"{cluster.name}, {axis} {value:,}: {why}")
                continue
            found.add(ScalePoint(axis=axis, at=value, who=cluster.name, run=run))
            say(f"{axis:12} {value:9,} {cluster.name:15} {run.ops_per_second:9,.0f}/s")


def main() -> int:
    """See above."""
    told, before = options(), os.getloadavg()[0]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # children are ended on the way out
    with tempfile.TemporaryDirectory(prefix="qsync-curves-") as folder:
        found = measure_all(told, Path(folder))
    command = " ".join(["python -m tests.bench.peers.curves", *map(shlex.quote, sys.argv[1:])])
    found.conditions = conditions(command, before)
    for file in told.earlier:
        found.take(json.loads(file.read_text("utf-8")))
    if told.svg:
        told.svg.write_text(curve_picture.svg(found), "utf-8")
    print(json.dumps(found.as_json(), indent=2) if told.json else "\n".join(found.markdown()))
    return 0 if found.points else 1


if __name__ == "__main__":
    raise SystemExit(main())
