"""All kernels. A new family is one more line here; a new invariant of a family none."""

from admin.checker.kernels import (
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
from admin.checker.kernels.kernel import Kernel

KERNELS: tuple[Kernel, ...] = (
    *restarts.KERNELS,
    *leaders.KERNELS,
    *votes.KERNELS,
    *samples.KERNELS,
    *digests.KERNELS,
    *fencing.KERNELS,
    *rest.KERNELS,
    *reads.KERNELS,
    *eventful.KERNELS,
)
EVENTS = frozenset[str]().union(*(each.events for each in KERNELS))
"""Names of events that some kernel asks for."""
