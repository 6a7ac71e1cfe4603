"""Drills by hooks on real processes: a hook that fails, one that hangs, a driver that is killed."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import qsync
from admin.cluster import settling
from admin.drills.undo_log import UndoLog
from admin.lab import lab
from tests.live import real
from tests.live.test_drills import drill, words, write

pytestmark = pytest.mark.slow

SIGNAL = "kill -{what} $(sed 's/[^0-9]*\\([0-9]*\\).*/\\1/' {node}/node.pid)"
PAUSE = """\
drill: asleep
title: Pause a follower
hypothesis: Writes go on.
targets:
  victim: {role: follower}
workload: {clients: 2}
method:
  - {pause: victim}
  - {until: {probe: acked_again}, within: 30s}
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.Lab]:
    """Processes of a lab, of which a drill knows addresses and commands alone."""
    options = {"cluster.tag": "drills-allowed"}
    where = tmp_path_factory.mktemp("home") / "lab"
    made = lab.create(where, name="shop", nodes=3, options=options)
    try:
        made.start_all()
        settling.wait_writable(made.addresses, timeout=30)
        real.until(lambda: real.healthy(made), "all nodes have joined")
        yield made
    finally:
        made.remove()


def hooks(home: lab.Lab, *, pause: str = "", resume: str = "", timeout: str = "20s") -> Path:
    """A file of hooks; what is done besides the signals, and whether it ends with 0."""
    path = home.dir / "hooks.yaml"
    nodes = "".join(f'  {each.name}: {{address: "{each.address}"}}\n' for each in home.nodes)
    commands = {
        "pause": SIGNAL.replace("{what}", "STOP") + pause,
        "resume": SIGNAL.replace("{what}", "CONT") + resume,
    }
    actions = "".join(
        f"  {name}: {{shell: true, timeout: {timeout}, run: {json.dumps(text)}}}\n"
        for name, text in commands.items()
    )
    path.write_text(f"hooks: 1\ncluster: shop\nnodes:\n{nodes}actions:\n{actions}")
    return path


def run(tmp_path: Path, file: Path, *, code: int) -> dict[str, list[dict[str, object]]]:
    """The report of a drill that pauses a follower, and ends with this code."""
    tmp_path.mkdir()
    out = tmp_path / "run"
    drill(
        "run", write(tmp_path, PAUSE), "--hooks", file, "--confirm", "shop", "--out", out, code=code
    )
    found: dict[str, list[dict[str, object]]] = json.loads((out / "report.json").read_text())
    return found


def spaces(home: lab.Lab) -> set[str]:
    with qsync.connect(home.addresses, timeout=30) as db:
        return {each for each in db.schema.spaces() if not each.startswith("_")}


def test_a_hook_that_fails_or_hangs_is_undone_and_ends_the_drill(
    tmp_path: Path, home: lab.Lab
) -> None:
    failed = run(tmp_path / "a", hooks(home, pause="; echo no such unit; exit 4"), code=6)
    assert "no such unit" in str(failed["stopped"])
    assert [each["action"] for each in failed["commands"]] == ["pause", "resume"]
    assert [each["code"] for each in failed["commands"]] == [4, 0]
    hung = run(tmp_path / "b", hooks(home, pause="; sleep 600", timeout="1s"), code=6)
    assert hung["commands"][0]["error"] == "was ended after 1 s"
    assert real.healthy(home)
    assert spaces(home) == set()


def test_a_drill_that_nobody_named_or_that_would_take_a_space_away_does_nothing(
    tmp_path: Path, home: lab.Lab
) -> None:
    file = write(tmp_path, PAUSE)
    here = ("--hooks", hooks(home), "--out", tmp_path / "run")
    drill("run", file, *here, code=7)
    drill("run", file, *here, "--confirm", "other", code=7)
    drill("run", file, *here, "--confirm", "shop", "--target", "127.0.0.1:1", code=2)
    with qsync.connect(home.addresses, timeout=30) as db:
        db.schema.create_space("journal")
        db.space("journal").replace([1, "theirs"])
        drill("run", file, *here, "--confirm", "shop", code=7)
        assert db.space("journal").get(1) == [1, "theirs"]
        db.schema.drop_space("journal")
    assert not any(node.process is None or node.process.paused for node in home.nodes)


def test_what_a_dead_driver_left_is_undone_when_its_hook_works_again(
    tmp_path: Path, home: lab.Lab
) -> None:
    file = write(tmp_path, PAUSE + "  - {wait: 1h}\n")
    here = ("--hooks", hooks(home, resume="; exit 5"))
    with (tmp_path / "said").open("w") as said:
        driver = subprocess.Popen(
            words("drill", "run", file, *here, "--confirm", "shop", "--out", tmp_path / "run"),
            cwd=real.ROOT,
            stdout=said,
            stderr=said,
        )
    try:
        real.until(lambda: " wait " in (tmp_path / "said").read_text(), "a follower is paused")
        drill("heal", *here, code=4)  # its driver is alive
        driver.send_signal(signal.SIGKILL)
    finally:
        driver.kill()
        driver.wait()
    drill("heal", *here, code=8)
    left = UndoLog.read(home.dir / "hooks.drill")
    assert left is not None
    assert len(left.pending) == 1
    drill("heal", "--hooks", hooks(home))
    assert real.healthy(home)
    assert UndoLog.read(home.dir / "hooks.drill") is None
    assert spaces(home) == set()
