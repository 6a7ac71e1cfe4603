"""A blocking client with real sockets whose calls are interrupted at many of its lines."""

import itertools
from functools import partial

import pytest

import qsync
from qsync.client import calls, operations
from qsync.client.closed import ClientClosed
from qsync.client.pump import Pump
from qsync.errors import ConfigError, OutcomeUnknown, QsyncError
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


@pytest.mark.parametrize("first", [1, 11, 21])
def test_a_request_of_a_pipeline_that_was_interrupted_is_not_sent_by_the_next_call(
    first: int,
) -> None:
    """It waits for the session; nobody has what waits for its answer."""
    call = calls.write([operations.replace("s", [1])])
    with serving() as (server,):
        for place in itertools.count(first, STEP):
            with qsync.connect(server.address, timeout=5.0) as db:
                if not at_line(place, partial(db.submit, call), interrupt):
                    break
                db.space("s").replace([2])
                assert server.store.rows.keys() == {2}
    assert place > 200


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


def test_wherever_what_begins_anew_is_interrupted_as_well_the_next_call_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C is pressed twice. The next call waited for ever: it had no sockets to wait for."""
    again = itertools.count(1)
    restart = Pump.restart

    def interrupted(pump: Pump) -> None:
        if at_line(next(again) % 45, lambda: restart(pump), interrupt):
            raise KeyboardInterrupt

    with serving() as (server,):
        for place in itertools.count(1, 13):
            with qsync.connect(server.address, timeout=5.0) as db:
                with monkeypatch.context() as patch:
                    patch.setattr(Pump, "restart", interrupted)
                    more = at_line(place, lambda: db.space("s").replace([1]), interrupt)
                db.space("s").replace([2, place])
                assert db.space("s").get(2) == [2, place]
            if not more:
                break
    assert place > 500


def test_a_client_that_a_signal_closes_in_the_middle_of_a_call_ends_that_call() -> None:
    ended: set[type[QsyncError]] = set()
    with serving() as (server,):
        for place in itertools.count(1, 11):
            db = qsync.connect(server.address, timeout=5.0)

            def put(db: qsync.Client = db) -> None:
                try:
                    db.space("s").replace([1])
                except QsyncError as error:
                    ended.add(type(error))

            more = at_line(place, put, db.close)
            db.close()
            assert repr(db).endswith("closed>")
            if not more:
                break
    assert place > 500
    assert {ClientClosed, OutcomeUnknown} <= ended
