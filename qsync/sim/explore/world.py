"""States of the whole cluster: a number for each node, letters in flight, remaining bounds."""

from typing import NamedTuple

from qsync.sim.explore.cast import StateTable

Numbers = tuple[int, ...]

EVERYWHERE = -1
"""The place of an act that involves several nodes."""


class ExploredWorld(NamedTuple):
    """`left`: how often acts may still happen, in the order of the menu's bounds."""

    hosts: Numbers
    left: Numbers
    net: Numbers


class Transition(NamedTuple):
    """A possible act, and the world after it. `place`: the node, or EVERYWHERE.

    `name`: of an act that commutes with acts at other nodes, else NAMELESS.
    """

    act: int
    world: ExploredWorld
    happened: tuple[str, ...]
    place: int
    name: int


NAMELESS = 0
_NTH = 2
_LETTER = 64
"""The name of an arrival: its letter, which of several like it, and whether after a silence."""
KINDS_MAX = 8
"""Other names are negative: the place, and one of the few kinds of free moves."""


def renamed(cast: StateTable, renaming: int, name: int) -> int:
    """The name of an act after a renaming of the nodes."""
    if name < 0:
        place, kind = divmod(-name, KINDS_MAX)
        return -(cast.renamings[renaming][place] * KINDS_MAX + kind)
    letter, rest = divmod(name, _LETTER)
    return cast.letter_renamed(renaming, letter) * _LETTER + rest


def originally(cast: StateTable, renaming: int, name: int) -> int:
    """The act from which `renamed` made that one."""
    if name < 0:
        place, kind = divmod(-name, KINDS_MAX)
        return -(cast.renamings[renaming].index(place) * KINDS_MAX + kind)
    letter, rest = divmod(name, _LETTER)
    return cast.letter_originally(renaming, letter) * _LETTER + rest


def place_of(cast: StateTable, name: int) -> int:
    """The node of the act with that name."""
    if name < 0:
        return -name // KINDS_MAX - 1
    return cast.letters[name // _LETTER].receiver - 1


def less(left: Numbers, bound: int) -> Numbers:
    """One less of that bound."""
    return (*left[:bound], left[bound] - 1, *left[bound + 1 :])


def named_arrival(letter: int, nth: int, late: int) -> int:
    """The name of an arrival."""
    return letter * _LETTER + nth * _NTH + late


def named_move(place: int, kind: int) -> int:
    """The name of a free move."""
    return -((place + 1) * KINDS_MAX + kind)
