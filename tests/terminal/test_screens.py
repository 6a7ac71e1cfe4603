"""The dashboard and the status as they stand on a terminal, as files; `--rewrite` renews them."""

import io
import os
import re
import statistics
import termios
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import trio

from admin.cluster.leadership import ClusterVerb
from admin.cluster.moment import Moment, MomentWriter, read
from admin.cluster.picture import ClusterPicture, PictureModel
from admin.cluster.unreachable import UnreachableNode
from cli.render.status import status
from cli.top.app import App
from cli.top.draw import ASCII
from cli.top.layout import KEYS, KEYS_READ_ONLY, KEYS_REPLAY, Screen, lines, screen
from cli.top.view import NameConfirmation, Page, ViewState
from tests.terminal import cast


class Still:
    """A source that always shows the same."""

    words = "4/s"
    over = True

    def __init__(self, shown: ClusterPicture) -> None:
        self._shown = shown

    def picture(self, now: float) -> ClusterPicture:
        return self._shown

    def seek(self, by: int) -> None:
        """There is nowhere to go."""


@pytest.mark.parametrize("size", cast.SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", cast.CLUSTERS)
async def test_the_dashboard_looks_as_it_was_approved(
    name: str, size: tuple[int, int], rewrite: bool, autojump_clock: trio.testing.MockClock
) -> None:
    width, height = size
    console = cast.console(width, height)
    app = App(console, Still(cast.picture(name)), ViewState(selected=2), fps=4)
    await app.run(keys_from=None, seconds=1.1)  # several frames, each over the former one
    out = console.file
    assert isinstance(out, io.StringIO)
    text = cast.seen(out.getvalue(), width, height)
    cast.compare(f"top-{name}-{width}x{height}", text, rewrite=rewrite)


async def test_a_node_is_asked_where_it_was_also_when_nobody_answers() -> None:
    gone = UnreachableNode(id=0, name="127.0.0.1:1", address="127.0.0.1:1", why="refused")
    nobody = PictureModel().show(Moment(time=cast.NOON, silent=(gone,)))
    app = App(cast.console(80, 24), Still(nobody), ViewState(), fps=4)
    keyboard, terminal = os.openpty()
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(app.run, keys_from=terminal))
            with trio.fail_after(30):
                while termios.tcgetattr(terminal)[3] & termios.ICANON:
                    await trio.lowlevel.checkpoint()  # what is typed before is dropped
                os.write(keyboard, b"jp")
                while "UNAVAILABLE" not in app.view.message:
                    await trio.lowlevel.checkpoint()
            assert app.view.message.startswith("promote 127.0.0.1:1: UNAVAILABLE")
            os.write(keyboard, b"q")
    finally:
        os.close(keyboard)
        os.close(terminal)


