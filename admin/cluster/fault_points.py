"""Arms and disarms the fault points of a running node."""

from admin.cluster import ask
from qsync.faultpoints import DELAY_S_MAX, LASTS_S
from qsync.faults import Fault
from qsync.wire.verbs import FaultRequest

PATIENCE_S = 10.0
"""Beyond the longest delay of a commit: a node that commits in place answers only after it."""


def arm(
    address: str, point: Fault, *, seconds: float = 0.0, times: int = 0, lasts: float = LASTS_S
) -> None:
    """So many times; 0: until it is disarmed, or as long as it `lasts`.

    Raises AccessDenied where that is not allowed.
    """
    request = FaultRequest(1, point, True, seconds, times, lasts)  # noqa: FBT003 - its fields in order
    ask.value(address, request, timeout=PATIENCE_S)


def disarm(address: str, point: Fault | None = None) -> None:
    """One, or all. A node that is slow by an armed point is waited for."""
    name = "" if point is None else point
    ask.value(address, FaultRequest(1, name, False), timeout=DELAY_S_MAX + PATIENCE_S)  # noqa: FBT003 - the same
