"""`qsync campaign` as a person runs it: what it counts, how it ends, and that nothing stays."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import typed
from tests.live.real import ROOT

QSYNC = [sys.executable, "-m", "qsync", "campaign"]
PATIENCE_S = 400.0
NONE_BROKEN = {
    "lost": 0,
    "doubled": 0,
    "stale": 0,
    "wrong outcomes": 0,
    "different nodes": 0,
    "nodes ended": 0,
    "operations unanswered": 0,
    "not healed": 0,
}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(500)]


def running_below(directory: Path) -> list[str]:
    """Command lines of processes that have to do with this directory."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it has just ended
        if str(directory / "lab") in words:
            found.append(words)
    return found


@pytest.mark.parametrize("more", [(), ("--secure",)], ids=["open", "secure"])
def test_a_short_campaign_breaks_much_and_finds_no_promise_broken(
    tmp_path: Path, more: tuple[str, ...]
) -> None:
    kept = tmp_path / "kept"
    done = subprocess.run(
        [*QSYNC, "--minutes", "0.35", "--seed", "5", "--keep", str(kept), "--json", *more],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["schema"] == "qsync/campaign/1"
    assert told["broken"] == NONE_BROKEN
    assert told["counts"]["acks"] > 0
    assert sum(told["faults"].values()) >= 3
    lines = (kept / "history.jsonl").read_text("utf-8").splitlines()
    whats = {json.loads(line)["what"] for line in lines}
    assert {"round", "strike", "begin", "commit", "read", "stored"} <= whats
    assert (kept / "lab" / "certs").is_dir() is bool(more)
    assert not running_below(kept)


@pytest.mark.parametrize(
    ("number", "before"),
    [
        (signal.SIGINT, ()),
        (signal.SIGTERM, ()),
        (signal.SIGTERM, ("env", "--ignore-signal=INT")),
    ],
    ids=["ctrl-c", "term", "term-in-the-background"],
)
def test_an_interrupted_campaign_leaves_no_process(
    tmp_path: Path, number: signal.Signals, before: tuple[str, ...]
) -> None:
    kept = tmp_path / "kept"
    words = [*before, *QSYNC, "--minutes", "30", "--seed", "3", "--keep", str(kept)]
    with subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        end = time.monotonic() + PATIENCE_S
        while '"strike"' not in _text(kept / "history.jsonl"):
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.1)
        assert running_below(kept)
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert not running_below(kept)


def test_who_holds_ctrl_c_down_leaves_no_process_and_no_directory(tmp_path: Path) -> None:
    """The second interrupt came while the first one was clearing up."""
    with subprocess.Popen(
        [*QSYNC, "--minutes", "30", "--seed", "3"],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        end = time.monotonic() + PATIENCE_S
        while not (found := list(tmp_path.glob("qsync-campaign-*/lab/n3/log"))):
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.1)
        directory = found[0].parents[2]
        while process.poll() is None:
            assert time.monotonic() < end
            process.send_signal(signal.SIGINT)
            time.sleep(0.02)
        _, err = process.communicate()
    assert process.returncode in {130, -signal.SIGINT}, err
    assert not running_below(directory)
    assert not directory.exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [(("--without", "gremlins"), "there is no 'gremlins'"), (("--minutes", "0"), "--minutes")],
)
def test_what_cannot_be_run_is_a_usage_error(words: tuple[str, str], why: str) -> None:
    done = typed.run("campaign", *words)
    assert done.code == 2
    assert why in done.stderr


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""
