"""The confirmed index never stops inside a rolled-back range.

The range reaches from the first entry that a ROLLBACK removes to the entry before the ROLLBACK.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from admin.checker.exhibit import EvidenceRow
from admin.checker.kernels import proofs
from admin.checker.kernels.arrays import Numbers
from admin.checker.kernels.kernel import PartKernel
from admin.checker.kernels.logs.outlines import LogOutline
from admin.checker.rules.rule import Breach, RuleFinding

STOPS = "stretches-whole"
IDLE = "nothing was rolled back permanently"


@dataclass(frozen=True, slots=True)
class RolledBackStretches:
    """By first removed entry: the confirmed ROLLBACK, and a log that has both."""

    first: Numbers
    record: Numbers
    node: Numbers
    generation: Numbers

    @classmethod
    def of(cls, logs: Iterable[LogOutline]) -> "RolledBackStretches":
        """Collect the rolled-back ranges of these logs."""
        victims: dict[tuple[int, int, int], int] = {}
        for log in logs:
            for each in log.rolled:
                record = (log.node, log.generation, each.by)
                victims[record] = min(each.first, victims.get(record, each.first))
        found: dict[int, tuple[int, int, int]] = {}
        for (node, generation, by), first in sorted(victims.items()):
            found.setdefault(first, (by, node, generation))
        rows = [(first, *found[first]) for first in sorted(found)]
        return cls(*np.array(rows, dtype=np.int64).reshape(-1, 4).T)

    def __len__(self) -> int:
        return len(self.first)


def stopped(
    stretches: RolledBackStretches,
    node: Numbers,
    index: Numbers,
    shows: Callable[[int], EvidenceRow],
) -> RuleFinding:
    """Confirmed indexes that nodes reported; `shows` is the row that reports one."""
    found = RuleFinding(facts=len(index) if len(stretches) else 0)
    at = np.searchsorted(stretches.first, index, side="right") - 1
    inside = at >= 0
    inside[inside] = index[inside] < stretches.record[at[inside]]
    for claim in np.flatnonzero(inside).tolist():
        columns = (getattr(stretches, name)[at[claim]] for name in stretches.__slots__)
        first, record, whose, generation = (int(each) for each in columns)
        who, stop = int(node[claim]), int(index[claim])
        message = (
            f"node {who} stopped at {stop}, between {first} and the ROLLBACK at {record} that "
            "takes it"
        )
        ends = (proofs.entry(whose, generation, place) for place in (first, record))
        found.broken(STOPS, message, (shows(claim), *ends), node=who, index=stop)
    return found


def joined(finding: RuleFinding, stretches: int) -> RuleFinding:
    """All reports of a run: only the first that stops at an index is reported."""
    if not stretches:
        return RuleFinding(lacks=IDLE)
    first: dict[tuple[str, int, int, int], Breach] = {}
    for each in sorted(finding.breaches, key=_order):
        first.setdefault(each.where, each)
    return RuleFinding(facts=finding.facts, breaches=list(first.values()))


def _order(breach: Breach) -> tuple[bool, int]:
    """Samples before events."""
    claim = breach.witness[0]
    number = claim.row["sample" if claim.table == "status" else "number"]
    assert isinstance(number, int)
    return claim.table != "status", number


KERNELS = (PartKernel(STOPS, "no confirmed index is inside a rolled-back range", idle=IDLE),)
