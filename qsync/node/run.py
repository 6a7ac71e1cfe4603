"""Runs a node in the foreground until it is told to stop."""

import gc
import signal

import trio

from qsync.config import NodeConfig
from qsync.node.node import Node, open_node


def run(config: NodeConfig) -> int:
    """Serve until SIGINT or SIGTERM; returns the exit code. Raises what opening raises."""
    trio.run(_serve, config)
    return 0


async def _serve(config: NodeConfig) -> None:
    async with open_node(config) as node:
        announce(node)
        # What lives as long as the node need not be looked at by every collection.
        gc.collect()
        gc.freeze()
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for _ in signals:
                break


def announce(node: Node) -> None:
    """One line on stdout: who and where, for whoever started this process."""
    identity = node.identity
    print(  # noqa: T201 - the node's one word to its terminal
        f"{node.config.node.name} id={identity.replica} cluster={node.config.cluster.name} "
        f"listens on {node.address}",
        flush=True,
    )
