"""Pasted text becomes Lua, and what is inside of literals and comments stays as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.shell.pasted import clean


@pytest.mark.parametrize(
    ("pasted", "lua"),
    [
        ("x = ‘stest’", "x = 'stest'"),
        ("x = “a” .. „b“", 'x = "a" .. "b"'),
        ("box.space[‘test’]:alter({is_sync = true})", "box.space['test']:alter({is_sync = true})"),
        ("x = ‘it's’", "x = 'it\\'s'"),
        ("f(\u00a01,\u202f2)\ufeff", "f( 1, 2)"),
        ("Lua \u00a0 \r\nreturn 1", "return 1"),
        ("{ a = <count or expression>,\nb = <seconds> }", "{ a = box.KEEP,\nb = box.KEEP }"),
        ("x = ‘never closed", "x = 'never closed"),
    ],
)
def test_what_articles_do_to_code_is_undone(pasted: str, lua: str) -> None:
    found = clean(pasted)
    assert found.text == lua
    assert found.notes


@pytest.mark.parametrize(
    "source",
    [
        "x = '‘quoted’ and \\' escaped “too”'",
        'x = "‘quoted’ \\" “too”"',
        "x = [[ ‘a’ “b” ]]",
        "x = [==[ ]] ‘a’ ]==]",
        "-- ‘comment’ = <seconds>\nx = 1",
        "--[[ ‘long’ = <seconds>\n ]] x = 1",
        "if a <b and c> d then end",
        "x = a <b",
        "local a <const> = 5",
        "return lua",
        "x = 'unfinished ‘",
    ],
)
def test_lua_is_left_alone(source: str) -> None:
    found = clean(source)
    assert (found.text, found.notes) == (source, ())


@given(st.text(alphabet=st.sampled_from("‘’“”=<>ab,} \n\u00a0")))
def test_cleaning_is_done_once_and_for_all(text: str) -> None:
    once = clean(text).text
    assert clean(once).text == once


def test_placeholders_are_named_to_whoever_pasted_them() -> None:
    (note,) = clean("box.cfg{ a = <seconds> }").notes
    assert note == "<seconds>: a placeholder keeps what is set; put a value there to change it"
