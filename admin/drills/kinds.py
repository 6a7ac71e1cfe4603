"""Drills by the kind of fault: processes, links, disks and so on."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from admin.drills.model import Drill
from admin.drills.verbs import (
    backups,
    certificates,
    disks,
    fault_points,
    links,
    members,
    operators,
    processes,
    restarts,
)
from admin.drills.verbs.catalogue import VERBS


class DrillKind(StrEnum):
    """The kind of a drill's first fault, in the order of lists."""

    PROCESSES = "processes"
    LINKS = "links"
    DISKS = "disks"
    INSIDE = "inside a node"
    OPERATIONS = "operations"
    MEMBERS = "members"
    BACKUPS = "backups"
    NOTHING = "nothing broken"


_OF_MODULES: Mapping[str, DrillKind] = {
    processes.__name__: DrillKind.PROCESSES,
    links.__name__: DrillKind.LINKS,
    disks.__name__: DrillKind.DISKS,
    fault_points.__name__: DrillKind.INSIDE,
    restarts.__name__: DrillKind.OPERATIONS,
    operators.__name__: DrillKind.OPERATIONS,
    certificates.__name__: DrillKind.OPERATIONS,
    members.__name__: DrillKind.MEMBERS,
    backups.__name__: DrillKind.BACKUPS,
}
"""The modules of verbs that inject faults, and the kind of fault of each."""


def kind_of(drill: Drill) -> DrillKind:
    """Return the kind of its first fault. A user's file may have no fault."""
    verbs = [VERBS[step.verb] for step in drill.method]
    first = next((verb for verb in verbs if verb.spec.faults), None)
    return DrillKind.NOTHING if first is None else _OF_MODULES[type(first).__module__]


def by_kind(drills: Iterable[Drill]) -> dict[DrillKind, list[Drill]]:
    """Return drills by kind of fault, in the order of the kinds, without empty kinds."""
    found: dict[DrillKind, list[Drill]] = {kind: [] for kind in DrillKind}
    for drill in drills:
        found[kind_of(drill)].append(drill)
    return {kind: of_kind for kind, of_kind in found.items() if of_kind}
