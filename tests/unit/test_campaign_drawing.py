"""What a campaign breaks, and when, is drawn from its seed."""

from random import Random

import pytest

from admin.campaign.drawing import ABOUT, DISK_LOST, LASTS_S, StrikeKind, draw, kinds_without
from qsync.errors import ConfigError


def test_a_seed_draws_the_same_every_time() -> None:
    first, second = Random(7), Random(7)
    rounds = [draw(first, list(StrikeKind)) for _ in range(20)]
    assert rounds == [draw(second, list(StrikeKind)) for _ in range(20)]
    assert {strike.kind for strikes in rounds for strike in strikes} == set(StrikeKind)


def test_no_round_loses_more_than_one_disk() -> None:
    dice = Random(1)
    for _ in range(200):
        strikes = draw(dice, list(StrikeKind))
        assert sum(strike.kind in DISK_LOST for strike in strikes) <= 1


def test_a_strike_lasts_at_most_half_of_a_short_round() -> None:
    dice = Random(1)
    kinds = [kind for kind in StrikeKind if kind not in DISK_LOST]
    for strike in (each for _ in range(50) for each in draw(dice, kinds, seconds=4.0)):
        assert strike.after + strike.lasts <= 4.02
        assert strike.lasts <= min(2.0, LASTS_S[1])


def test_a_round_of_lost_disks_alone_is_one_strike() -> None:
    assert [each.kind for each in draw(Random(1), [StrikeKind.SWAP])] == [StrikeKind.SWAP]


def test_what_is_left_out_is_not_drawn_and_must_have_a_name_that_there_is() -> None:
    assert StrikeKind.FLIP not in kinds_without(["flip"])
    assert set(ABOUT) == set(StrikeKind)
    with pytest.raises(ConfigError, match="gremlins"):
        kinds_without(["gremlins"])
    with pytest.raises(ConfigError, match="nothing is left"):
        kinds_without(list(StrikeKind))
