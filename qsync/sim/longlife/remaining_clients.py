"""Clients of a cluster that ended go on against the new one: their sessions ended (M8 g)."""

from collections.abc import Container
from dataclasses import dataclass
from typing import Final

from qsync.client.link import ConnectionPhase
from qsync.sim import properties
from qsync.sim.dice import RandomStream
from qsync.sim.kernel.program import Program
from qsync.sim.operations import Token
from qsync.sim.world import World

REMAINS: Final = 0.7
"""How often a program of the old cluster goes on."""
LOYAL: Final = 0.3
"""How often one that goes on knows of which cluster it is."""


@dataclass(frozen=True, slots=True)
class RememberedRequests(Container[Token]):
    """Those that somebody may still ask for: by name, or all of a session."""

    named: frozenset[Token]
    sessions: frozenset[bytes]

    def __contains__(self, request: object) -> bool:
        """Whether somebody may ask for it."""
        named = request in self.named
        return named or (isinstance(request, tuple) and request[0] in self.sessions)


class RemainingClients:
    """Programs that keep their session, their numbers, and what they wait for. `count`: so many.

    Some know of which cluster they are, as the shipped client does: no other one lets them in. The
    others take any for theirs: the nodes must know what is of an older session.
    """

    def __init__(self, world: World, dice: RandomStream) -> None:
        self.count = 0
        self._world = world
        self._dice = dice
        self._loyal: list[Program] = []

    def choose(self) -> None:
        """End the others. One that speaks to a single node, and repeats nothing, does not go on."""
        world = self._world
        programs = [each for each in world.programs if not each.core.wires.direct]
        chosen = [each for each in programs if self._dice.random() < REMAINS]
        for program in world.programs:
            if program not in chosen:
                program.end()
        world.clients = [each for each in world.clients if each.program in chosen]
        self._loyal = [each for each in chosen if self._dice.random() < LOYAL]
        for program in chosen:
            if program not in self._loyal:
                program.take_any_cluster()
        self.count = len(chosen)

    def remembered(self) -> RememberedRequests:
        """What may be asked for from now on, by these clients and by later ones."""
        world = self._world
        world.tokens.outlive_cluster()
        sessions = frozenset(each.core.numbering.id for each in world.programs)
        return RememberedRequests(frozenset(world.tokens.named), sessions)

    def end_loyal(self) -> None:
        """End those that know of which cluster they are. Property 20: they met no other one."""
        world = self._world
        new = {each.shelf.identity.cluster for each in world.nodes}
        for program in self._loyal:
            links = program.core.wires.links()
            if any(each.phase is ConnectionPhase.READY and each.cluster in new for each in links):
                properties.no_client_of_the_new(program.computer.number)
            program.end()
        world.clients = [each for each in world.clients if each.program not in self._loyal]

    def ask_again(self) -> None:
        """Each writes once more what anybody wrote before the end, under the old numbers."""
        for hand in self._world.clients:
            hand.repeat()
