"""Real processes for tests: a lab that always ends, values put into it, waiting for facts."""

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

import qsync
from admin.checker.rules import catalogue
from admin.checker.rules.run import RunTables
from admin.checker.verdict import Result
from admin.cluster import settling, surveys
from admin.doctor import disks
from admin.evidence.bundle import Bundle
from admin.lab import lab
from qsync.errors import OutcomeUnknown, Unavailable

ROOT = Path(__file__).parents[2]
FORMAT = [("id", "unsigned"), ("value", "string")]
PATIENT = {"election__timeout": "20s", "replication__timeout": "1s"}
"""For tests in which nobody else is to lead, not even after a machine has paused for 3 s."""


def need_room(path: Path) -> None:
    """Skip where the doctor would rightly say that the disk of the path is nearly full."""
    usage = shutil.disk_usage(path)
    if disks.room_below(disks.ROOM_SHARE_TIGHT, usage.free, usage.total):
        pytest.skip(f"only {usage.free >> 20} MiB of this disk are free; the doctor says so")


@contextmanager
def running(directory: Path, *, nodes: int, **options: str) -> Iterator[lab.Lab]:
    """A lab that takes writes, all nodes there; `election__timeout="2s"` sets an option."""
    with _running(directory, nodes, options, links=False) as found:
        yield found


@contextmanager
def running_proxied(directory: Path, *, nodes: int, **options: str) -> Iterator[lab.Lab]:
    """The same with proxies between its nodes, so that links can be spoiled."""
    with _running(directory, nodes, options, links=True) as found:
        yield found


@contextmanager
def _running(
    directory: Path, nodes: int, options: Mapping[str, str], *, links: bool
) -> Iterator[lab.Lab]:
    settings = {key.replace("__", "."): value for key, value in options.items()}
    found = lab.create(directory, name=directory.name, nodes=nodes, options=settings, links=links)
    try:
        found.start_all()
        settling.wait_writable(found.addresses, timeout=20)
        with qsync.connect(found.addresses, timeout=20) as db:
            db.schema.create_space("things", is_sync=True, format=FORMAT)
        until(lambda: healthy(found), "all nodes have joined")
        until(lambda: caught_up(found), "all nodes have confirmed the same")
        yield found
    finally:
        found.stop_all()


def healthy(found: lab.Lab) -> bool:
    """All nodes are in touch with a leader that takes writes."""
    return surveys.judge(surveys.survey(found.addresses)).health is surveys.ClusterHealth.HEALTHY


def caught_up(found: lab.Lab) -> bool:
    """Every node has confirmed, on its disk, what the others have; asked while nobody writes."""
    survey = surveys.survey(found.addresses)
    confirmed = {each.confirmed for each in survey.samples}
    return not survey.silent and len(confirmed) == 1 and confirmed != {0}


def drilled(drill: str | Path, out: Path) -> Bundle:
    """The evidence of a drill that was run on real processes, and passed."""
    words = ["-m", "qsync", "drill", "run", str(drill), "--out", str(out)]
    done = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        timeout=150,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return Bundle.open(out)


def assert_passes(run: RunTables, name: str) -> None:
    """It passes by facts: a rule that has nothing to look at is skipped, not passed."""
    rule = catalogue.BY_ID[name]
    verdict = catalogue.verdict_of(rule, rule.find(run))
    assert verdict.result is Result.PASS, verdict.describe()
    assert verdict.facts > 0


def put(found: lab.Lab, row: list[object]) -> None:
    """Through the current leader."""
    with qsync.connect(found.addresses, timeout=20) as db:
        db.space("things").replace(row)


def until(fact: Callable[[], object], what: str, *, timeout: float = 30.0) -> None:
    """Ask again and again until it is so; who does not answer is asked again, too."""
    deadline = time.monotonic() + timeout
    why = ""
    while True:
        try:
            if fact():
                return
        except Unavailable as error:  # a machine may stand still for longer than a question waits
            why = f" ({error.message})"
        assert time.monotonic() < deadline, f"not within {timeout} s: {what}{why}"
        pause()


def pause() -> None:
    """A moment between two questions to another process."""
    threading.Event().wait(0.05)


class Writer(threading.Thread):
    """Writes 1, 2, 3... into a key of its own until told to stop; keeps what was acknowledged."""

    def __init__(self, found: lab.Lab, number: int, stop: threading.Event) -> None:
        super().__init__(name=f"writer {number}")
        self.number = number
        self.acked: list[int] = []
        self.unknown: list[str] = []
        self.times: list[float] = []
        self.error: BaseException | None = None
        self._found = found
        self._done = stop

    def run(self) -> None:
        try:
            with qsync.connect(self._found.addresses, timeout=30) as db:
                self._write(db)
        except BaseException as error:  # noqa: BLE001 - shown by the test that joins us
            self.error = error

    def _write(self, db: "qsync.Client") -> None:
        value = 0
        while not self._done.is_set():
            value += 1
            try:
                db.space("things").insert([self.number * 1_000_000 + value, f"{value}"])
            except OutcomeUnknown as error:
                self.unknown.append(error.token)
            else:
                self.acked.append(value)
                self.times.append(time.monotonic())