@pytest.mark.parametrize("size", cast.SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", cast.CLUSTERS)
def test_the_status_looks_as_it_was_approved(
    name: str, size: tuple[int, int], rewrite: bool
) -> None:
    width, height = size
    console = cast.console(width, height)
    picture = cast.picture(name)
    console.print(status(picture.survey, picture.verdict, width=width))
    out = console.file
    assert isinstance(out, io.StringIO)
    text = cast.seen(out.getvalue(), width, height)
    cast.compare(f"status-{name}-{width}x{height}", text.rstrip("\n") + "\n", rewrite=rewrite)


def plain(picture: ClusterPicture, view: ViewState, width: int, height: int) -> list[str]:
    return [line.plain for line in lines(picture, view, Screen(width=width, height=height))]


@pytest.mark.parametrize("page", Page)
@pytest.mark.parametrize("name", [*cast.CLUSTERS, "nobody"])
@pytest.mark.parametrize(
    "size", [(20, 5), (40, 10), (60, 15), (79, 24), (159, 60), (160, 40), (300, 80)]
)
def test_every_page_fits_exactly_into_any_screen(
    name: str, page: Page, size: tuple[int, int]
) -> None:
    nobody = Moment(time=cast.NOON)
    picture = cast.picture(name) if name != "nobody" else PictureModel().show(nobody)
    found = plain(picture, ViewState(page=page, selected=3), *size)
    assert len(found) == size[1]
    assert {len(line) for line in found} == {size[0]}


def test_what_matters_most_is_never_left_out() -> None:
    for width, height in ((60, 12), (80, 24), (200, 50)):
        text = "\n".join(plain(cast.picture("degraded"), ViewState(), width, height))
        assert "! DEGRADED" in text
        assert "Degraded: n3 does not answer" in text
        assert "LEADER  * n1" in text
        assert "LIMBO   4 pending" in text
        assert re.search(r"(?m)^x .*n3", text)


def test_the_first_line_says_how_it_is_on_narrow_screens_too() -> None:
    for width in (40, 50, 60, 80):
        first = plain(cast.picture("leaderless"), ViewState(), width, 20)[0]
        assert "x DOWN" in first
        assert "12:00:00" in first


def test_when_nobody_answers_it_says_what_to_look_at() -> None:
    found = PictureModel().show(Moment(time=cast.NOON))
    text = "\n".join(plain(found, ViewState(), 80, 24))
    assert "no node answers" in text
    assert "-> see that the nodes run" in text


def test_a_node_that_denies_is_told_from_one_that_is_silent(tmp_path: Path) -> None:
    """Also in a recording."""
    why = "ACCESS_DENIED: user bob lacks session on the universe"
    closed = tuple(
        UnreachableNode(id=id, name=f"n{id}", address=f"h:{id}", why=why, denied=id == 3)
        for id in (3, 4)
    )
    writer = MomentWriter(tmp_path / "moments")
    for silent in (closed, closed[:1]):
        writer.write(Moment(time=cast.NOON, silent=silent))
    writer.close()
    both, one = read(tmp_path / "moments")
    text = "\n".join(plain(PictureModel().show(both), ViewState(), 100, 24))
    assert re.search(rf"(?m)^! n3 +denied: {why}", text), text
    assert re.search(rf"(?m)^x n4 +silent: {why}", text), text
    text = "\n".join(plain(PictureModel().show(one), ViewState(selected=3), 100, 24))
    assert "! DEGRADED" in text
    assert "no node lets us ask" in text
    assert "-> show who you are: QSYNC_USER" in text
    narrow = "\n".join(plain(PictureModel().show(one), ViewState(), 50, 24))
    assert re.search(r"(?m)^!.n3 ACCESS_DENIED", narrow), narrow


def test_it_can_be_read_without_colour() -> None:
    """Signs and words say what colours say."""
    text = "\n".join(plain(cast.picture("degraded"), ViewState(selected=1), 200, 50))
    for sign in ("* n1", "*>n1", "x n3", "! n2", "x n3: 127.0.0.1:3303 does not", "-> start it"):
        assert sign in text, sign


def test_plain_signs_need_no_more_than_ascii() -> None:
    for width, height in cast.SIZES:
        on = Screen(width=width, height=height, signs=ASCII)
        text = "".join(line.plain for line in lines(cast.picture("healthy"), ViewState(), on))
        # The ellipsis of what is cut is rich's own.
        assert text.replace("…", "").isascii()


def test_the_keys_fit_into_80_columns_and_a_question_shows_what_is_typed() -> None:
    for view, keys in (
        (ViewState(), KEYS),
        (ViewState(read_only=True), KEYS_READ_ONLY),
        (ViewState(replaying=True), KEYS_REPLAY),
    ):
        assert plain(cast.picture("healthy"), view, 80, 24)[-1].rstrip() == keys
    ask = NameConfirmation(
        verb=ClusterVerb.PROMOTE, node="n2", consequence="term 7 -> 8, 4 pending", typed="n"
    )
    asked = plain(cast.picture("healthy"), ViewState(ask=ask), 80, 24)
    assert len(asked) == 24
    assert asked[-2].rstrip() == "promote n2: term 7 -> 8, 4 pending"
    assert asked[-1].rstrip() == "promote n2? type its name: n_"
    assert plain(cast.picture("healthy"), ViewState(message="done"), 80, 24)[-1].rstrip() == "done"
    assert (
        plain(cast.picture("healthy"), ViewState(typing=True, filter="ro"), 80, 24)[-1].strip()
        == "/ro_"
    )


def test_a_filter_leaves_only_events_that_have_the_word() -> None:
    """A word that is shown, or the name of the event, by which documents call it."""
    for word in ("rolled back", "rollback"):
        found = plain(cast.picture("healthy"), ViewState(filter=word), 80, 24)
        events = found[found.index(next(line for line in found if "events with" in line)) + 1 : -1]
        shown = [line for line in events if line.strip()]
        assert shown
        assert shown == [line for line in events if "rolled back" in line]


def test_more_nodes_than_lines_show_those_in_trouble_first() -> None:
    many = {id: cast.node(1) | {"id": id, "name": f"m{id}"} for id in range(2, 32)}
    many[30] |= {"status": "split_brain"}
    crowd = cast.moment({1: cast.node(1, leads=True), **many})
    found = plain(PictureModel().show(crowd), ViewState(), 80, 24)
    assert any(line.startswith("! m30") for line in found)
    assert any("more, fine or less urgent" in line for line in found)


def test_a_frame_of_five_nodes_costs_under_six_percent_of_a_core_at_four_a_second() -> None:
    """Reading the answers, judging and drawing; measured in CPU time, so others do not count."""
    width, height = cast.SIZES[-1]
    console, model = cast.console(width, height), PictureModel()
    costs: list[float] = []
    for step in range(24):
        began = time.process_time()
        now = replace(cast.degraded(), time=cast.NOON + step / 4)
        console.print(screen(model.show(now), ViewState(), Screen(width=width, height=height)))
        costs.append(time.process_time() - began)
    assert statistics.median(costs) * 4 < 0.06
