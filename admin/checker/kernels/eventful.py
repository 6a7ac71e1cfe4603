"""A run without faults, or without acknowledged writes, proves nothing."""

from admin.checker.kernels.kernel import Evidence, Kernel
from admin.checker.rules.rule import RuleFinding

EVENTFUL = "eventful"
LOOKS = frozenset({"read", "r", "get", "cas-unequal"})
"""Operations that write nothing; only transactions that write are counted."""


def eventful(evidence: Evidence) -> RuleFinding:
    """Faults happened, and writes were acknowledged."""
    if not evidence.manifest.faults:
        return RuleFinding(lacks="no faults were planned")
    acked = sum(count for f, count in evidence.acked.items() if f not in LOOKS)
    found = RuleFinding(facts=acked + evidence.strikes)
    if not acked:
        found.doubt = "no write was acknowledged"
    elif not evidence.strikes:
        found.doubt = "no fault happened"
    return found


KERNELS = (
    Kernel(
        EVENTFUL,
        "faults were injected and writes were acknowledged",
        ("ops",),
        eventful,
        idle="no write was acknowledged, and no fault happened",
    ),
)
