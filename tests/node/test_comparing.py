"""Followers compare their stored rows with the leader's, at one index, and tell what differs."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import trio

import qsync
from admin.cluster import ask
from election.messages import Index
from qsync.data import schema
from qsync.node.node import Node, open_node
from qsync.status import decode
from qsync.store.spaces import SpaceStore
from tests.live import real
from tests.node import three as three_nodes
from tests.node.test_fault_hooks import aside
from tests.unit.test_spaces_store import Rows


@asynccontextmanager
async def three(
    path: Path, *, every: str = "100ms", beat: str = "100ms", password: str | None = None
) -> AsyncIterator[list[Node]]:
    """Three nodes in this process, with a space and a client that never stops writing.

    `beat`: between heartbeats; a leader that is not heard for four of them is fenced. `password`:
    of the client, who is called root; without one there are no users.
    """
    user = None if password is None else "root"
    found = three_nodes.configs(
        path,
        replication__timeout=beat,
        store__fold_interval="5ms",
        store__compare_interval=every,
    )
    with trio.fail_after(50):
        async with AsyncExitStack() as stack:
            nodes = [await stack.enter_async_context(open_node(each)) for each in found]
            seeds = [node.address for node in nodes]
            if user is not None:
                async with qsync.connect_async(seeds) as db:
                    await db.users.create(user, password)
            async with (
                qsync.connect_async(seeds, user=user, password=password) as db,
                trio.open_nursery() as nursery,
            ):
                await db.schema.create_space("t", format=[("id", "unsigned")], is_sync=True)
                await db.space("t").insert([1])

                async def write() -> None:
                    while True:
                        await db.space("t").replace([2])

                nursery.start_soon(write)
                yield nodes
                nursery.cancel_scope.cancel()


def followers(nodes: list[Node]) -> list[Node]:
    return [node for node in nodes if node.replica.machine.leader is None]


def compared(node: Node) -> int:
    return int(node.folding.comparing.compared)


async def test_followers_compare_under_load_again_and_again_and_agree(tmp_path: Path) -> None:
    async with three(tmp_path) as nodes:
        for _ in range(3):
            seen = {node.address: compared(node) for node in nodes}

            def all_went_on(seen: dict[str, int] = seen) -> bool:
                behind = followers(nodes)  # a busy machine may change who leads
                went_on = [compared(node) > seen[node.address] for node in behind]
                return len(behind) == 2 and all(went_on)

            await aside(lambda: real.until(all_went_on, "both have compared once more"))
        assert not [node for node in nodes if node.folding.comparing.differs]


async def lose_a_row(odd: Node) -> int:
    """Remove one of the rows that a node has stored; the number of its space."""
    await aside(lambda: real.until(lambda: compared(odd) > 0, "it has compared"))
    spaces = odd.storage.spaces
    assert isinstance(spaces, SpaceStore)
    number = odd.replica.state.spaces()["t"].id
    rows = schema.keys_of(number)
    while not any(spaces.scan(*rows)):
        await trio.lowlevel.checkpoint()  # its comparison was of a space without rows
    key, _ = next(spaces.scan(*rows))
    # A fold of which the log knows nothing: every checksum and sum of this node holds.
    while spaces._mark._changing:
        await trio.lowlevel.checkpoint()  # the node's own fold is under way
    spaces.fold(Rows(folded=spaces.folded, deletes=[key]))
    return number


async def test_a_follower_whose_rows_are_others_says_so_and_repairs_nothing(
    tmp_path: Path,
) -> None:
    # The odd one must not lead: on a busy machine a second may pass between two heartbeats.
    async with three(tmp_path, beat="400ms") as nodes:
        odd = followers(nodes)[0]
        await lose_a_row(odd)
        differs = odd.folding.comparing
        await aside(lambda: real.until(lambda: differs.differs == ("t",), "it is told"))
        scrubs = odd.folding.care.scrubs
        await aside(lambda: real.until(lambda: odd.folding.care.scrubs > scrubs, "it looks"))
        assert odd.folding.care.rebuilds == 0
        assert odd.timeline.counts["spaces_differ"] == 1
        told = await aside(lambda: decode.status(ask.status(odd.address, timeout=10)))
        assert told.spaces.differs == ("t",)
        assert told.health.checks["spaces"].ok is False
        others = [node for node in nodes if node is not odd]
        assert not [node for node in others if node.folding.comparing.differs]


async def test_where_there_are_users_the_space_is_named_by_its_number(tmp_path: Path) -> None:
    """Everybody who may log in sees the status and the events, and not everybody the name."""
    async with three(tmp_path, beat="400ms", password="correct horse") as nodes:
        odd = followers(nodes)[0]
        number = await lose_a_row(odd)
        differs = odd.folding.comparing
        await aside(lambda: real.until(lambda: differs.differs == (str(number),), "it is told"))
        told = [each["spaces"] for each in odd.timeline.events if each["event"] == "spaces_differ"]
        assert told == [[str(number)]]


async def test_nobody_compares_when_it_is_switched_off(tmp_path: Path) -> None:
    async with three(tmp_path, every="0s") as nodes:
        folded = [int(node.storage.spaces.folded) for node in nodes]

        def all_folded() -> bool:
            there = [int(node.storage.spaces.folded) for node in nodes]
            return all(now > before + 50 for now, before in zip(there, folded, strict=True))

        await aside(lambda: real.until(all_folded, "much was folded"))
        assert [compared(node) for node in nodes] == [0, 0, 0]


async def test_rows_that_a_snapshot_brought_to_the_index_of_a_comparison_are_folded_on(
    tmp_path: Path,
) -> None:
    # A snapshot is not a fold: so the index to stop at is where the rows are already.
    async with three(tmp_path, every="0s") as nodes:
        node = followers(nodes)[0]
        comparing, spaces = node.folding.comparing, node.storage.spaces
        here = comparing._goal = (node.replica.machine.term, Index(spaces.folded))
        assert comparing.stop == here[1] <= spaces.folded

        def went_on() -> bool:
            return comparing.stop is None and spaces.folded > here[1] + 50

        await aside(lambda: real.until(went_on, "much more was folded"))
