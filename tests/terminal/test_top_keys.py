"""Keys of the dashboard: how bytes become keys, and what each does to the view."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admin.cluster.leadership import ClusterVerb
from cli.top.keys import decode
from cli.top.view import (
    FILTER_CHARACTERS_MAX,
    Do,
    NameConfirmation,
    Page,
    Preview,
    Save,
    Seek,
    ToggleRecording,
    ViewState,
    Wish,
    press,
)
from tests.terminal import cast

HEALTHY = cast.picture("healthy")
LEADERLESS = cast.picture("leaderless")


def after(view: ViewState, *keys: str) -> tuple[ViewState, list[Wish]]:
    wishes: list[Wish] = []
    for key in keys:
        view, wish = press(view, key, HEALTHY)
        wishes += [wish] if wish is not None else []
    return view, wishes


# -------------------------------------------------------------------------------- bytes to keys


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"jk?", ["j", "k", "?"]),
        (b"\x1b[A\x1b[B\x1bOC\x1bOD", ["up", "down", "right", "left"]),
        (b"\x1b[5~\x1b[6~\x1b[H\x1b[F", ["pageup", "pagedown", "home", "end"]),
        (b"\r\n\x7f\x08\x03", ["enter", "enter", "backspace", "backspace", "ctrl-c"]),
        ("ä∑".encode(), ["ä", "∑"]),
        (b"\x1b", ["escape"]),
        (b"\x1bq", ["escape", "q"]),
        (b"\x1b[99;5uq", ["q"]),
        (b"\x00\x01\xff", []),
    ],
)
def test_bytes_become_keys(data: bytes, keys: list[str]) -> None:
    assert decode(data, last=True) == (keys, b"")


@given(
    st.lists(st.sampled_from([b"j", b"\x1b[A", b"\x1bOB", b"\x1b[5~", "ä".encode(), b"\r"])),
    st.data(),
)
def test_keys_are_the_same_however_the_bytes_arrive(
    parts: list[bytes], data: st.DataObject
) -> None:
    whole = b"".join(parts)
    cut = data.draw(st.integers(0, len(whole)))
    first, rest = decode(whole[:cut], last=False)
    second, left = decode(rest + whole[cut:], last=True)
    assert first + second == decode(whole, last=True)[0]
    assert left == b""


@given(st.binary(max_size=64))
def test_no_bytes_break_it_and_none_are_kept_for_ever(data: bytes) -> None:
    _, rest = decode(data, last=False)
    assert decode(rest, last=True)[1] == b""
    assert len(rest) < 16


# ------------------------------------------------------------------------------ keys to the view


def test_selection_moves_over_all_nodes_and_stops_at_the_ends() -> None:
    assert after(ViewState(), "j")[0].selected == 1
    assert after(ViewState(), "k")[0].selected == 5
    assert after(ViewState(), "j", "down", "j")[0].selected == 3
    assert after(ViewState(selected=5), "j", "j")[0].selected == 5
    assert after(ViewState(selected=2), "up", "up", "up")[0].selected == 1
    assert after(ViewState(selected=77), "j")[0].selected == 1


@pytest.mark.parametrize(
    ("key", "page"),
    [
        ("x", Page.MATRIX),
        ("l", Page.LIMBO),
        ("h", Page.HISTORY),
        ("w", Page.FINDINGS),
        ("?", Page.HELP),
        ("enter", Page.DETAIL),
    ],
)
def test_a_page_opens_and_closes_with_its_key(key: str, page: Page) -> None:
    view, _ = after(ViewState(), key)
    assert view.page is page
    assert after(view, key)[0].page is Page.EVENTS
    assert after(view, "escape")[0].page is Page.EVENTS
    assert after(view, "e")[0].page is Page.EVENTS


def test_enter_without_a_selection_opens_the_first_node() -> None:
    assert after(ViewState(), "enter")[0].selected == 1


def test_the_filter_is_typed_and_kept_until_escape() -> None:
    view, _ = after(ViewState(), "/", "q", "x", "backspace", "u")
    assert (view.typing, view.filter, view.quitting) == (True, "qu", False)
    view, _ = after(view, "enter")
    assert (view.typing, view.filter) == (False, "qu")
    assert after(view, "escape")[0].filter == ""
    assert after(ViewState(), "/", *"x" * 99)[0].filter == "x" * FILTER_CHARACTERS_MAX


def test_other_keys_ask_for_their_effect() -> None:
    assert after(ViewState(), "s", "r")[1] == [Save(), ToggleRecording()]
    assert after(ViewState(), "q")[0].quitting
    assert after(ViewState(), " ")[0].frozen
    assert not after(ViewState(), " ", " ")[0].frozen
    assert after(ViewState(), "left", "z")[1] == []


# ------------------------------------------------------------------------ what changes the cluster


def test_nothing_is_done_on_a_single_key() -> None:
    every = [chr(code) for code in range(32, 127)] + [
        "enter",
        "escape",
        "up",
        "ctrl-c",
        "backspace",
    ]
    for key in every:
        _, wish = press(ViewState(selected=2), key, HEALTHY)
        assert not isinstance(wish, Do), key


def test_promote_asks_about_the_selected_node_and_the_others_about_the_leader() -> None:
    assert after(ViewState(selected=2), "p")[1] == [Preview(ClusterVerb.PROMOTE, "n2")]
    assert after(ViewState(selected=2), "d")[1] == [Preview(ClusterVerb.DEMOTE, "n1")]
    assert after(ViewState(selected=2), "c")[1] == [Preview(ClusterVerb.CLEAR, "n1")]
    view, wishes = after(ViewState(), "p")
    assert (wishes, view.message) == ([], "select a node first: j and k, or the arrows")
    view, wish = press(ViewState(selected=2), "d", LEADERLESS)
    assert (wish, view.message) == (None, "no leader, so there is nothing to demote")


ASK = NameConfirmation(verb=ClusterVerb.PROMOTE, node="n2", consequence="term 7 -> 8")


def test_only_the_typed_name_confirms() -> None:
    view, wishes = after(ViewState(ask=ASK), "n", "2", "enter")
    assert wishes == [Do(ClusterVerb.PROMOTE, "n2")]
    assert view.ask is None


@pytest.mark.parametrize(
    "keys", [["enter"], ["y", "enter"], ["n", "1", "enter"], ["n", "2", "escape"]]
)
def test_anything_else_does_nothing_and_says_so(keys: list[str]) -> None:
    view, wishes = after(ViewState(ask=ASK), *keys)
    assert wishes == []
    assert view.ask is None
    assert "not done" in view.message


def test_while_asked_every_key_is_part_of_the_name() -> None:
    view, wishes = after(ViewState(ask=ASK), "q", "p", "backspace", "d")
    assert wishes == []
    assert view.ask is not None
    assert (view.ask.typed, view.quitting) == ("qd", False)


def test_read_only_and_replays_change_nothing() -> None:
    for view in (ViewState(selected=2, read_only=True), ViewState(selected=2, replaying=True)):
        for key in ("p", "d", "c"):
            after_, wishes = after(view, key)
            assert wishes == []
            assert after_.message


def test_a_replay_is_scrubbed_with_the_arrows() -> None:
    view = ViewState(replaying=True)
    view, wishes = after(view, "right", "left", "pagedown")
    assert wishes == [Seek(1), Seek(-1), Seek(20)]
    assert view.frozen
    assert after(replace(view, frozen=True), " ")[0].frozen is False
    assert after(ViewState(replaying=True), "r")[0].message == "this is a replay already"
