"""How a client looks for the leader: which connections it keeps, and how often it dials."""

import pytest

from qsync.client.route import ADDRESSES_MAX, DELAY_MAX_S, IDLE_MAX, TURN_DELAY_MAX_S
from qsync.errors import NotLeader
from tests.unit.test_client_core import Stage, write_of

NODES = ("a:1", "b:1", "c:1")


def welcome(stage: Stage, link: int, *, replica: int = 1) -> None:
    """The node takes the connection, if it has not yet, and knows no leader."""
    if not stage.welcomed(link):
        stage.accept(stage.open[link], replica=replica)
        stage.status(link, {"leader": 0})


def serve(stage: Stage, *, leader: str | None = None) -> int:
    """All nodes answer at once: the leader commits, the others lead nowhere. How many asked?"""
    asked = 0
    stage.play()
    for link, address in list(stage.open.items()):
        welcome(stage, link, replica=NODES.index(address) + 1)
        for request in stage.heard(link):
            asked += 1
            write = write_of([request])
            if address == leader:
                stage.commit(link, write)
            else:
                stage.refuse(link, write, NotLeader("no leader is known", leader=None))
    return asked


def test_a_client_without_a_leader_asks_in_turn_and_dials_nobody_twice() -> None:
    stage = Stage(*NODES)
    ask = stage.put(timeout=60.0)
    asked = 0
    for _ in range(5_000):
        stage.pass_time(0.002)
        asked += serve(stage)
    assert sorted(stage.dialled) == sorted(NODES)
    assert 10.0 / TURN_DELAY_MAX_S <= asked <= 10.0 / (TURN_DELAY_MAX_S / 2) + 10
    for _ in range(500):
        stage.pass_time(0.002)
        serve(stage, leader="c:1")
    assert ask.settled
    assert ask.error is None
    assert list(stage.open.values()) == ["c:1"]  # the others are not needed any more


def test_connections_that_were_kept_are_closed_when_nobody_waits_any_more() -> None:
    stage = Stage(*NODES)
    ask = stage.put(timeout=1.0)
    for _ in range(6_000):  # the question for a session has a deadline of its own
        stage.pass_time(0.002)
        serve(stage)
    assert ask.settled
    assert len(stage.open) <= 1


def test_a_connection_that_was_kept_and_is_lost_is_dialled_again() -> None:
    stage = Stage(*NODES)
    ask = stage.put(timeout=60.0)
    for _ in range(500):
        stage.pass_time(0.002)
        serve(stage)
    for link in list(stage.open):
        stage.drop(link)
    for _ in range(500):
        stage.pass_time(0.002)
        serve(stage, leader="b:1")
    assert ask.settled
    assert ask.error is None


@pytest.mark.parametrize("nodes", [NODES[:1], NODES])
def test_nodes_that_end_every_connection_are_dialled_after_growing_pauses(
    nodes: tuple[str, ...],
) -> None:
    stage = Stage(*nodes)
    stage.put(timeout=60.0)
    for _ in range(5_000):
        stage.pass_time(0.002)
        serve(stage)
        for link in list(stage.open):
            stage.drop(link)
    for node in nodes:
        assert stage.dialled.count(node) <= 10.0 / (DELAY_MAX_S / 2) + 10


def test_a_node_that_worked_for_long_is_dialled_at_once_when_it_ends_a_connection() -> None:
    stage = Stage("a:1")
    for _ in range(10):
        ask = stage.put(timeout=60.0)
        while not ask.settled:
            stage.pass_time(0.002)
            serve(stage, leader="a:1")
        stage.pass_time(2.0)
        stage.drop(stage.link("a:1"))
        stage.put(timeout=60.0)
        stage.pass_time(0.006)
        assert "a:1" in stage.open.values()
        serve(stage, leader="a:1")


def test_only_so_many_connections_are_kept_whoever_is_named_as_leader() -> None:
    stage = Stage("n0:1")
    stage.put(timeout=60.0)
    most = 0
    for named in range(1, 2_000):
        stage.pass_time(0.01)
        for link in list(stage.open):
            welcome(stage, link)
            for request in stage.heard(link):
                refusal = NotLeader("another", leader=f"n{named}:1")
                stage.refuse(link, write_of([request]), refusal)
        stage.play()
        most = max(most, len(stage.open))
    assert IDLE_MAX <= most <= IDLE_MAX + 2


def test_a_client_remembers_no_more_addresses_than_it_may_know() -> None:
    stage = Stage("n0:1", "n1:1")
    stage.put(timeout=600.0)
    route = stage.core.wires.route
    for named in range(2, 5 * ADDRESSES_MAX):
        stage.pass_time(0.3)
        for link, address in list(stage.open.items()):
            if address not in {"n0:1", "n1:1"}:
                stage.drop(link)
                continue
            welcome(stage, link)
            for request in stage.heard(link):
                refusal = NotLeader("another", leader=f"n{named}:1")
                stage.refuse(link, write_of([request]), refusal)
        route.forget(f"n{named}:1")  # it is of another cluster
    assert len(route.addresses) <= ADDRESSES_MAX
    assert len(route.met) <= ADDRESSES_MAX
    assert len(route._rests) <= ADDRESSES_MAX
