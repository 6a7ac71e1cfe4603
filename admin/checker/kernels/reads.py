"""A read shows at least every entry acknowledged to any client before the read began."""

from admin.checker.kernels.kernel import Evidence, Kernel
from admin.checker.rules.rule import RuleFinding

FRESH = "reads-fresh"
IDLE = "no event `served` with a lower bound"


def fresh(evidence: Evidence) -> RuleFinding:
    """A read is not served from a state older than its lower bound."""
    events = evidence.events
    served = [(at, events.floor[at]) for at in events.places("served")]
    asked = [(at, floor) for at, floor in served if floor is not None]
    found = RuleFinding(facts=len(asked), lacks="" if asked else IDLE)
    for at, floor in asked:
        if events.index[at] < floor:
            message = (
                f"node {events.node[at]} served a read at {events.index[at]}, though {floor} had "
                "been answered before it was asked"
            )
            where = {"node": events.node[at], "index": events.number[at]}
            found.broken(FRESH, message, events.shows(at), **where)
    return found


KERNELS = (
    Kernel(
        FRESH,
        "reads show everything acknowledged before",
        ("events",),
        fresh,
        events=frozenset({"served"}),
        counts="events",
        idle=IDLE,
    ),
)
