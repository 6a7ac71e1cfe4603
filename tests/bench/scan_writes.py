"""What scans do to those who write meanwhile: latencies of puts in an open loop, and their stalls.

`python -m tests.bench.scan_writes [KEYS [RATE [SECONDS]]]`: three nodes of a lab of its own, so
many rows in a space, so many puts a second into another one. First alone, then beside a client
that reads all rows in pages of 1,000, one page after another, then beside one that counts them, in
one request each time. Prints percentiles, their ratio to those alone, and the longest stalls.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from admin.workload.stalls import CAUSES_SHOWN
from qsync.client.blocking import Client, connect
from tests.bench.peers.cluster import different
from tests.bench.started import PROGRAM, started_lab

SPACE = "scanned"
FILL_ROWS = 5_000
PAGE_ROWS = 1_000
STALLS_SHOWN = 3
SHARES = ("p50", "p99", "p99.9", "max")
TIMEOUT_S = 60.0


def fill(client: Client, keys: int) -> None:
    """Put so many rows."""
    fields = [{"name": "key", "type": "varbinary"}, {"name": "value", "type": "varbinary"}]
    client.schema.create_space(SPACE, is_sync=True, if_not_exists=True, format=fields)
    rows = different(keys)
    for at in range(0, keys, FILL_ROWS):
        some = [[key, bytes(100)] for key in rows[at : at + FILL_ROWS]]
        client.space(SPACE).replace_many(some)


def scan(client: Client, kind: str) -> int:
    """Look at all rows once; how many there were."""
    space = client.space(SPACE)
    if kind == "counts":
        return space.count()
    seen = 0
    page = space.select(iterator="all", limit=PAGE_ROWS)
    while page:
        seen += len(page)
        page = space.select(iterator="all", limit=PAGE_ROWS, after=page[-1])
    return seen


def scan_for_ever(addresses: str, kind: str) -> None:
    """A client of its own, until it is ended."""
    with connect(addresses.split(","), timeout=TIMEOUT_S) as client:
        while True:
            begin = time.perf_counter()
            rows = scan(client, kind)
            took = time.perf_counter() - begin
            print(f"{kind}: {rows:,} rows in {took:.2f} s", file=sys.stderr, flush=True)


def puts(addresses: tuple[str, ...], rate: int, seconds: float) -> dict[str, float]:
    """Latencies in microseconds."""
    options = ("--workload", "put", "--clients", "8", "--open-loop", str(rate), "--stalls")
    where = ("--seconds", str(seconds), "--target", ",".join(addresses), "--json")
    said = subprocess.run(
        (*PROGRAM, "bench", *options, *where), check=True, capture_output=True, text=True
    )
    found = json.loads(said.stdout)
    for stall in sorted(found["stalls"], key=lambda each: -each["ms"])[:STALLS_SHOWN]:
        print(f"  {stall['ms']:7.1f} ms  {'; '.join(stall['causes'][:CAUSES_SHOWN])}")
    print(f"  {found['operations']:,} puts, {found['errors'] + found['unknown']} without success")
    latencies: dict[str, float] = found["latency_us"]
    return latencies


def main() -> None:
    """Measure and print."""
    given = sys.argv[1:]
    if given[:1] == ["--scan"]:
        scan_for_ever(given[2], given[1])
    keys, rate, seconds = (int(each) for each in (given + ["1000000", "2000", "20"][len(given) :]))
    with tempfile.TemporaryDirectory() as folder, started_lab(Path(folder)) as lab:
        addresses = lab.addresses
        with connect(addresses, timeout=TIMEOUT_S) as client:
            fill(client, keys)
        alone = puts(addresses, rate, seconds)
        print("alone  ", "  ".join(f"{each} {alone[each] / 1e3:.2f} ms" for each in SHARES))
        for kind in ("pages", "counts"):
            command = (sys.executable, "-m", "tests.bench.scan_writes", "--scan", kind)
            with subprocess.Popen((*command, ",".join(addresses))) as scanner:
                try:
                    found = puts(addresses, rate, seconds)
                finally:
                    scanner.terminate()
            told = (
                f"{each} {found[each] / 1e3:.2f} ms ({found[each] / max(alone[each], 1e-3):.1f}x)"
                for each in SHARES
            )
            print(f"{kind:7}", "  ".join(told))


if __name__ == "__main__":
    main()
