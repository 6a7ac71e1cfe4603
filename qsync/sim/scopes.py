"""All scopes by name: pure machines in every order of events, and shipped nodes at every call."""

from qsync.sim.chosen.scope import ChosenScope
from qsync.sim.chosen.scopes import CHOSEN
from qsync.sim.chosen.scopes import QUICK as CHOSEN_QUICK
from qsync.sim.explore.scope import Scope
from qsync.sim.explore.scopes import CORE_SETS, SCOPES

EXPLORED: dict[str, Scope | ChosenScope] = {**SCOPES, **CHOSEN}
"""By name."""

SETS: dict[str, tuple[str, ...]] = {
    "quick": (*CORE_SETS["quick"], *[scope.name for scope in CHOSEN_QUICK]),
    "all": tuple(EXPLORED),
    "nodes": tuple(CHOSEN),
}
"""Names for several at once."""


def named(name: str) -> list[Scope | ChosenScope]:
    """The scope of that name, or the scopes of that set; none if both are missing."""
    return [EXPLORED[each] for each in SETS.get(name, (name,)) if each in EXPLORED]
