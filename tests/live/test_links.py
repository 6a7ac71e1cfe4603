"""Links of a real lab, cut and healed with the commands a user types."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import qsync
from admin.cluster import surveys
from admin.lab import lab
from admin.links.control import spoiled
from admin.links.rules import DirectedLink, LinkRule
from qsync.errors import ConfigError
from tests.live import real

pytestmark = pytest.mark.slow


def command(*args: str | Path, code: int = 0) -> str:
    """Run a command of the lab."""
    words = [sys.executable, "-m", "qsync", "lab", *map(str, args)]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=60, cwd=real.ROOT, check=False
    )
    assert done.returncode == code, f"{args}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A lab of three whose links go through the proxy."""
    command("up", "--dir", tmp_path / "cut")
    yield tmp_path / "cut"
    lab.load(tmp_path / "cut").remove()


def leader(found: lab.Lab) -> str:
    return surveys.judge(surveys.survey(found.addresses)).leader or ""


def test_a_leader_that_is_cut_off_is_replaced_and_follows_when_it_is_healed(home: Path) -> None:
    found = lab.load(home)
    first = leader(found)
    with qsync.connect(found.addresses, timeout=20) as db:
        db.schema.create_space("things", is_sync=True, format=real.FORMAT)
        command("cut", first, "--dir", home)
        rules = [
            each["rule"] for each in json.loads(command("links", "--dir", home, "--json"))["links"]
        ]
        assert rules.count({"cut": True}) == 4
        db.space("things").replace([1, "without it"])
    real.until(lambda: leader(found) not in {"", first}, "another node leads")
    command("heal", "--dir", home)
    real.until(
        lambda: real.healthy(found),
        "all three are in touch again",
    )
    with qsync.connect([found.node(first).address], timeout=20) as db:
        assert db.space("things").get(1, consistency="linearizable") == [1, "without it"]


def test_a_lab_without_a_proxy_says_so_and_a_stopped_one_leaves_none(tmp_path: Path) -> None:
    command("up", "--nodes", "1", "--direct", "--dir", tmp_path / "one")
    try:
        command("cut", "n1", "--dir", tmp_path / "one", code=2)
    finally:
        lab.load(tmp_path / "one").remove()
    command("up", "--nodes", "2", "--dir", tmp_path / "two")
    two = lab.load(tmp_path / "two")
    proxy = two.proxy
    assert proxy is not None
    some = [DirectedLink("n1", "n2"), DirectedLink("n1", "n9")]
    with pytest.raises(ConfigError, match="the proxy carries no link from n1 to n9"):
        two.control.set(some, LinkRule(cut=True))
    assert spoiled(two.control.show()) == [], "all of it is done, or nothing"
    two.stop_all()
    assert not proxy.alive
    two.remove()
