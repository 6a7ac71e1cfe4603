"""Troubles around a change of leaders: nodes isolated or restarted at the worst moment."""

from collections.abc import Callable

from election.roles import Role
from qsync.core.inputs import RollbackAsked
from qsync.faults import Fault
from qsync.sim.parts import NodePart
from qsync.sim.troubles import NemesisContext, Undo, fall, isolate_node

PATIENCE = 6
"""How many election timeouts a node is isolated, until another one leads."""


def _coup(scene: NemesisContext) -> Undo | None:
    """One node misses an election; the winner is cut off at once and its voters are restarted."""
    dice = scene.dice
    leader = next((node for node in scene.nodes if node.leads and not node.paused), None)
    others = [node for node in scene.nodes if node is not leader and node.up]
    if leader is None or not others:
        return None
    outsider = max(others, key=lambda node: node.core.machine.replicated_log.log.position)
    term = leader.core.machine.term
    back = [isolate_node(scene, outsider, "misses an election")]
    fall(scene, leader, dice)

    def look() -> None:
        if not back:
            return
        scene.dice = dice
        winner = next((node for node in scene.nodes if node.up and _has_won(node, term)), None)
        if winner is None or winner is outsider:
            scene.later(scene.swarm.weather.delay_min, look)
            return
        back.pop()()
        back.append(isolate_node(scene, winner, "is overthrown"))
        for node in scene.nodes:
            if node.reachable and node not in {winner, outsider}:
                fall(scene, node, dice)

    def undo() -> None:
        while back:
            back.pop()()

    look()
    patience = PATIENCE * scene.swarm.timing.election_timeout
    scene.later(patience, undo)
    return _nothing


def _has_won(node: NodePart, since: int) -> bool:
    raft = node.core.machine.raft
    return raft.role is Role.LEADER and raft.term > since


def _rollback_alone(scene: NemesisContext) -> Undo | None:
    """A leader is isolated when others have its pending entries, and an operator rolls them back.

    The others elect one of them, which confirms the entries (protocol.md section 4).
    """
    leader = next((node for node in scene.nodes if node.leads and not node.paused), None)
    if leader is None or len(scene.nodes) == 1:
        return None
    life, end = leader.life, scene.clockwork.now + PATIENCE * scene.swarm.timing.election_timeout
    back: list[Undo] = []

    def look() -> None:
        if back or leader.life != life or not leader.leads or scene.clockwork.now > end:
            return
        replicated_log = leader.core.machine.replicated_log
        if not replicated_log.limbo.queue or not _has_all(scene, leader):
            scene.later(scene.swarm.weather.delay_min, look)
            return
        back.append(isolate_node(scene, leader, "is cut off with what it waits for"))
        leader.operate("operator: rollback queue", lambda ticket: RollbackAsked(ticket=ticket))
        patience = PATIENCE * scene.swarm.timing.election_timeout
        scene.later(patience, back[0])

    look()
    return _nothing


def _has_all(scene: NemesisContext, leader: NodePart) -> bool:
    """Another node has the leader's whole log."""
    last = leader.core.machine.replicated_log.log.position
    others = [node for node in scene.nodes if node is not leader and node.reachable]
    return any(node.core.machine.replicated_log.log.position == last for node in others)


def _nothing() -> None:
    """There is nothing to undo."""


TAKEOVERS: dict[Fault, Callable[[NemesisContext], Undo | None]] = {
    Fault.COUP: _coup,
    Fault.ROLLBACK_ALONE: _rollback_alone,
}
"""By name. None comes back when it could not be done."""
