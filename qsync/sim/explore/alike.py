"""Worlds that differ only in the names of nodes have one key, and one represents all."""

import hashlib
from array import array
from typing import NamedTuple

from qsync.sim.explore.cast import StateTable
from qsync.sim.explore.world import ExploredWorld, Numbers


class Key(NamedTuple):
    """`digest` is equal for symmetric worlds; `renaming` leads to the original world."""

    digest: bytes
    renaming: int


class Alike:
    """Renames the nodes by their looks.

    If looks are equal, it tries every renaming and keeps the smallest resulting world.
    """

    def __init__(self, cast: StateTable, *, ordered: bool) -> None:
        self._cast = cast
        self._ordered = ordered
        self._sources = [
            [each.index(place + 1) - 1 for place in range(len(each) - 1)] for each in cast.renamings
        ]
        self._ways: dict[Numbers, tuple[int, ...]] = {}

    def key(self, world: ExploredWorld) -> Key:
        """The key of a world."""
        hosts, left, net = world
        chosen = 0
        if len(self._sources) > 1:
            hosts, net, chosen = self._least(hosts, net)
        return Key(hashlib.blake2b(array("I", hosts + left + net), digest_size=16).digest(), chosen)

    def _least(self, hosts: Numbers, net: Numbers) -> tuple[Numbers, Numbers, int]:
        look = self._cast.look_of
        looks = tuple([look(state) for state in hosts])
        ways = self._ways.get(looks)
        if ways is None:
            ways = self._ways[looks] = self._candidates(looks)
        if len(ways) == 1:
            (chosen,) = ways
            return self._hosts(hosts, chosen), self._net(net, chosen), chosen
        found = [(self._hosts(hosts, way), way) for way in ways]
        least = min(found)[0]
        return min([
            (least, self._net(net, way), way) for states, way in found if states == least
        ])  # fmt: skip

    def _candidates(self, looks: Numbers) -> tuple[int, ...]:
        """The renamings that sort the looks of nodes into the smallest order."""
        found = [tuple([looks[source] for source in sources]) for sources in self._sources]
        return tuple([way for way, order in enumerate(found) if order == min(found)])

    def _hosts(self, hosts: Numbers, renaming: int) -> Numbers:
        renamed = self._cast.state_renamed
        return tuple([renamed(renaming, hosts[source]) for source in self._sources[renaming]])

    def _net(self, net: Numbers, renaming: int) -> Numbers:
        cast = self._cast
        if not self._ordered:
            return tuple(sorted([cast.letter_renamed(renaming, letter) for letter in net]))
        letters = [
            (cast.link_renamed(renaming, letter), at, cast.letter_renamed(renaming, letter))
            for at, letter in enumerate(net)
        ]
        return tuple([letter for _, _, letter in sorted(letters)])
