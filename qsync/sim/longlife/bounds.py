"""The state of a node, besides client rows, does not grow with the length of its life.

Checked after no client sent a request for longer than a session lives, and when every member has
the whole log: then the remaining state is permanent.
"""

from collections.abc import Mapping
from typing import Final

from qsync.core.logstart import ROLLED_BACK_MAX, TERMS_MAX
from qsync.data import schema
from qsync.data.consumers import consumers_of
from qsync.node.timeline import EVENTS_MAX
from qsync.record import instance_text
from qsync.sim.canon import PropertyViolation
from qsync.sim.configurations import fold
from qsync.sim.kernel.entrusting import READERS
from qsync.sim.kernel.machine import MemberMachine
from qsync.sim.world import World

ROWS_MAX: Final = 400
"""For all spaces together: each period has a few client rows, and the schema has its own rows."""
CONNECTIONS_MAX: Final = 40
"""For members, clients and operators, some of which disappeared silently."""
SESSIONS_MAX: Final = 0
"""Its client has been silent for longer than a session lives."""


class KeptLimits:
    """For all nodes. `largest`: the maximum of each kind, over the whole life."""

    def __init__(self, world: World) -> None:
        self.largest: dict[str, int] = {}
        self._world = world
        retention = world.swarm.variety.retention
        self._limits = {
            "sessions": SESSIONS_MAX,
            "consumers": world.swarm.nodes + len(READERS),
            "consumers without a member": 0,
            "terms of the trimmed log": TERMS_MAX,
            "stretches of the trimmed log": ROLLED_BACK_MAX,
            "transactions that wait": 0,
            "questions that wait": 0,
            "events": EVENTS_MAX,
            "connections": CONNECTIONS_MAX,
            "rows": ROWS_MAX,
        }
        if retention is not None:
            self._limits["snapshots"] = retention.count

    def check(self) -> None:
        """Property 19."""
        for node in self._world.nodes:
            for what, count in sizes(node).items():
                self.largest[what] = max(self.largest.get(what, 0), count)
                limit = self._limits.get(what)
                if limit is not None and count > limit:
                    raise PropertyViolation(
                        19,
                        f"node {node.me} keeps {count} {what}, which are never more than {limit}",
                    )


def sizes(machine: MemberMachine) -> Mapping[str, int]:
    """The size of each kind of state of a node."""
    core, node, disk = machine.core, machine.node, machine.disk
    log = core.machine.replicated_log
    consumers = consumers_of(core.state.select(schema.GC_CONSUMERS))
    followed = log.configurations.followed
    members = () if followed is None else followed.members
    known = {*READERS, *(instance_text(each.instance) for each in members)}
    return {
        "sessions": len(core.state.sessions.head),
        "consumers": len(consumers),
        "consumers without a member": sum(each.name not in known for each in consumers),
        "changes of the configuration": len(fold(log)),
        "terms of the trimmed log": len(log.log.start.terms),
        "stretches of the trimmed log": len(log.log.start.rolled_back),
        "entries of the log": int(log.log.last - log.log.start.index),
        "bytes of the log": log.log.bytes_between(log.log.start.index, log.log.last),
        "transactions that wait": len(log.limbo.queue),
        "questions that wait": len(node.requests.tickets),
        "events": len(node.timeline.events),
        "connections": len(machine.process.files),
        "rows": sum(1 for _ in disk.spaces.scan(b"", b"\xff" * 8)),
        "snapshots": len(disk.snapshots.durable()),
    }
