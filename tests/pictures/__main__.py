"""Take new pictures for the documents, from real clusters: `make pictures`.

Everything is what a terminal showed; nothing is drawn by hand. A few minutes, loopback only.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import qsync
from admin.cluster import settling, surveys
from admin.lab import lab
from admin.lab.lab import Lab
from tests.pictures import drawing, recording
from tests.terminal import screen
from tests.terminal.screen import ROOT, Screen

PICTURES = ROOT / "docs" / "pictures"
FORMAT: list[object] = [("id", "unsigned"), ("owner", "string"), ("balance", "integer")]
PROMPT = r"shop/n\d\*:\d+> ?\n"


def main() -> int:
    """All of them, or those that are named."""
    chosen = sys.argv[1:] or list(SCENES)
    with tempfile.TemporaryDirectory(prefix="qsync-pictures-") as folder:
        for name in chosen:
            SCENES[name](Path(folder) / name)
    for name in chosen:
        for path in sorted(PICTURES.glob(f"{name}.*")):
            sys.stdout.write(f"{path.relative_to(ROOT)} {path.stat().st_size} bytes\n")
    return 0


def demo(home: Path) -> None:
    """`qsync demo`, as a film and as a recording."""
    command = ("demo", "--seconds", "8")
    with screen.running(*command, home=home, rows=33, columns=100) as shown:
        taken = recording.take(shown, every=0.4, patience=180)
    assert taken.exit_code == 0, drawing.plain(taken.frames[-1].lines)
    title = " ".join(("qsync", *command))
    _write("demo.cast", recording.cast(taken, title))
    _write("demo.svg", drawing.film(taken.frames, columns=taken.columns, title=title, hold=6))


def top(home: Path) -> None:
    """The dashboard under load, a while after a failover."""
    with _shop(home) as shop, _load(shop):
        _fail_over(shop)
        with screen.running("top", shop.dir, home=home, rows=32, columns=112) as shown:
            shown.until("HEALTHY")
            shown.until(r"p50 +\d")
            shown.until(r"elected|took over|leads since|leads")
            _snap("top", shown, "qsync top")
            shown.type("q")
            shown.end()


def shell(home: Path) -> None:
    """A write, a read, a transaction that outlives its leader."""
    lines = (
        "box.space.accounts:replace{1, 'ann', 100}",
        "box.space.accounts:select()",
        "box.begin()",
        "box.space.accounts:update(1, {{'-', 'balance', 10}})",
        "box.space.accounts:update(2, {{'+', 'balance', 10}})",
        "box.commit()",
        r"\trace",
        r"\status",
    )
    with (
        _shop(home) as shop,
        screen.running("shell", shop.dir, home=home, rows=58, columns=96) as shown,
    ):
        shown.until(PROMPT)
        for line in lines:
            shown.enter(line)
            shown.until(r"(?s)" + re.escape(line) + r"\n.*> ?\n")
        _snap("shell", shown, "qsync shell")
        shown.enter(r"\q")
        shown.end()


def status(home: Path) -> None:
    """Three nodes, of which one is dead."""
    with _shop(home) as shop:
        shop.kill(shop.node(_followers(shop)[0]))
        _command("status", home, ("status", shop.dir), "qsync status", columns=100)


def check(home: Path) -> None:
    """What a drill left behind, judged."""
    run = home / "run"
    home.mkdir(parents=True, exist_ok=True)
    _qsync("drill", "run", "leader-kill", "--out", str(run))
    _command("check", home, ("check", "--quick", "run"), "qsync check --quick run", columns=110)


SCENES: dict[str, Callable[[Path], None]] = {
    "demo": demo,
    "top": top,
    "shell": shell,
    "status": status,
    "check": check,
}


@contextmanager
def _shop(home: Path) -> Iterator[Lab]:
    """Three nodes with a space of accounts."""
    made = lab.create(home / "shop", name="shop", nodes=3)
    try:
        made.start_all()
        settling.wait_writable(made.addresses, timeout=60)
        with qsync.connect(made.addresses, timeout=20) as db:
            db.schema.create_space("accounts", is_sync=True, format=FORMAT)
            db.space("accounts").replace([2, "bob", 50])
        yield made
    finally:
        made.stop_all()


@contextmanager
def _load(shop: Lab) -> Iterator[None]:
    """Writes at a fixed rate, while it is looked at."""
    command = [sys.executable, "-m", "qsync", "bench", "--clients", "4", "--seconds", "40s"]
    command += ["--open-loop", "400", "--target", ",".join(shop.addresses)]
    nothing = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def _fail_over(shop: Lab) -> None:
    """The leader dies, another node leads, the dead one comes back."""
    leader = surveys.survey(shop.addresses, timeout=2).leader
    assert leader is not None
    shop.kill(shop.node(leader.name))
    settling.wait_writable(shop.addresses, timeout=60)
    shop.start_all()
    settling.wait_writable(shop.addresses, timeout=60)


def _followers(shop: Lab) -> list[str]:
    samples = surveys.survey(shop.addresses, timeout=2).samples
    return sorted(each.name for each in samples if not each.leads)


def _command(
    name: str, home: Path, arguments: tuple[str | Path, ...], asked: str, *, columns: int
) -> None:
    """One command to its end, below the line that asked for it."""
    home.mkdir(parents=True, exist_ok=True)
    with screen.running(*arguments, home=home, rows=80, columns=columns, folder=home) as shown:
        taken = recording.take(shown, every=1.0, patience=180)
    lines = [drawing.typed(asked), *taken.frames[-1].lines]
    _write(f"{name}.svg", drawing.picture(lines, columns=columns, title=asked))


def _snap(name: str, shown: Screen, title: str) -> None:
    lines = drawing.frame(shown.terminal).lines
    _write(f"{name}.svg", drawing.picture(lines, columns=shown.terminal.columns, title=title))


def _write(name: str, text: str) -> None:
    PICTURES.mkdir(exist_ok=True)
    PICTURES.joinpath(name).write_text(text, encoding="utf-8")


def _qsync(*arguments: str) -> None:
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-m", "qsync", *arguments], check=True, env=env)


if __name__ == "__main__":
    sys.exit(main())
