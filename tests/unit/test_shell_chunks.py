"""A statement typed over several lines: what it lacks, in words, and when lines are no help."""

import pytest

from cli.shell.chunks import MissingEnd, missing_end, unfinished
from tests.unit.lua import Bench

QUOTE = "a quote is open: close it on its line"


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("for i = 1, 3 do\n", "it lacks 'end', to close 'for' of line 1"),
        ("\nif x then\nprint(x)\n", "it lacks 'end', to close 'if' of line 2"),
        ("f(\n1", "it lacks ')', to close '(' of line 1"),
        ("while true", "it lacks 'do'"),
        ("x = [[text\n", "the long string of line 1 is open: `]]` closes it"),
        ("--[[ why", "the long comment of line 1 is open: `]]` closes it"),
        ("{1,", "a value or a statement is cut off"),
        ("{1", "it lacks '}'"),
        ("1 +", "a value or a statement is cut off"),
        ("x =\n", "a value or a statement is cut off"),
    ],
)
def test_what_a_statement_lacks_is_said(bench: Bench, typed: str, why: str) -> None:
    assert missing_end(bench.runtime.compile, typed) == MissingEnd(why)
    assert unfinished(bench.runtime.compile, typed)


@pytest.mark.parametrize("typed", ['x = "abc', "box.space.t:put{1, 'abc}", "don't", "'x' .. 'y"])
def test_no_further_line_closes_a_quote(bench: Bench, typed: str) -> None:
    assert missing_end(bench.runtime.compile, typed) == MissingEnd(QUOTE, in_line=True)
    assert not unfinished(bench.runtime.compile, typed)


@pytest.mark.parametrize("typed", ['x = "abc\\', 'x = "abc\\\n'])
def test_a_quote_goes_on_behind_a_backslash(bench: Bench, typed: str) -> None:
    assert missing_end(bench.runtime.compile, typed) == MissingEnd(QUOTE)


@pytest.mark.parametrize(
    "typed", ["1 + 1", "\\help", "x = = 1", "1 = 2", "{1} 2 +", 'x = "abc\ny = 2']
)
def test_what_is_whole_or_wrong_lacks_nothing(bench: Bench, typed: str) -> None:
    assert missing_end(bench.runtime.compile, typed) is None
