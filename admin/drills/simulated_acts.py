"""What each verb of a drill does to a simulated cluster."""

from collections.abc import Callable, Mapping
from functools import partial

from admin.drills import links, targets
from admin.drills.acts import FLAP_S, OFF_S, ON_S
from admin.drills.acts_faults import FSYNC_S
from admin.drills.model import Step
from admin.drills.playing import FLAP, Do, Play, pairs, points_of, resume, seconds, start
from admin.links.rules import DirectedLink
from qsync.core.inputs import DemoteAsked, PromoteAsked
from qsync.faultpoints import Point
from qsync.sim.kernel.machine import MemberMachine

WIPE_S = 5.0
STALL_S = 0.2
"""How long a piece is held back that counts as lost, as by the proxy."""
_FLIPPED_BIT = 8 * 20


def _stop(node: MemberMachine) -> None:
    if node.up:
        node.stop(power=False)


def _pause(node: MemberMachine) -> None:
    if node.reachable:
        node.pause()


def _fill(node: MemberMachine) -> None:
    node.disk.broken = True


def _promote(node: MemberMachine) -> None:
    if node.reachable:
        node.operate("promote", lambda ticket: PromoteAsked(ticket=ticket))


def _demote(node: MemberMachine) -> None:
    if node.reachable:
        node.operate("demote", lambda ticket: DemoteAsked(ticket=ticket, to=None))


# -- disks of stopped nodes


def _tear(node: MemberMachine) -> None:
    """In memory nothing is half there: the last entry is gone, though it was durable."""
    log = node.disk.log
    if log.last:
        log.lose_tail(above=type(log.last)(log.last - 1))


def _flip(node: MemberMachine) -> None:
    log = node.disk.log
    if log.last:
        log.damage(log.last, bit=_FLIPPED_BIT)


def _wipe(play: Play, _: Step, nodes: list[MemberMachine]) -> None:
    """As when a machine is replaced: not while the others cannot do without it."""
    for node in nodes:
        others = [each for each in play.world.nodes if each is not node]
        last = node.disk.log.last
        play.until(
            lambda: all(each.disk.log.last >= last for each in others),  # noqa: B023 - called here
            WIPE_S,
            f"all others have what n{node.me} had",
        )
        node.exchange()


# -- processes


def _starve(play: Play, step: Step, nodes: list[MemberMachine]) -> None:
    on, off = seconds(step.options, "on", ON_S), seconds(step.options, "off", OFF_S)
    for node in nodes:
        phases = [(partial(_pause, node), off), (partial(resume, node), on)]
        play.in_turn(f"starve {node.me}", phases)


def _feed(play: Play, _: Step, nodes: list[MemberMachine]) -> None:
    for node in nodes:
        play.end(f"starve {node.me}")
        resume(node)


# -- links


def _block(play: Play, wanted: list[DirectedLink]) -> None:
    play.world.network.block(pairs(wanted), tear=False)


def _across(play: Play, step: Step, nodes: list[MemberMachine]) -> list[DirectedLink]:
    word = step.options.get("with")
    beside = () if word is None else targets.now(play.names, str(word), play.leader())
    inside = [f"n{node.me}" for node in nodes]
    return links.across(play.everybody, inside, beside, str(step.options.get("way", "both")))


def _slow(play: Play, step: Step, nodes: list[MemberMachine]) -> None:
    delay, jitter = seconds(step.options, "delay", 0.0), seconds(step.options, "jitter", 0.0)
    stall = seconds(step.options, "stall", 0.0)
    dice = play.world.clockwork.dice("slow links")

    def late() -> float:
        lost = STALL_S if stall and dice.chance(stall) else 0.0
        return delay + jitter * dice.random() + lost

    play.world.network.held_up |= dict.fromkeys(pairs(_across(play, step, nodes)), late)


def _flap(play: Play, step: Step, nodes: list[MemberMachine]) -> None:
    every, network = seconds(step.options, "every", FLAP_S), play.world.network
    wanted = pairs(_across(play, step, nodes))
    phases = [
        (partial(network.block, wanted, tear=False), every),
        (partial(network.unblock, wanted), every),
    ]
    play.in_turn(f"{FLAP}{wanted}", phases)


def _ring(play: Play, _: Step, __: list[MemberMachine]) -> None:
    _block(play, links.ring(play.everybody))


def _bridge(play: Play, _: Step, nodes: list[MemberMachine]) -> None:
    _block(play, links.bridge(play.everybody, f"n{nodes[0].me}"))


# -- fault points


def _stall_fsync(play: Play, step: Step, nodes: list[MemberMachine]) -> None:
    delay = seconds(step.options, "delay", FSYNC_S)
    for node in nodes:
        node.disk.slowness = 1.0 + delay / play.world.swarm.platter.write_delay
        _count(play, step, node)


def _fail_fsync(play: Play, step: Step, nodes: list[MemberMachine]) -> None:
    for node in nodes:
        node.disk.broken = True
        _count(play, step, node)


def _count(play: Play, step: Step, node: MemberMachine) -> None:
    """So many writes strike; without `times` all of them."""
    left = seconds(step.options, "times", 0.0) or float("inf")

    def told() -> None:
        nonlocal left
        play.struck.add(node.me)
        left -= 1
        if left == 0:
            node.disk.heal()

    node.disk.told = told


def _jump_clock(_: Play, step: Step, nodes: list[MemberMachine]) -> None:
    ahead = seconds(step.options, "ahead", 0.0) - seconds(step.options, "behind", 0.0)
    for node in nodes:
        node.clocks.wall_ahead = ahead


def _lose(_: Play, step: Step, nodes: list[MemberMachine]) -> None:
    """A fault point of the node itself."""
    rollback = step.options.get("what") == "rollback"
    for node in nodes:
        points_of(node).arm(Point.LOSE_ROLLBACK if rollback else Point.LOSE_CONFIRM)


def _disarm(play: Play, _: Step, nodes: list[MemberMachine]) -> None:
    for node in nodes:
        play.disarm(node)


def _each(do: Callable[[MemberMachine], None]) -> Do:
    def all_of_them(_: Play, __: Step, nodes: list[MemberMachine]) -> None:
        for node in nodes:
            do(node)

    return all_of_them


ACTS: Mapping[str, Do] = {
    "kill": _each(_stop),
    "start": _each(start),
    "pause": _each(_pause),
    "resume": _each(resume),
    "wipe": _wipe,
    "tear": _each(_tear),
    "flip": _each(_flip),
    "fill": _each(_fill),
    "free": _each(lambda node: node.disk.heal()),
    "starve": _starve,
    "feed": _feed,
    "promote": _each(_promote),
    "demote": _each(_demote),
    "cut": lambda play, step, nodes: _block(play, _across(play, step, nodes)),
    "slow": _slow,
    "flap": _flap,
    "ring": _ring,
    "bridge": _bridge,
    "reset": lambda play, step, nodes: play.world.network.reset(pairs(_across(play, step, nodes))),
    "mend": lambda play, _, __: play.mend(),
    "stall_fsync": _stall_fsync,
    "fail_fsync": _fail_fsync,
    "jump_clock": _jump_clock,
    "lose": _lose,
    "disarm": _disarm,
    "heal": lambda play, _, __: play.heal(),
}
"""Every verb that does something; of `slow` the `rate` has no meaning here."""
