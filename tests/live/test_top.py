"""The dashboard on a real terminal over real nodes: seen, steered, recorded, replayed."""

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyte
import pytest

from admin.cluster import settling, surveys
from admin.lab import lab
from tests.live.real import ROOT, put, running, until

pytestmark = pytest.mark.slow
COMMAND = [sys.executable, "-m", "qsync", "top"]


class Terminal:
    """A process on a terminal of its own, and what stands on it."""

    def __init__(self, args: list[str], folder: Path, *, width: int, height: int) -> None:
        self.screen = pyte.Screen(width, height)
        self._stream = pyte.ByteStream(self.screen)
        self.fd, far = pty.openpty()
        fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.before = termios.tcgetattr(far)
        self.far = far
        env = os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
        self.process = subprocess.Popen(
            [*COMMAND, *args], stdin=far, stdout=far, stderr=far, cwd=folder, env=env
        )

    def press(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def text(self) -> str:
        """After everything that has been sent by now."""
        os.set_blocking(self.fd, False)
        while True:
            try:
                self._stream.feed(os.read(self.fd, 65536))
            except BlockingIOError:
                return "\n".join(self.screen.display)

    def shows(self, *words: str) -> None:
        until(lambda: all(word in self.text() for word in words), f"{words} in\n{self.text()}")


@contextmanager
def terminal(
    args: list[str], folder: Path, *, width: int = 80, height: int = 24
) -> Iterator[Terminal]:
    made = Terminal(args, folder, width=width, height=height)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.wait(20)
        os.close(made.fd)
        os.close(made.far)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.Lab]:
    directory = tmp_path_factory.mktemp("top") / "three"
    with running(directory, nodes=3) as found:
        put(found, [1, "one"])
        yield found


def leader(found: lab.Lab) -> str:
    verdict = surveys.judge(settling.wait_writable(found.addresses, timeout=20))
    assert verdict.leader is not None
    return verdict.leader


def test_a_person_sees_the_cluster_promotes_by_name_and_quits(
    three: lab.Lab, tmp_path: Path
) -> None:
    now = leader(three)
    other = next(node.name for node in three.nodes if node.name != now)
    seed = three.addresses[0]  # one is enough
    with terminal([seed], tmp_path) as screen:
        screen.shows("HEALTHY", f"LEADER  * {now}", "n1 ", "n2 ", "n3 ", "events")
        screen.press("j" * int(other[1:]))
        screen.shows(f">{other}")
        screen.press("p")
        screen.shows(f"promote {other}? type its name:")
        screen.press("nope\r")
        screen.shows("not done, since 'nope' was typed")
        assert leader(three) == now
        screen.press("p")
        screen.shows(f"promote {other}? type its name:")
        screen.press(f"{other}\r")
        screen.shows(f"LEADER  * {other}", f"promote {other}: done")
        screen.press("s")
        screen.shows("saved")
        screen.press("q")
        assert screen.process.wait(20) == 0
        assert termios.tcgetattr(screen.far) == screen.before
    (saved,) = tmp_path.glob("*.svg")
    assert "<svg" in saved.read_text()
    assert 'url("http' not in saved.read_text()
    assert other in saved.read_text()


def test_a_dead_and_a_paused_node_show_and_come_back(three: lab.Lab, tmp_path: Path) -> None:
    now = leader(three)
    victim = next(node for node in three.nodes if node.name != now)
    with terminal([",".join(three.addresses)], tmp_path, width=200, height=50) as screen:
        screen.shows("HEALTHY")
        three.kill(victim)
        screen.shows("! DEGRADED", f"{victim.name} does not answer", "silent: Connection refused")
        three.start(victim)
        screen.shows("  HEALTHY")
        three.pause(victim)
        screen.shows("! DEGRADED", "no answer in time")
        three.resume(victim)
        screen.shows("  HEALTHY")
        screen.process.send_signal(signal.SIGINT)
        assert screen.process.wait(20) == 130
        assert termios.tcgetattr(screen.far) == screen.before


def test_told_to_end_it_leaves_the_terminal_as_it_was(three: lab.Lab, tmp_path: Path) -> None:
    with terminal([three.addresses[0]], tmp_path) as screen:
        screen.shows("LEADER")
        screen.process.send_signal(signal.SIGTERM)
        assert screen.process.wait(20) == 130
        assert termios.tcgetattr(screen.far) == screen.before


@pytest.mark.parametrize(
    "args", [["top"], ["top", "--json"], ["top", "--once"], ["status", "--watch", "10ms"]]
)
def test_a_reader_who_has_enough_is_no_failure(three: lab.Lab, args: list[str]) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "qsync", *args, "--target", three.addresses[0]],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    ) as shown:
        assert shown.stdout is not None
        assert shown.stderr is not None
        if args != ["top", "--once"]:
            shown.stdout.readline()
        shown.stdout.close()
        said = shown.stderr.read()
    assert (shown.returncode, said) == (0, b"")


def test_a_terminal_without_unicode_gets_plain_signs(three: lab.Lab) -> None:
    shown = subprocess.run(
        [*COMMAND, "--once", three.addresses[0]],
        capture_output=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONIOENCODING": "latin-1"},
        check=True,
    )
    assert b"-- events " in shown.stdout


def qsync_top(*args: str | Path, folder: Path, code: int = 0) -> str:
    done = subprocess.run(
        [*COMMAND, *map(str, args)],
        capture_output=True,
        text=True,
        timeout=50,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == code, f"{args}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_without_a_terminal_it_prints_lines_and_records_them(
    three: lab.Lab, tmp_path: Path
) -> None:
    leader(three)
    seed = three.addresses[1]
    lines = qsync_top(seed, "--for", "3s", "--record", "run.jsonl.gz", folder=tmp_path).splitlines()
    assert lines[0].split()[:3] == ["time", "health", "leader"]
    assert 2 <= len(lines[1:]) <= 4
    assert all(line.split()[1] == "healthy" for line in lines[1:])
    again = qsync_top("--replay", "run.jsonl.gz", folder=tmp_path).splitlines()
    assert again[1:2] == lines[1:2]
    found = json.loads(qsync_top("--replay", "run.jsonl.gz", "--once", "--json", folder=tmp_path))
    assert (found["schema"], found["verdict"]) == ("qsync/top/1", "healthy")
    assert len(found["nodes"]) == 3
    with terminal(["--replay", "run.jsonl.gz"], tmp_path) as screen:
        screen.shows("replay 1/", "LEADER")
        screen.press("\x1b[F")  # End
        screen.shows(f"replay {len(lines) - 1}/{len(lines) - 1}", "FROZEN")
        screen.press("q")
        assert screen.process.wait(20) == 0


def test_one_picture_for_scripts_and_3_when_nobody_is_there(three: lab.Lab, tmp_path: Path) -> None:
    leader(three)
    port = three.addresses[2].rpartition(":")[2]
    twice = f"localhost:{port},{three.addresses[2]}"
    found = json.loads(qsync_top(twice, "--once", "--json", folder=tmp_path))
    assert found["can_commit"]
    assert [node["name"] for node in found["nodes"]] == ["n1", "n2", "n3"]
    assert {"rates", "findings", "commit_s", "leaderships"} <= set(found)
    text = qsync_top(three.addresses[2], "--once", "--plain", folder=tmp_path)
    assert "LEADER  * " in text
    assert "-- events" in text
    began = time.monotonic()
    qsync_top("127.0.0.1:1", "--once", folder=tmp_path, code=3)
    assert time.monotonic() - began < 20
    qsync_top("--record", "x", "--replay", "/dev/null", folder=tmp_path, code=2)
