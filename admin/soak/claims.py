"""The guarantees of each kind of operation, and the checks of a run for them.

Synchronous writes, and reads that ask a quorum, are linearizable. Reads of what a replica shows
now, and everything asynchronous, promise less, and are judged by that only.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from admin.checker import linear
from admin.checker.elle import IsolationLevel, check_appends
from admin.checker.facts import check_bank_total, check_failures
from admin.checker.operation import Operation
from admin.checker.resolve import ResolvedLog, resolve
from admin.checker.sessions import AppliedRequest, check_answers, check_read_your_writes
from admin.checker.verdict import Result, Verdict, Violation, conclude
from admin.soak.observed import ObservedOperation, observe
from admin.soak.weak import check_written
from qsync.errors import GivenUp
from qsync.sim import spaces
from qsync.sim.run import Run

STEPS_MAX = 20_000
"""The limit of one search for an order; beyond it the check is undecided."""
GIVEN_UP = "given-up-is-gone"
_BINDING = frozenset({"", "linearizable"})
"""Consistencies with which a read is linearizable; in a transaction every read is."""


def claims(done: Run) -> list[Verdict]:
    """Return the verdicts of all checks for which the run has something to examine."""
    seen = _Seen(observe(done.history), done)
    opening = {spaces.account(*place): spaces.START for place in spaces.accounts(done.report.keys)}
    registers, notes = seen.all("registers"), seen.all("notes")
    verdicts = [
        _named("registers", linear.check_cas_register(seen.bound("registers"))),
        _named("counters", linear.check_counter(seen.bound("counters"), steps_max=STEPS_MAX)),
        _named("bank", linear.check_bank(seen.bound("bank"), opening=opening, steps_max=STEPS_MAX)),
        _named("lists", check_appends(_alone(seen.bound("lists")))),
        _named(
            "lists", check_appends(_alone(seen.all("lists")), level=IsolationLevel.READ_COMMITTED)
        ),
        check_bank_total(seen.all("bank"), total=sum(opening.values())),
        _named("registers", check_failures(registers)),
        _named("notes", check_failures(seen.client_view("notes"))),
        _named("registers", check_written(registers)),
        _named("notes", check_written(notes)),
        check_read_your_writes([*registers, *_reads(notes)]),
        check_answers(seen.synchronous(), _rows(done)),
        _given_up(done),
    ]
    return [each for each in verdicts if each.facts and each.result is not Result.SKIPPED]


@dataclass(frozen=True, slots=True)
class _Seen:
    """The operations of a run, by the space they are about."""

    observed: Sequence[ObservedOperation]
    run: Run

    def all(self, space: str) -> list[Operation]:
        """Return all operations, whatever they promise."""
        return self._settled(each for each in self.observed if each.space == space)

    def client_view(self, space: str) -> list[Operation]:
        """Return all operations, with the outcomes that clients know.

        Of asynchronous writes: one that its client knows nothing of may be cut off after a replica
        showed it, and that is no failure which was told to anybody.
        """
        return [each.operation for each in self.observed if each.space == space]

    def bound(self, space: str) -> list[Operation]:
        """Return writes, and reads that must show the newest state."""
        good = _BINDING | {"lease"} if self.run.leases_hold else _BINDING
        return self._settled(
            each for each in self.observed if each.space == space and each.consistency in good
        )

    def synchronous(self) -> list[Operation]:
        """Return synchronous writes, whose receipts hold for ever."""
        return [
            each.operation
            for each in self.observed
            if each.space != "notes" and not _only_reads(each.operation)
        ]

    def _settled(self, observed: Iterable[ObservedOperation]) -> list[Operation]:
        """Replace unknown outcomes by those in the log, as far as it is decided."""
        decided = ResolvedLog(applied=frozenset(self.run.applied), complete=self.run.decided)
        return resolve([each.operation for each in observed], decided)


def _alone(operations: Iterable[Operation]) -> list[Operation]:
    """Drop the sessions: their requests run in parallel, and promise each other no order."""
    return [replace(each, session=None) for each in operations]


def _reads(operations: Iterable[Operation]) -> list[Operation]:
    return [each for each in operations if each.f == "read"]


def _only_reads(operation: Operation) -> bool:
    if operation.f == "txn" and isinstance(operation.value, list):
        return all(step[0] == "r" for step in operation.value)
    return operation.f == "read"


def _rows(done: Run) -> list[AppliedRequest]:
    return [
        AppliedRequest(session=session, seq=seq, index=index)
        for (session, seq), index in done.applied.items()
    ]


def _given_up(done: Run) -> Verdict:
    """Check that a write which was given up never took effect, for every client."""
    facts, violations = 0, []
    for line in done.history:
        if line.type == "fail" and line.error == GivenUp.code and line.seq:
            facts += 1
            at = done.applied.get((line.session, line.seq))
            if at is not None:
                message = f"request {line.seq} was given up, and took effect at {at}"
                violations.append(Violation(invariant=GIVEN_UP, message=message, key=line.session))
    return conclude(GIVEN_UP, facts=facts, violations=violations)


def _named(what: str, verdict: Verdict) -> Verdict:
    return replace(verdict, invariant=f"{verdict.invariant} {what}")
