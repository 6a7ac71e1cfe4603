"""The client as its users hold it: typed rows, a closed client, an async one held wrongly."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import anyio
import pytest

import qsync
from admin.lab.playground import Playground

pytestmark = pytest.mark.slow


class Account(NamedTuple):
    id: int
    owner: str
    balance: int = 0


@dataclass
class Person:
    id: int
    owner: str


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    found = Playground(tmp_path_factory.mktemp("surface") / "cluster")
    try:
        yield found
    finally:
        found.close()


@pytest.fixture
def db(cluster: Playground) -> Iterator[qsync.Client]:
    """With an empty space."""
    with cluster.connect() as found:
        found.schema.create_space(
            "typed",
            is_sync=True,
            format=[("id", "unsigned"), ("owner", "string"), ("balance", "integer")],
        )
        yield found
        found.schema.drop_space("typed")


def test_rows_are_of_the_class_that_was_named(db: qsync.Client) -> None:
    accounts = db.space("typed", row=Account)
    accounts.replace_many([Account(1, "ann", 5), Account(2, "bob")])
    assert accounts.update(1, [("+", "balance", 1)]) == Account(1, "ann", 6)
    assert accounts.get(3) is None
    with db.transaction() as tx:
        inside = tx.space("typed", row=Account)
        bob = inside.get(2)
        assert bob is not None
        inside.replace(bob._replace(balance=9))
        assert inside.select() == [Account(1, "ann", 6), Account(2, "bob", 9)]
    assert accounts.count() == 2
    with pytest.raises(qsync.WrongTuple, match="no Person"):
        db.space("typed", row=Person).select()
    assert accounts.delete(2) == Account(2, "bob", 9)


def test_typed_rows_under_an_event_loop(cluster: Playground, db: qsync.Client) -> None:
    async def main() -> None:
        async with qsync.connect_async(cluster.addresses) as other:
            accounts = other.space("typed", row=Account)
            await accounts.insert(Account(7, "eve", 1))
            async with other.transaction() as tx:
                assert await tx.space("typed", row=Account).get(7) == Account(7, "eve", 1)
            await accounts.delete(7)

    anyio.run(main)
    assert db.space("typed").get(7) is None


@pytest.mark.parametrize("seconds", [0, -1.5, -math.inf])
def test_a_call_whose_time_is_over_when_it_begins_is_not_sent(
    db: qsync.Client, seconds: float
) -> None:
    space = db.space("typed")
    space.replace([1, "ann", 0])
    tx = db.transaction()
    tx.space("typed").delete(1)
    calls: list[Callable[[], object]] = [
        lambda: space.delete(1, timeout=seconds),
        lambda: space.replace_many([[1, "eve", 1]], timeout=seconds),
        lambda: space.get(1, timeout=seconds),
        lambda: tx.commit(timeout=seconds),
    ]
    for call in calls:
        with pytest.raises(qsync.Unavailable, match="was over before it began"):
            call()
    assert space.get(1) == [1, "ann", 0]


def test_a_closed_client_refuses_and_does_not_wait(cluster: Playground) -> None:
    with cluster.connect() as db:
        space = db.space("typed")
        assert cluster.addresses[0] in repr(db)
        assert "closed" not in repr(db)
    db.close()
    assert repr(db).endswith(", closed>")
    for call in (space.get, space.delete):
        with pytest.raises(qsync.ClientClosed, match="connect again"):
            call(1)

    async def main() -> None:
        async with qsync.connect_async(cluster.addresses) as other:
            await other.ping()
        with pytest.raises(qsync.ClientClosed):
            await other.ping()

    anyio.run(main)


def test_an_async_connection_that_is_held_wrongly_says_how_it_is_held() -> None:
    async def awaited() -> None:
        await qsync.connect_async("127.0.0.1:1")

    with pytest.raises(TypeError, match="not awaited; use it so: async with"):
        anyio.run(awaited)
    with pytest.raises(TypeError, match="for `with`; use it so: async with"):
        qsync.connect_async("127.0.0.1:1").__enter__()
    with pytest.raises(AttributeError, match="no connection yet, so it has no 'space'"):
        qsync.connect_async("127.0.0.1:1").space("things")
