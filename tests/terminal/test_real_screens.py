"""Shell, dashboard and status of real clusters on a real terminal, as files; `--rewrite` renews."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import qsync
from admin.cluster import settling, surveys
from admin.lab import lab
from admin.lab.lab import Lab
from tests.live import real
from tests.terminal import cast, mask, screen

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SIZES = cast.SIZES
SIZE_IDS = [f"{width}x{height}" for width, height in SIZES]
STATES = {"healthy": (), "degraded": ("n3",), "leaderless": ("n3", "n1")}
"""Which nodes are killed."""
PATIENT = {"election_timeout": "60s", "replication_timeout": "2s"}
"""So that a busy machine elects nobody else. Followers first: they must not be the hastier ones."""
ATTEMPTS = 3
"""A very busy machine makes news, which stand above the prompt or under the table."""
PROMPT = r"pets/n\d\S*>\n"
ROWS = 120
"""Writes: positions in the log have three digits then."""

Stage = Callable[[str], Lab]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A cluster in a state, one for all tests that want it so; n1 leads, or led."""
    real.need_room(tmp_path_factory.getbasetemp())
    made: dict[str, Lab] = {}
    with ExitStack() as ends:

        def be(state: str) -> Lab:
            if state not in made:
                directory = tmp_path_factory.mktemp(state) / "pets"
                made[state] = found = lab.create(
                    directory, name="pets", nodes=3, options={"election.mode": "voter"}
                )
                ends.callback(found.stop_all)
                _prepare(found)
                for name in STATES[state]:
                    found.kill(found.node(name))
            return made[state]

        yield be


def _prepare(found: Lab) -> None:
    """Only n1 may be elected; then all may, and nobody is in a hurry."""
    first = found.node("n1").config
    first.write_text(first.read_text().replace('mode: "voter"', 'mode: "candidate"'))
    found.start_all()
    settling.wait_writable(found.addresses, timeout=60)
    for name in ("n2", "n3", "n1"):
        with qsync.connect(found.node(name).address, timeout=20, direct=True) as node:
            node.options(PATIENT | {"election_mode": "candidate"})
    with qsync.connect(found.addresses, timeout=20) as db:
        db.schema.create_space("pets", is_sync=True, format=real.FORMAT)
        for number in range(ROWS):
            last = db.space("pets").replace([number, "x"])
    real.until(lambda: _at_rest(found, last.index), "every node has it all")


def _at_rest(found: Lab, index: int) -> bool:
    """Everybody has everything, and the leader knows it."""
    samples = surveys.survey(found.addresses, timeout=2).samples
    ends = {each.last for each in samples} | {each.confirmed for each in samples}
    ends |= {peer.acked or 0 for each in samples if each.leads for peer in each.peers}
    return len(samples) == len(found.nodes) and len(ends) == 1 and min(ends) >= index


class Approved:
    """A screen as it was approved; None: whatever it is now will be."""

    def __init__(self, name: str, *, rewrite: bool) -> None:
        self._name, self._rewrite = name, rewrite
        path = cast.SCREENS / f"{name}.txt"
        self._text = path.read_text("utf-8") if path.exists() and not rewrite else None
        self._seen = ""

    def shown(self, at: screen.Screen) -> bool:
        """Does the screen come to look so?"""
        self._seen = at.becomes(self._text, mask.masked)
        return self._text is None or self._seen == self._text

    def check(self) -> None:
        """It did, or this is how it is instead."""
        cast.compare(self._name, self._seen, rewrite=self._rewrite)


@pytest.mark.parametrize("size", SIZES, ids=SIZE_IDS)
@pytest.mark.parametrize("state", STATES)
def test_the_status_of_a_real_cluster(
    state: str, size: tuple[int, int], stage: Stage, tmp_path: Path, *, rewrite: bool
) -> None:
    width, height = size
    approved = Approved(f"real-status-{state}-{width}x{height}", rewrite=rewrite)
    for _ in range(ATTEMPTS):
        args = ("status", stage(state).dir)
        with screen.running(*args, home=tmp_path, columns=width, rows=height) as shown:
            assert shown.end() == 0
            if approved.shown(shown):
                break
    approved.check()


@pytest.mark.parametrize("state", STATES)
def test_the_dashboard_of_a_real_cluster_in_a_window_that_grows(
    state: str, stage: Stage, tmp_path: Path, *, rewrite: bool
) -> None:
    here = stage(state)
    with screen.running("top", here.dir, home=tmp_path) as shown:
        shown.until("q quit")
        shown.enter("/leader_")  # of all that happened only what is sure to have
        for width, height in SIZES:
            shown.resize(width, height)
            approved = Approved(f"real-top-{state}-{width}x{height}", rewrite=rewrite)
            approved.shown(shown)
            approved.check()
        shown.type("q")
        assert shown.end() == 0


@pytest.mark.parametrize("size", SIZES, ids=SIZE_IDS)
@pytest.mark.parametrize("state", STATES)
def test_the_shell_on_a_real_cluster(
    state: str, size: tuple[int, int], stage: Stage, tmp_path: Path, *, rewrite: bool
) -> None:
    width, height = size
    approved = Approved(f"real-shell-{state}-{width}x{height}", rewrite=rewrite)
    for _ in range(ATTEMPTS):
        args = ("shell", stage(state).dir)
        with screen.running(*args, home=tmp_path, columns=width, rows=height) as shown:
            _look_around(shown)
            if approved.shown(shown):
                break
    approved.check()


def test_no_color_is_heeded_by_all_of_them(stage: Stage, tmp_path: Path) -> None:
    here = stage("degraded")
    seen: dict[tuple[str, str], set[str]] = {}
    for command, sign in (("status", "Degraded"), ("top", "DEGRADED"), ("shell", PROMPT)):
        for plain in ("", "1"):
            with screen.running(command, here.dir, home=tmp_path, NO_COLOR=plain) as shown:
                shown.until(sign)
                if command == "shell":
                    shown.type("box.info.id == 77")
                    shown.until("id == 77")
                seen[command, plain] = shown.colours
    assert all(bool(colours) != bool(plain) for (_, plain), colours in seen.items()), seen


def _look_around(shown: screen.Screen) -> None:
    shown.until(PROMPT)
    shown.enter(r"\set timing off")
    shown.until(r"timing off\n" + PROMPT)
    shown.clear()
    for line in ("status", "limbo"):
        shown.enter(f"\\{line}")
        shown.until(rf"(?s)\\{line}\n.*{PROMPT}")
