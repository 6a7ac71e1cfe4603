"""How much of the disk nodes take while they are written to for long, and how soon one starts then.

`python -m tests.bench.disk_growth [WRITES [ROW_BYTES [KEYS]]] [SECTION.OPTION=VALUE ...]`: three
nodes of a lab of its own, so many writes of so large rows over so many keys. Twenty times meanwhile
it prints what the largest directory takes (log, rows, snapshots), the most that it took since the
sample before (`peak`, looked at a thousand times in all), and the memory of the largest process:
its own and that of mapped files. Megabytes everywhere. Then a follower is stopped and started, and
killed and started, and it is measured each time how soon it has all. The soak is `disk_growth
10000000 1000 10000`, which must stay below 3 GB a node; the start with ten million rows is
`disk_growth 10000000 100 10000000`, which must stay below 15 s.
"""

import contextlib
import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from admin.cluster import ask
from admin.lab import lab as labs
from qsync.client.blocking import Client, connect
from qsync.errors import Unavailable
from qsync.status import decode
from qsync.status.record import NodeStatus
from tests.bench.resident import resident
from tests.bench.started import started_lab

SPACE = "written"
BATCH_ROWS = 2_000
SAMPLES, LOOKS = 20, 1_000
TIMEOUT_S = 120.0
MEGA = 1e6
DEFAULTS = (200_000, 1_000, 10_000)
"""Writes, bytes of a row, keys."""
PARTS = ("log", "data", "snap")


def disk_used(path: Path) -> int:
    """Bytes of the disk that a folder takes: files may have holes, and may go meanwhile."""
    found = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                found += (Path(folder) / name).stat().st_blocks * 512
    return found


def largest(lab: labs.Lab) -> dict[str, float]:
    """What the largest directory takes, in megabytes."""
    used = [{part: disk_used(node.dir / part) / MEGA for part in PARTS} for node in lab.nodes]
    return max(used, key=lambda each: sum(each.values()))


def sample(
    lab: labs.Lab, client: Client, written: int, seconds: float, peak: float
) -> dict[str, float]:
    """Disk and memory of the largest node, and how much log is behind the snapshots."""
    most = largest(lab)
    total = sum(most.values())
    memory = [resident(_status(node.address).pid) for node in lab.nodes]
    own = max(memory, key=lambda each: each["RssAnon"])
    gc = decode.status(client.status()).gc
    return {
        "writes": written,
        "seconds": round(seconds, 1),
        **{part: round(size, 1) for part, size in most.items()},
        "total": round(total, 1),
        "peak": round(max(peak, total), 1),
        "memory": round(own["RssAnon"] / MEGA, 1),
        "mapped": round(own["RssFile"] / MEGA, 1),
        "begins": gc.signature + 1,
        "snapshots": len(gc.checkpoints),
    }


def restart(lab: labs.Lab, end: signal.Signals) -> float:
    """Seconds from the start of a follower that `end` has ended until it has everything."""
    follower = next(each for each in lab.nodes if _status(each.address).role == "follower")
    goal = max(_status(each.address).confirmed for each in lab.nodes)
    process = follower.process
    assert process is not None
    process.send(end)
    if not process.wait_gone(TIMEOUT_S):
        raise SystemExit(f"{follower.name} still runs {TIMEOUT_S:.0f} s after {end.name}")
    begin = time.perf_counter()
    lab.start(follower)
    while not _has(follower.address, goal):
        time.sleep(0.01)
    return time.perf_counter() - begin


def _has(address: str, goal: int) -> bool:
    """Whether the node answers and has the log up to there."""
    try:
        return _status(address).written >= goal
    except Unavailable:
        return False


def _status(address: str) -> NodeStatus:
    return decode.status(ask.status(address, timeout=TIMEOUT_S))


def main() -> None:
    """Write, print a line a sample and the result as JSON."""
    options = [each for each in sys.argv[1:] if "=" in each]
    numbers = [int(each.replace("_", "")) for each in sys.argv[1:] if "=" not in each]
    writes, row_bytes, keys = (*numbers, *DEFAULTS[len(numbers) :])
    curve: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as name, started_lab(Path(name), options) as lab:
        with connect(lab.addresses, timeout=TIMEOUT_S) as client:
            fields = [{"name": "key", "type": "unsigned"}, {"name": "value", "type": "varbinary"}]
            client.schema.create_space(SPACE, is_sync=True, format=fields)
            space, value = client.space(SPACE), os.urandom(row_bytes)
            begin, shown, looked, peak = time.perf_counter(), 0, 0, 0.0
            for at in range(0, writes, BATCH_ROWS):
                if at * LOOKS >= looked * writes:
                    looked += 1
                    peak = max(peak, sum(largest(lab).values()))
                if at * SAMPLES >= shown * writes:
                    shown += 1
                    curve.append(sample(lab, client, at, time.perf_counter() - begin, peak))
                    print(json.dumps(curve[-1]), file=sys.stderr, flush=True)
                    peak = 0.0
                count = min(BATCH_ROWS, writes - at)
                space.replace_many([[(at + each) % keys, value] for each in range(count)])
            seconds = time.perf_counter() - begin
            curve.append(sample(lab, client, writes, seconds, peak))
        most = max(each["peak"] for each in curve)
        result = {"megabytes_max": most, "writes_per_second": round(writes / seconds)}
        starts = {
            f"start_after_{how}_s": round(restart(lab, end), 2)
            for how, end in (("stop", signal.SIGTERM), ("kill", signal.SIGKILL))
        }
        print(json.dumps({**result, **starts, "curve": curve}))


if __name__ == "__main__":
    main()
