"""Arms and disarms the fault points of a running node."""

from admin.cluster import ask
from qsync.faultpoints import DELAY_S_MAX, LASTS_S
from qsync.faults import Fault
from qsync.wire.verbs import FaultRequest

PATIENCE_S = 10.0
"""How long to wait for an answer: longer than the longest delay of a commit."""


def arm(
    address: str, point: Fault, *, seconds: float = 0.0, times: int = 0, lasts: float = LASTS_S
) -> None:
    """Arm a point for a number of strikes; 0: until it is disarmed, or as long as it `lasts`.

    Raises AccessDenied if the node does not allow it.
    """
    request = FaultRequest(1, point, True, seconds, times, lasts)  # noqa: FBT003 - its fields in order
    ask.value(address, request, timeout=PATIENCE_S)


def disarm(address: str, point: Fault | None = None) -> None:
    """Disarm one point, or all; waits for a node that an armed point slows down."""
    name = "" if point is None else point
    ask.value(address, FaultRequest(1, name, False), timeout=DELAY_S_MAX + PATIENCE_S)  # noqa: FBT003 - the same
