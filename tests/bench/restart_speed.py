"""What a start costs: reading the log, the index of it in memory, and opening the rows.

`.venv/bin/python -m tests.bench.restart_speed [KEYS [BATCH]]`: a log of so many puts of 100 bytes,
so many of them a commit, all folded into rows, in a folder for temporary files. Each step in a
process of its own, by the clock, with the memory that it took; the best of three, so that others
on the machine count little. `closed` is after an orderly end, `killed` after a kill.
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from election.messages import Ballot, Index, Replica, Term
from qsync import record
from qsync.core.ready import Write
from qsync.core.replicated_log import ReplicatedLog
from qsync.data import members
from qsync.data.keys import prefix
from qsync.store.contract import Identity
from qsync.store.segments.log import SegmentLog
from qsync.store.spaces import SpaceStore

ME = Identity(cluster="bench", instance="bench", replica=Replica(1), name="n1")
BALLOT = Ballot(term=Term(1), vote=Replica(1), member=True)
FOLD_ROWS = 50_000


@dataclass
class Rows:
    """Rows for the spaces."""

    folded: Index
    puts: list[tuple[bytes, bytes]]
    deletes: tuple[bytes, ...] = ()


def make(folder: Path, keys: int, batch: int) -> None:
    """The log and the rows."""
    log, crc = SegmentLog(folder / "log", identity=ME), record.CHAIN_SEED
    log.recover()
    draw = random.Random(1)
    for first in range(1, keys + 1, batch):
        entries = []
        for index in range(first, min(first + batch, keys + 1)):
            entry = record.make(
                index=index,
                term=1,
                origin=1,
                lsn=index,
                kind=record.EntryKind.PROMOTE if index == 1 else record.EntryKind.TXN,
                flags=0,
                time=0.0,
                body=record.ref_body(record.LimboRef(Replica(1), record.Lsn(0)))
                if index == 1
                else draw.randbytes(150),
                previous=crc,
            )
            crc = entry.crc
            entries.append(entry)
        log.write(
            Write(
                id=1,
                cut_above=None,
                cut_reason="",
                entries=entries,
                ballot=BALLOT,
                confirmed=entries[-1].index,
            )
        )
    log.close()
    spaces = SpaceStore(folder / "data")
    names = sorted(prefix(512, 0) + b"\x04" + draw.randbytes(16) for _ in range(keys))
    for at in range(0, keys, FOLD_ROWS):
        puts = [(name, b"v" * 100) for name in names[at : at + FOLD_ROWS]]
        spaces.fold(Rows(Index(min(at + FOLD_ROWS, keys)), puts))
    spaces.close()


def _resident() -> int:
    """Anonymous memory of this process, in KiB."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return int(text.split("RssAnon:")[1].split()[0])


def start(folder: Path) -> dict[str, float]:
    """One start: seconds a step, and KiB."""
    found: dict[str, float] = {}
    begun, before = time.perf_counter(), _resident()

    def done(name: str) -> None:
        nonlocal begun
        found[name] = time.perf_counter() - begun
        begun = time.perf_counter()

    spaces = SpaceStore(folder / "data")
    done("rows")
    log = SegmentLog(folder / "log", identity=ME)
    recovered = log.recover()
    done("log")
    replicated = ReplicatedLog(
        confirmed=recovered.last,
        recent_bytes_max=1 << 20,
        tail=log.entries,
        founding=None,
        codec=members.CODEC,
    )
    replicated.recover(log.stored())
    done("index")
    found["all"] = sum(found.values())
    found["KiB"] = _resident() - before
    assert replicated.log.last == recovered.last
    log.close()
    spaces.close()
    return found


def best(folder: Path, before: Callable[[], None]) -> dict[str, float]:
    """The fastest of three starts."""
    runs: list[dict[str, float]] = []
    for _ in range(3):
        before()
        code = (
            "from tests.bench.restart_speed import *; print(json.dumps(start(Path(sys.argv[1]))))"
        )
        words = [sys.executable, "-c", code, str(folder)]
        said = subprocess.run(words, capture_output=True, check=True)
        runs.append(json.loads(said.stdout))
    return min(runs, key=lambda each: each["all"])


def main() -> None:
    """Measure and print."""
    keys, batch = (int(each) for each in (sys.argv[1:] + ["1000000", "32"][len(sys.argv) - 1 :]))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, keys, batch)
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()

        def killed() -> None:
            (folder / "data" / "mark").write_text(boot, encoding="ascii")

        for state, before in (("closed", lambda: None), ("killed", killed)):
            told = best(folder, before)
            print(state, *(f"{each} {value:.3f}" for each, value in told.items()))


if __name__ == "__main__":
    main()
