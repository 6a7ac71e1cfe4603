"""Three nodes in this very process, over real sockets, some roads of which may be spoiled."""

import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import trio

from admin.lab.ports import free_ports
from qsync.config import NodeConfig
from qsync.node.assembly import found_cluster
from qsync.node.links import LinkStatus
from qsync.node.node import Node, open_node

PATIENCE_S = 30.0
CLUSTER = str(uuid.UUID(int=7))


def configs(
    path: Path,
    *,
    via: Mapping[tuple[int, int], int] | None = None,
    changed: Mapping[int, Mapping[str, str]] | None = None,
    **flags: str,
) -> list[NodeConfig]:
    """Of nodes 1 to 3, which are founded.

    `via`: the port where one dials another; `changed`: flags by node.
    """
    ports = free_ports(3)
    found = []
    for me in (1, 2, 3):
        peers = [
            f"{{id: {n}, name: n{n}, address: '127.0.0.1:{port}'"
            + (f", via: '127.0.0.1:{via[me, n]}'}}" if via and (me, n) in via else "}")
            for n, port in enumerate(ports, 1)
        ]
        text = (
            f"node: {{id: {me}, name: n{me}, dir: {path / f'n{me}'}}}\\n"
            f"cluster: {{id: {CLUSTER}}}\\nlisten: 127.0.0.1:{ports[me - 1]}\\n"
            f"peers: [{', '.join(peers)}]\\n"
        ).replace("\\n", "\n")
        (path / f"n{me}.yaml").write_text(text, "utf-8")
        given = {"election.timeout": "1s", "replication.timeout": "200ms"}
        given |= {key.replace("__", "."): value for key, value in flags.items()}
        given |= (changed or {}).get(me, {})
        found.append(NodeConfig.load(path / f"n{me}.yaml", {}, given))
    found_cluster(found)
    return found


@asynccontextmanager
async def running(wanted: list[NodeConfig]) -> AsyncIterator[list[Node]]:
    """These nodes, until the end of the block."""
    async with AsyncExitStack() as stack:
        stack.enter_context(trio.fail_after(2 * PATIENCE_S))
        yield [await stack.enter_async_context(open_node(each)) for each in wanted]


@dataclass(frozen=True)
class RunningNode:
    """A node in a task of its own: it may end before nodes that were started earlier."""

    node: Node
    scope: trio.CancelScope
    ended: trio.Event

    async def stop(self) -> None:
        """End it, and wait until its directory is free."""
        self.scope.cancel()
        await self.ended.wait()


async def run_node(config: NodeConfig, *, task_status: trio.TaskStatus[RunningNode]) -> None:
    """Run the node until it is stopped, in a nursery: `await nursery.start(run_node, config)`."""
    ended = trio.Event()
    with trio.CancelScope() as scope:
        async with open_node(config) as node:
            task_status.started(RunningNode(node, scope, ended))
            await trio.sleep_forever()
    ended.set()


async def until(claim: Callable[[], bool], what: str) -> None:
    """Wait until it is so."""
    with trio.move_on_after(PATIENCE_S) as scope:
        while not claim():
            await trio.lowlevel.checkpoint()
    assert not scope.cancelled_caught, what


def leaders(nodes: list[Node]) -> list[Node]:
    """Those that lead and may write."""
    return [
        each for each in nodes if each.replica.machine.leader and not each.replica.machine.reasons()
    ]


def link(node: Node, to: int) -> str:
    """How a link is, and why."""
    found = next(each for id, each in node.links.links.items() if id == to)
    return found.status.value if found.status is LinkStatus.UP else found.message
