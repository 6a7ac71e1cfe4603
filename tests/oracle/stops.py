"""The confirmed index never stops inside of a rolled-back stretch."""

from bisect import bisect_right

from admin.checker.exhibit import EvidenceRow
from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import LogTable, RunTables
from tests.oracle.fates import replay

WHOLE = "stretches-whole"


def find(run: RunTables) -> RuleFinding:
    """From the first entry that a ROLLBACK takes up to the one before it, nobody stops."""
    stretches = _stretches(run)
    firsts = sorted(stretches)
    found = RuleFinding(lacks="" if stretches else "nothing was rolled back permanently")
    seen: set[tuple[int, int]] = set()
    claims: list[tuple[int, int, EvidenceRow]] = []
    if stretches:
        claims += [(e.node, e.confirmed, e.shows()) for e in run.status if e.confirmed]
        claims += [(e.node, e.index, e.shows()) for e in run.events if e.name == "confirmed"]
    for node, index, row in claims:
        found.facts += 1
        at = bisect_right(firsts, index) - 1
        if at < 0 or (node, index) in seen:
            continue
        record, log = stretches[firsts[at]]
        if index < record:
            seen.add((node, index))
            message = (
                f"node {node} stopped at {index}, between {firsts[at]} and the ROLLBACK at "
                f"{record} that takes it"
            )
            at_ = log.at()
            rows = (row, *log.shows(at_[firsts[at]], at_[record]))
            found.broken(WHOLE, message, rows, node=node, index=index)
    return found


def _stretches(run: RunTables) -> dict[int, tuple[int, LogTable]]:
    """By first victim: the ROLLBACK, and a log that has both; of what is confirmed."""
    found: dict[int, tuple[int, LogTable]] = {}
    confirmed = run.confirmed
    for whose, log in sorted(run.logs.items()):
        first: dict[int, int] = {}
        for victim, record in replay(log, confirmed.get(whose, 0)).rolled_back_by.items():
            first[record] = min(victim, first.get(record, victim))
        for record, victim in first.items():
            found.setdefault(victim, (record, log))
    return found
