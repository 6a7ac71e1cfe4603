"""Nodes that write snapshots and trim their logs by themselves check for it often.

Runs are short, and a node checks once a second.
"""

from functools import partial
from typing import Final

from qsync.node.node import Node
from qsync.sim.kernel.machine import MemberMachine

SELDOM_S: Final = 10.0


def sweep_soon(machine: MemberMachine) -> None:
    """In its next turn the node checks the consumers of its log."""
    machine.process.soon(partial(_sweep, machine.node))


def look_seldom(node: Node) -> None:
    """In a long life a node checks once a minute, not once a second."""
    node.queries.retention.interval = SELDOM_S


def _sweep(node: Node) -> None:
    node.loop.start_batch()
    node.queries.retention.sweep(node.reactor.effects.now())
    node.loop.turn()
