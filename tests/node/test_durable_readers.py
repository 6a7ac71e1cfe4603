"""A registered reader of changes: each change once and in order, over changes of leaders."""

from pathlib import Path

import pytest
import trio

import qsync
from qsync.client.async_.database import AsyncDatabase
from qsync.errors import DuplicateKey
from tests.node.three import RunningNode, configs, leaders, run_node, until

CHANGES = 60
READER = "mailer"


async def write_all(addresses: list[str]) -> None:
    async with qsync.connect_async(addresses, timeout=20) as db:
        for number in range(CHANGES):
            await db.space("orders").replace([number % 7, number])


async def read_some(addresses: list[str], *, leave_after: int) -> bool:
    """One life of the reader: a new connection, from its durable place on; true at the end."""
    async with qsync.connect_async(addresses, timeout=20) as db:
        place = (await db.consumers.register(READER)).index
        async for change in db.watch("orders", after=place):
            ((_, number),) = [each.row for each in change.effects if each.row is not None]
            async with db.transaction(is_sync=True) as tx:
                tx.space("sent").insert([change.index, number])
                tx.advance(READER, change.index)
            leave_after -= 1
            if number == CHANGES - 1:
                return True
            if not leave_after:
                return False
    raise AssertionError


async def test_every_change_is_handled_once_and_in_order_through_a_failover(tmp_path: Path) -> None:
    wanted = configs(tmp_path)
    addresses = [str(each.listen) for each in wanted]
    with trio.fail_after(50):
        async with trio.open_nursery() as nursery:
            started: list[RunningNode] = [await nursery.start(run_node, each) for each in wanted]
            nodes = {each.node: each for each in started}
            await until(lambda: bool(leaders(list(nodes))), "one leads")
            async with qsync.connect_async(addresses, timeout=20) as db:
                await db.schema.create_space("orders", is_sync=True)
                await db.schema.create_space("sent", is_sync=True)
                await db.consumers.register(READER)
                nursery.start_soon(write_all, addresses)
                assert not await read_some(addresses, leave_after=10)
                former = leaders(list(nodes))[0]
                nodes.pop(former).scope.cancel()
                while not await read_some(addresses, leave_after=20):
                    pass
                await is_once_and_in_order(db)
            assert leaders(list(nodes))
            nursery.cancel_scope.cancel()


async def is_once_and_in_order(db: AsyncDatabase) -> None:
    sent = await db.space("sent").select()
    assert [number for _, number in sent] == list(range(CHANGES))
    (reader,) = [each for each in await db.consumers.list() if each.name == READER]
    assert reader.index == sent[-1][0]
    with pytest.raises(DuplicateKey):  # so a change that is handled twice would not go unnoticed
        await db.space("sent").insert(sent[0])
