"""Nodes that write snapshots and trim their logs by themselves look often whether it is time.

Runs are short, and a node looks once in a second.
"""

from functools import partial

from qsync.node.node import Node
from qsync.sim.kernel.machine import MemberMachine


def sweep_soon(machine: MemberMachine) -> None:
    """In its next turn the node sees who needs its log."""
    machine.process.soon(partial(_sweep, machine.node))


def _sweep(node: Node) -> None:
    node.loop.start_batch()
    node.queries.retention.sweep(node.reactor.effects.now())
    node.loop.turn()
