"""A node that is asked to stop hands its leadership over before it ends."""

from qsync.core.inputs import LeaveAsked
from qsync.node.view import NodeView

LEAVE_S_MAX = 2.0
"""How long a leader waits for the handover before it stops anyway."""
LOOK_S = 0.005
"""How often it checks whether another node leads."""


async def leave(node: NodeView) -> None:
    """Return when another node leads and our clients have their answers, or none can be had.

    A node that does not lead has nothing to hand over and returns at once.
    """
    machine = node.replica.machine
    if machine.leader is None or not machine.peers:
        return
    node.loop.start_batch()
    node.loop.step(LeaveAsked(why="the node stops"))
    node.loop.turn()
    effects = node.reactor.effects
    until = effects.now() + LEAVE_S_MAX
    while not _is_done(node) and effects.now() < until:  # the core decides, without an event for it
        await effects.sleep(LOOK_S)


def _is_done(node: NodeView) -> bool:
    machine = node.replica.machine
    if machine.leader is not None:
        return False
    if not any(each.connected for each in machine.peers.values()):
        return True
    # Followed until the clients that wait for entries of its log have their answers.
    return machine.raft.leader is not None and len(machine.waiters) == 0
