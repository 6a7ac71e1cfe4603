"""One deadline for a look at the cluster and the change after it."""

import pytest

from cli.exits import Exit, StoppedByGuard, exit_of
from cli.time_limit import TimeLimit
from qsync.client.one_node import TIMEOUT_S


def test_a_look_never_uses_all_of_the_time() -> None:
    assert TimeLimit(1.0).to_look == 0.5
    assert TimeLimit(600.0).to_look == TIMEOUT_S


def test_a_change_has_what_the_look_has_left() -> None:
    assert 0 < TimeLimit(60.0).left <= 60


def test_without_time_for_the_change_nothing_is_changed() -> None:
    with pytest.raises(StoppedByGuard, match="nothing was changed") as caught:
        _ = TimeLimit(0.0).left
    assert exit_of(caught.value) is Exit.STOPPED


def test_what_became_of_a_change_is_shown_within_the_same_time_and_a_moment() -> None:
    assert 50 < TimeLimit(60.0).to_show <= 60
    assert 0 < TimeLimit(0.0).to_show <= 1
