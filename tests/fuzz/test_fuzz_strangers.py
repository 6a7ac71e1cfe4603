"""Whatever strangers say, nobody gets in, nothing breaks, and memory does not grow."""

from pathlib import Path

import pytest

from tests.fuzz import strangers
from tests.fuzz.strangers import PARTS, Figures

INPUTS, LONG = 2_000, 1_000_000


@pytest.mark.parametrize(
    "inputs", [INPUTS, pytest.param(LONG, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])]
)
async def test_no_stranger_gets_in_or_costs_memory(tmp_path: Path, inputs: int) -> None:
    told: list[Figures] = []
    await strangers.say_all(tmp_path, inputs, 1, told.append)
    assert {each.part for each in told} == set(PARTS)
    assert sum(each.inputs for each in told) == inputs
