"""Messages of the checkers can be read, whatever clients called their keys."""

from admin.checker.clip import SHOWN_CHARS_MAX, clip
from admin.checker.linear.check import check_register
from admin.checker.operation import Operation


def test_what_is_short_is_shown_whole_and_what_is_long_is_cut_and_counted() -> None:
    assert clip("x") == "'x'"
    assert clip("x" * (SHOWN_CHARS_MAX - 2)) == repr("x" * (SHOWN_CHARS_MAX - 2))
    cut = clip("x" * 5000)
    assert cut.startswith("'xxx")
    assert cut.endswith("... (5,002 characters)")
    assert len(cut) < SHOWN_CHARS_MAX + 40


def test_a_violation_of_a_long_key_and_a_long_value_has_short_lines() -> None:
    long = "k" * 100_000
    read = Operation(number=1, process=0, f="read", value=long, begun=0, ended=1, key=long)
    verdict = check_register([read])
    assert verdict.count == 1
    assert max(map(len, verdict.describe())) < 3 * SHOWN_CHARS_MAX
