"""A read shows at least what had been answered to anybody before it was asked."""

from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import RunTables

FRESH = "reads-fresh"
IDLE = "no event `served` with a lower bound"


def find(run: RunTables) -> RuleFinding:
    """The state that a read was served from is not older than it had to be."""
    served = [each for each in run.events if each.name == "served" and each.floor is not None]
    found = RuleFinding(facts=len(served), lacks="" if served else IDLE)
    for each in served:
        if each.index < (each.floor or 0):
            message = (
                f"node {each.node} served a read at {each.index}, though {each.floor} had been "
                "answered before it was asked"
            )
            where = {"node": each.node, "index": each.number}
            found.broken(FRESH, message, (each.shows(),), **where)
    return found
