"""How fast a log gets from running nodes into Arrow: `.venv/bin/python -m tests.bench.fetch_speed`.

Prints rows a second (wall clock) for one node and for three at once, and the CPU seconds of both
sides; then how the latency of writes changes while a checker fetches.
"""

import argparse
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.synchronize import Event
from pathlib import Path

import qsync
from admin.cluster import settling
from admin.evidence import arrow
from admin.evidence.columns import columns
from admin.evidence.parts import SHORT
from admin.evidence.witnesses import Running
from admin.lab import lab
from qsync.client.one_node import NodeConnection

VALUE = "x" * 100


def fill(addresses: Sequence[str], entries: int) -> None:
    """Put rows of 100 bytes under keys of 16, many at a time."""

    def some(number: int) -> None:
        with qsync.connect(addresses, timeout=60) as db:
            space = db.space("things")
            for at in range(number, entries, 64):
                space.replace([f"{at:016d}", VALUE])

    with ThreadPoolExecutor(64) as pool:
        list(pool.map(some, range(64)))


def fetch(address: str) -> int:
    """All of a node's log, as Arrow; how many rows."""
    rows = 0
    with NodeConnection(address, timeout=60) as line:
        for stretch in Running(line).stretches(1, None, SHORT):
            opened = columns(stretch.rows)
            assert opened.whole
            rows += arrow.wal(opened, run_id="r", node=1, generation=1).num_rows
    return rows


def keep_fetching(address: str, begun: Event, done: Event) -> None:
    """Again and again, in a process of its own."""
    while not done.is_set():
        fetch(address)
        begun.set()


def timed(what: str, found: lab.Lab, run: Callable[[], int]) -> None:
    """Print rows a second and CPU."""
    processes = [node.process for node in found.nodes if node.process is not None]
    before = sum(each.cpu_seconds() for each in processes)
    mine, wall = time.process_time(), time.perf_counter()
    rows = run()
    wall, mine = time.perf_counter() - wall, time.process_time() - mine
    theirs = sum(each.cpu_seconds() for each in processes) - before
    print(
        f"{what}: {rows} rows in {wall:.2f} s, {rows / wall / 1e6:.2f}M rows/s; "
        f"CPU {mine:.2f} s here, {theirs:.2f} s in nodes: {rows / (mine + theirs) / 1e6:.2f}M "
        "rows per CPU second"
    )


def latency(addresses: Sequence[str], seconds: float) -> list[float]:
    """How long single writes take."""
    times = []
    with qsync.connect(addresses, timeout=60) as db:
        space = db.space("things")
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            begun = time.perf_counter()
            space.replace(["latency", VALUE])
            times.append(time.perf_counter() - begun)
    return times


def shown(times: list[float]) -> str:
    """Median and the slowest hundredth."""
    ordered = sorted(times)
    p99 = ordered[len(ordered) * 99 // 100]
    return f"p50 {statistics.median(times) * 1e3:.2f} ms, p99 {p99 * 1e3:.2f} ms"


def main() -> None:
    """Start a lab, fill it, fetch it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=200_000)
    given = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        found = lab.create(Path(folder) / "lab", name="bench", nodes=3)
        try:
            found.start_all()
            settling.wait_writable(found.addresses, timeout=60)
            with qsync.connect(found.addresses, timeout=60) as db:
                db.schema.create_space(
                    "things", is_sync=True, format=[("id", "string"), ("value", "string")]
                )
            fill(found.addresses, given.entries)
            for _ in range(2):
                timed("one node", found, lambda: fetch(found.addresses[0]))
            with ThreadPoolExecutor(3) as pool:
                three = lambda: sum(pool.map(fetch, found.addresses))  # noqa: E731 - short
                timed("three nodes", found, three)
            print("writes alone:", shown(latency(found.addresses, 3)))
            spawning = multiprocessing.get_context("spawn")
            done, begun = spawning.Event(), spawning.Event()
            other = spawning.Process(target=keep_fetching, args=(found.addresses[0], begun, done))
            other.start()
            begun.wait()
            print("writes while a log is fetched:", shown(latency(found.addresses, 3)))
            done.set()
            other.join()
        finally:
            found.stop_all()


if __name__ == "__main__":
    main()
