"""All kernels. A new family adds a line here; a new invariant of a family adds none.

A family of log kernels also needs a step in `logs/walk.py`.
"""

from admin.checker.kernels import (
    configurations,
    digests,
    eventful,
    fencing,
    leaders,
    reads,
    rest,
    restarts,
    samples,
    votes,
)
from admin.checker.kernels.kernel import Kernel, PartKernel
from admin.checker.kernels.logs import limbo, names, neighbours, owner, replayed, requests

KERNELS: tuple[Kernel, ...] = (
    *restarts.KERNELS,
    *leaders.KERNELS,
    *votes.KERNELS,
    *configurations.KERNELS,
    *samples.KERNELS,
    *digests.KERNELS,
    *fencing.KERNELS,
    *rest.KERNELS,
    *reads.KERNELS,
    *eventful.KERNELS,
)
LOG_KERNELS: tuple[PartKernel, ...] = (
    *neighbours.KERNELS,
    *names.KERNELS,
    *owner.KERNELS,
    *limbo.KERNELS,
    *replayed.KERNELS,
    *requests.KERNELS,
)
"""Kernels whose findings come from following a log."""
EVENTS = frozenset[str]().union(*(each.events for each in KERNELS))
"""Names of events that some kernel reads."""
