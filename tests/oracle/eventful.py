"""A run in which nothing was broken, or nothing succeeded, proves nothing."""

from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import RunTables
from admin.evidence.tables import Row

EVENTFUL = "eventful"
_LOOKS = frozenset({"read", "r", "get", "cas-unequal"})


def eventful(run: RunTables) -> RuleFinding:
    """A run in which nothing was broken, or nothing succeeded, proves nothing."""
    if not run.manifest.faults:
        return RuleFinding(lacks="no faults were planned")
    acked = sum(each["type"] == "ok" and _writes(each) for each in run.ops)
    found = RuleFinding(facts=acked + run.strikes)
    if not acked:
        found.doubt = "no write was acknowledged"
    elif not run.strikes:
        found.doubt = "no fault happened"
    return found


def _writes(row: Row) -> bool:
    if row["f"] != "txn":
        return row["f"] not in _LOOKS
    steps = row.get("value")
    return isinstance(steps, list) and any(step[0] == "append" for step in steps)
