"""Runs a node in the foreground until a signal stops it."""

import signal
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Protocol

import trio

from qsync.config import NodeConfig
from qsync.node import garbage, logs, systemd
from qsync.node.assembly import WhoseFiles
from qsync.node.node import Node, open_node
from qsync.node.status import status
from qsync.node.system import NodeSystem


class Companion(Protocol):
    """A task that runs as long as the node does and describes itself, such as its metrics."""

    @property
    def words(self) -> str:
        """Its role and address, for the node's first line."""

    def serve(self, node: Node) -> Awaitable[None]:
        """Runs until cancelled."""


OpenBeside = Callable[[NodeConfig], AbstractAsyncContextManager[Companion | None]]


def run(
    config: NodeConfig, open_beside: OpenBeside, *, files: WhoseFiles = WhoseFiles.UNSAID
) -> int:
    """Serve until SIGINT or SIGTERM; returns the exit code. Raises what opening raises.

    A directory that turns out to be an old copy is opened once more, and is a new instance then.
    `files`: what the operator says of them.
    """
    logs.to_stderr(config.log.level, config.log.format)
    while trio.run(_serve, config, open_beside, files):
        files = WhoseFiles.UNSAID
    return 0


async def _serve(config: NodeConfig, open_beside: OpenBeside, files: WhoseFiles) -> bool:
    """Serve; return true if the directory is to be opened again."""
    unit, is_old = systemd.systemd_socket(), False
    async with (
        open_beside(config) as beside,
        open_node(config, files=files) as node,
        trio.open_nursery() as nursery,
    ):

        def begin_anew() -> None:
            nonlocal is_old
            is_old = True
            nursery.cancel_scope.cancel()

        node.begin_anew = begin_anew
        if beside is not None:
            nursery.start_soon(beside.serve, node)
        announce(node, beside)
        if unit is not None:
            unit.ready(status(node))
            nursery.start_soon(systemd.keep_told, unit, partial(status, node))
        garbage.settle()
        clocks = NodeSystem()
        garbage.watch(node.timeline.stalls, clocks.stopwatch)
        node.timeline.stalls.watch(clocks)

        def log_end() -> int:
            return node.replica.machine.replicated_log.log.last

        nursery.start_soon(garbage.collect_while_quiet, node.requests.tickets, log_end)
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for _ in signals:
                break
        if unit is not None:
            unit.stopping()
        nursery.cancel_scope.cancel()
    return is_old


def announce(node: Node, beside: Companion | None) -> None:
    """Print one line on stdout with name and address, for the program that started this process."""
    identity = node.identity
    more = "" if beside is None else f", {beside.words}"
    print(  # noqa: T201 - the node's one word to its terminal
        f"{node.config.node.name} id={identity.replica} cluster={node.config.cluster.name} "
        f"listens on {node.address}{more}\n",
        end="",  # one write: a line of the log may come at any time, be it into the same file
        flush=True,
    )
