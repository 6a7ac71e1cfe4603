"""Commands that are ended from outside: no process of theirs is left."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from admin.lab import lab
from admin.lab import names as lab_names
from tests.live.real import until

PATIENCE_S = 60.0
COMMAND = (sys.executable, "-m", "qsync", "demo", "--seconds", "300", "--keep")
ROOT = Path(__file__).parents[2]


def _running(kept: Path) -> int:
    return sum(node.process is not None for node in lab.load(kept / "lab").nodes)


def _all_run(kept: Path) -> bool:
    return lab_names.exists(kept / "lab") and _running(kept) == 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda each: each.name)
def test_a_demo_that_is_told_to_end_takes_its_nodes_along(
    tmp_path: Path, number: signal.Signals
) -> None:
    kept, log = tmp_path / "kept", tmp_path / "log"
    with log.open("wb") as file:
        process = subprocess.Popen([*COMMAND, str(kept)], stdout=file, stderr=file, cwd=ROOT)
    try:
        until(lambda: _all_run(kept), "the nodes run", timeout=PATIENCE_S)
        process.send_signal(number)
        assert process.wait(PATIENCE_S) == 130, log.read_text()
    finally:
        process.kill()
        process.wait()
    assert _running(kept) == 0
    assert log.read_text().endswith("interrupted\n")
    assert "Traceback" not in log.read_text()


def test_a_demo_whose_terminal_is_closed_takes_its_nodes_along(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    terminal, inside = pty.openpty()

    def own_terminal() -> None:
        os.login_tty(inside)

    process = _begin(kept, own_terminal)
    try:
        os.close(inside)
        until(lambda: _all_run(kept), "the nodes run", timeout=PATIENCE_S)
        os.close(terminal)
        assert process.wait(PATIENCE_S) == 130
    finally:
        process.kill()
        process.wait()
    assert _running(kept) == 0


def _begin(kept: Path, first: Callable[[], None]) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*COMMAND, str(kept)], preexec_fn=first, cwd=ROOT)  # noqa: PLW1509 - no other threads
