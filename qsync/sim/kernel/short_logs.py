"""Operators that keep logs short: a node that was away needs a snapshot (membership.md M6)."""

from functools import partial

from election.messages import Index
from qsync.core.trimming import start_at, trim_log
from qsync.node.node import Node
from qsync.sim.kernel.disk import KernelDisk
from qsync.sim.kernel.machine import MemberMachine


def trim_soon(machine: MemberMachine) -> None:
    """In its next turn the node's log becomes short."""
    machine.process.soon(partial(_trim, machine.node, machine.disk))


def _trim(node: Node, disk: KernelDisk) -> None:
    """A snapshot of the folded rows; the log begins after it. The next one has more."""
    replicated_log = node.replica.machine.replicated_log
    begins, upto = replicated_log.log.start.index, _trimmable(node, disk)
    node.folding.hurry(int(replicated_log.confirmed))
    if node.replica.lost is not None or upto <= begins:
        return
    start = start_at(replicated_log, upto)
    if start.index > begins and start.can_begin:
        disk.spaces.keep_snapshot(start_at(replicated_log, disk.spaces.folded))
        trim_log(replicated_log, start)
        disk.log.trim(start)


def _trimmable(node: Node, disk: KernelDisk) -> Index:
    """The folded index, limited by the nodes that are receiving a snapshot."""
    replicated_log = node.replica.machine.replicated_log
    found = [disk.spaces.folded, replicated_log.confirmed, replicated_log.written]
    needed = node.queries.transfers.sender.needed
    return min(found if needed is None else [*found, needed])
