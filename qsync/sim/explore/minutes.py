"""A path through the states as text: a line of fixed width for every act."""

from collections.abc import Sequence

from qsync.sim.explore.acts import Tick
from qsync.sim.explore.cast import ActResult
from qsync.sim.explore.search import StateSearch
from qsync.sim.explore.steps import Unsound
from qsync.sim.explore.world import ExploredWorld
from qsync.sim.trace import STEPS_HEADING, in_step

_FALLS = ("crash", "wipe", "damage", "upgrade", "downgrade")


def minutes(search: StateSearch, trace: Sequence[int]) -> list[str]:
    """The first state of the nodes, then every act with the state of its node after it.

    Without a trace the violation is in the script before the first state: then all of the script.
    """
    if not trace:
        acts = enumerate(search.prelude.acts, start=1)
        return [
            STEPS_HEADING,
            *[in_step(step, sight, act.describe()) for step, (sight, act) in acts],
        ]
    world = search.first()
    cast = search.cast
    lines = [STEPS_HEADING]
    lines += [in_step(0, cast.hosts[state].sight(), "at first") for state in world.hosts]
    for step, number in enumerate(trace, start=1):
        act = cast.acts[number]
        place = int(act.node) - 1
        if act.name in _FALLS:
            world = _fallen(search, world, place, act.name)
        elif act.name == "tick":
            assert isinstance(act.what, Tick)
            world = search.worlds.ticked(world, place, act.what).world
        else:
            world = _after(search, world, place, number)
        lines.append(in_step(step, cast.hosts[world.hosts[place]].sight(), act.describe()))
    return lines


def _fallen(search: StateSearch, world: ExploredWorld, place: int, how: str) -> ExploredWorld:
    try:
        return search.worlds.fall(world, place, how, world.left).world
    except Unsound:
        return world  # as below


def _after(search: StateSearch, world: ExploredWorld, place: int, act: int) -> ExploredWorld:
    turn = search.cast.turn(world.hosts[place], act)
    if not isinstance(turn, ActResult):
        return world  # it violated a property: the last line shows the node before that
    hosts = (*world.hosts[:place], turn.state, *world.hosts[place + 1 :])
    return world._replace(hosts=hosts)
