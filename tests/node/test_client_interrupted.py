"""A blocking client with real sockets whose calls are interrupted at many of its lines."""

import itertools

import pytest

import qsync
from qsync.errors import ConfigError
from tests.node.test_client_shells import serving
from tests.unit.interruptions import at_line, interrupt

STEP = 31
"""A fresh client for each place: not for every line."""


@pytest.mark.parametrize("first", [1, 11, 21])
def test_wherever_a_call_is_interrupted_the_next_one_is_answered(first: int) -> None:
    with serving() as (server,):
        for place in itertools.count(first, STEP):
            with qsync.connect(server.address, timeout=5.0) as db:
                if not at_line(place, lambda: db.space("s").replace([1]), interrupt):
                    break
                db.space("s").replace([2, place])
                assert db.space("s").get(2) == [2, place]
    assert place > 500


def test_a_call_by_a_signal_in_the_middle_of_another_one_is_refused() -> None:
    with serving() as (server,), qsync.connect(server.address) as db:
        refused = answered = 0

        def ask() -> None:
            nonlocal refused, answered
            try:
                db.ping()
                answered += 1
            except ConfigError:
                refused += 1

        for place in itertools.count(1, STEP):
            if not at_line(place, lambda: db.space("s").replace([place]), ask):  # noqa: B023 - called here
                break
            assert db.space("s").get(place) == [place]
        assert refused > answered > 0
