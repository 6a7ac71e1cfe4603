"""What each kind of operation promises its client, and the checks that hold a run to it.

Synchronous writes, and reads that ask a quorum, are linearizable. Reads of what a replica shows
now, and everything asynchronous, promise less, and are judged by that only.
"""

from collections.abc import Sequence
from dataclasses import replace

from admin.checker import linear
from admin.checker.operation import Operation
from admin.checker.verdict import Verdict
from admin.soak.observed import Observed, observe
from qsync.sim import spaces
from qsync.sim.run import Run

STEPS_MAX = 20_000
"""Of one search for an order; beyond it, the check is undecided."""
_STRONG = frozenset({"", "linearizable"})


def claims(done: Run) -> list[Verdict]:
    """All verdicts for which the run has operations to examine."""
    seen = observe(done.history)
    strong = _STRONG | {"lease"} if done.leases_hold else _STRONG
    bound = [each for each in seen if each.consistency in strong]
    verdicts = [
        _named("registers", linear.check_cas_register(_of("registers", bound))),
        _named("counters", linear.check_counter(_of("counters", bound), steps_max=STEPS_MAX)),
        _named("bank", _bank(_of("bank", bound), done.report.keys)),
    ]
    return [each for each in verdicts if each.facts]


def _of(space: str, seen: Sequence[Observed]) -> list[Operation]:
    return [each.operation for each in seen if each.space == space]


def _named(what: str, verdict: Verdict) -> Verdict:
    return replace(verdict, invariant=f"{verdict.invariant} {what}")


def _bank(operations: Sequence[Operation], keys: int) -> Verdict:
    opening = {spaces.account(*place): spaces.START for place in spaces.accounts(keys)}
    return linear.check_bank(operations, opening=opening, steps_max=STEPS_MAX)
