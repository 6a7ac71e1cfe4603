"""`make bench-peers`: qsync in both forms, etcd, Tarantool and PySyncObj, in turn, interleaved.

Every contestant has three nodes on loopback that run all the while. Each workload goes round them
so many times, beginning with another one each time, so that what the machine does to one it does
to all. Who is missing is told, and the others go on. Progress goes to standard error.
"""

import argparse
import contextlib
import json
import os
import platform
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench.peers import picture
from tests.bench.peers.cluster import FAILURES, PeerCluster
from tests.bench.peers.comparison import Comparison, Contestant
from tests.bench.peers.etcd_cluster import EtcdCluster, EtcdGoCluster
from tests.bench.peers.pysyncobj_cluster import PySyncObjCluster
from tests.bench.peers.qsync_cluster import QsyncCluster, compiled, pure
from tests.bench.peers.tarantool_cluster import TarantoolCluster
from tests.bench.peers.workloads import WORKLOADS, PeerFailed

PURE, COMPILED = "qsync", "qsync-compiled"
FAILOVER = "failover"
NAMES = (PURE, COMPILED, "etcd", "etcd-go", "tarantool", "pysyncobj")


def options(argv: list[str] | None = None) -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(prog="make bench-peers", description=__doc__)
    parser.add_argument("--peers", default=",".join(NAMES), help="who takes part")
    parser.add_argument(
        "--tree", action="append", default=[], metavar="NAME=PATH", help="one more qsync checkout"
    )
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="a checkout's interpreter",
    )
    parser.add_argument("--workloads", default=",".join(each.name for each in WORKLOADS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="of one run")
    parser.add_argument("--failovers", type=int, default=3)
    parser.add_argument("--keys", type=int, default=1_000_000, help="for memory and restart; 0: no")
    parser.add_argument("--to", default="etcd", help="whose ratios")
    parser.add_argument("--fetch", action="store_true", help="take missing peers from packages")
    parser.add_argument("--priority", type=int, default=0, help="niceness of all autogroups")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--svg", type=Path, help="draw the ratios into this file")
    return parser.parse_args(argv)


def say(text: str) -> None:
    """Progress, with the time."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", file=sys.stderr, flush=True)


def contestant(name: str, folder: Path, told: argparse.Namespace) -> PeerCluster:
    """Raises PeerFailed when it cannot take part."""
    own = folder / name
    own.mkdir()
    trees = dict(each.split("=", 1) for each in told.tree)
    if name in {PURE, COMPILED, *trees}:
        if name == COMPILED:
            say("compiling, which takes a minute or two unless it was done before")
        made = Path(trees[name]) if name in trees else {PURE: pure, COMPILED: compiled}[name](own)
        python = dict(each.split("=", 1) for each in told.python).get(name, sys.executable)
        return QsyncCluster(own, priority=told.priority, name=name, tree=made, python=python)
    kinds: dict[str, Callable[..., PeerCluster]] = {
        "etcd": EtcdCluster,
        "etcd-go": EtcdGoCluster,
        "tarantool": TarantoolCluster,
        "pysyncobj": PySyncObjCluster,
    }
    if name not in kinds:
        raise PeerFailed(f"there are {', '.join(NAMES)} and what --tree names")
    return kinds[name](own, priority=told.priority, fetch=told.fetch)


def compare(told: argparse.Namespace, folder: Path) -> Comparison:
    """Everything that was asked for."""
    missing: dict[str, str] = {}
    names = [*told.peers.split(","), *(each.partition("=")[0] for each in told.tree)]
    before = os.getloadavg()[0]
    with contextlib.ExitStack() as ending:
        there: list[tuple[PeerCluster, Contestant]] = []
        for name in filter(None, names):
            try:
                cluster = contestant(name, folder, told)
                ending.callback(cluster.close)
                cluster.start()
                version = cluster.version()
            except FAILURES as why:
                missing[name] = str(why)
                say(f"{name} takes no part: {why}")
                continue
            say(f"{name} runs: {version}")
            found = Contestant(
                name=name, version=version, durable=cluster.durable, notes=cluster.notes
            )
            there.append((cluster, found))
        for cluster, found in there:
            found.idle_mib = max(cluster.memory_mib())
        _workloads(there, told)
        for _ in range(told.failovers):
            for cluster, found in there:
                if FAILOVER in found.refused:
                    continue
                with _told(found, FAILOVER):
                    found.failover_s.append(cluster.failover())
        if told.keys:
            _memory(there, told)
    return Comparison(
        conditions=conditions(f"make bench-peers ARGS={_quoted()}", before),
        seconds=told.seconds,
        keys=told.keys,
        contestants=[found for _, found in there],
        missing=missing,
    )


def _workloads(there: list[tuple[PeerCluster, Contestant]], told: argparse.Namespace) -> None:
    wanted = told.workloads.split(",")
    for workload in (each for each in WORKLOADS if each.name in wanted):
        for turn in range(told.rounds):
            at = turn % max(1, len(there))
            for cluster, found in there[at:] + there[:at]:
                if workload.name in found.refused:
                    continue
                with _told(found, workload.name):
                    run = cluster.measure(workload, told.seconds)
                    found.runs.setdefault(workload.name, []).append(run)
                    say(
                        f"{workload.name:10} {found.name:15} {run.ops_per_second:9,.0f}/s  p50 "
                        f"{run.p50_ms:7.2f} ms  nodes {run.servers_us:6.1f} us  "
                        f"client {run.client_us:5.1f} us"
                    )


def _memory(there: list[tuple[PeerCluster, Contestant]], told: argparse.Namespace) -> None:
    for cluster, found in there:
        with _told(found, f"{told.keys:,} keys"):
            say(f"{found.name}: putting {told.keys:,} keys")
            cluster.fill(told.keys)
            found.full_mib = max(cluster.memory_mib())
            for _ in range(max(1, told.rounds)):
                found.restart_s.append(cluster.restart())
            say(f"{found.name}: {found.full_mib} MiB, restarts {found.restart_s}")


@contextlib.contextmanager
def _told(found: Contestant, what: str) -> Iterator[None]:
    """What one cannot do is noted, and not asked again; the others go on."""
    try:
        yield
    except FAILURES as why:
        found.refused[what] = str(why)
        say(f"{found.name}: {what}: {why}")


def _quoted() -> str:
    return shlex.quote(" ".join(map(shlex.quote, sys.argv[1:])))


def conditions(command: str, before: float) -> dict[str, str]:
    """How it was measured, and on what. `before`: the load average at the beginning."""
    cpu = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    return {
        "command": command,
        "machine": f"{os.cpu_count()} x {cpu}, {platform.release()}, Python "
        f"{platform.python_version()}",
        "load average": f"{before:.1f} before, {os.getloadavg()[0]:.1f} after",
        "date": time.strftime("%Y-%m-%d"),
    }


def main() -> int:
    """See above."""
    told = options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # children are ended on the way out
    with tempfile.TemporaryDirectory(prefix="qsync-peers-") as folder:
        found = compare(told, Path(folder))
    if told.svg:
        told.svg.write_text(picture.svg(found, to=told.to), "utf-8")
    if told.json:
        print(json.dumps(found.as_json(), indent=2))
    else:
        print("\n".join(found.markdown(to=told.to)))
    return 0 if found.contestants else 1


if __name__ == "__main__":
    raise SystemExit(main())
