"""All mutants by name, and how to apply one to a cluster."""

from collections.abc import Sequence

from qsync.sim.mutants.answers import ANSWERS
from qsync.sim.mutants.changes import CHANGES
from qsync.sim.mutants.counting import COUNTING
from qsync.sim.mutants.elections import ELECTIONS
from qsync.sim.mutants.fates import FATES
from qsync.sim.mutants.features import FEATURES
from qsync.sim.mutants.generations import GENERATIONS
from qsync.sim.mutants.leases import LEASES
from qsync.sim.mutants.members import MEMBERS
from qsync.sim.mutants.mutant import Mutant, NodeHooks
from qsync.sim.mutants.operators import OPERATORS
from qsync.sim.mutants.pace import PACE
from qsync.sim.mutants.requests import REQUESTS
from qsync.sim.mutants.rights import RIGHTS
from qsync.sim.mutants.snapshots import SNAPSHOTS
from qsync.sim.mutants.voters import VOTERS

CATALOGUE: dict[str, Mutant] = {
    each.name: each
    for each in (
        *ELECTIONS,
        *COUNTING,
        *FATES,
        *ANSWERS,
        *REQUESTS,
        *OPERATORS,
        *PACE,
        *VOTERS,
        *CHANGES,
        *MEMBERS,
        *GENERATIONS,
        *LEASES,
        *SNAPSHOTS,
        *RIGHTS,
        *FEATURES,
    )
}


class UnknownMutant(Exception):
    """There is no mutant of that name."""


def plant(name: str, nodes: Sequence[NodeHooks]) -> None:
    """Break the rule in every node of this world, and in no other."""
    if name not in CATALOGUE:
        raise UnknownMutant(f"{name}; there are {', '.join(CATALOGUE)}")
    for node in nodes:
        CATALOGUE[name].plant(node)
