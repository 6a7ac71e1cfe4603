"""Violations in a run: the rows that prove them, and their time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from admin.checker.exhibit import EXHIBITS_MAX, EvidenceRow, exhibit
from admin.checker.quick import HistoryReport
from admin.checker.report.scan import entries, scan
from admin.checker.report.story import Story
from admin.checker.rules.catalogue import BY_ID
from admin.checker.rules.rule import KEYS
from admin.checker.verdict import KEPT_MAX, Violation
from admin.evidence.bundle import Bundle

_CLOCKS = {"ops": "time"}
"""The column of a table with the time on the clock of the run; usually `time_mono`."""


@dataclass(frozen=True, slots=True)
class PlacedViolation:
    """A violation with its rows and, if known, its time in seconds of the story."""

    violation: Violation
    at: float | None = None


def proven(bundle: Bundle, violations: Sequence[Violation]) -> list[Violation]:
    """Add rows of evidence to violations without any.

    These are the entries around it, the row that numbers it in another table, or rows of the term.
    """
    bare = [each for each in violations if not each.rows and not each.witness]
    around = {
        index
        for each in bare
        if each.index and _in_log(each)
        for index in range(max(1, each.index - 1), each.index + 2)
    }
    logs = [exhibit("wal", row) for row in entries(bundle, around)]
    terms = {each.term for each in bare if each.term and not _in_log(each)}
    numbers = {table: {e.index for e in bare if e.index and _counts(e) == table} for table in KEYS}
    others = [
        exhibit(table, row)
        for table in ("status", "events", "ops")
        for row in (scan(bundle, table) if terms or numbers[table] else ())
        if row.get("term") in terms or row.get(KEYS[table]) in numbers[table]
    ]
    return [_with_rows(each, logs, others) if each in bare else each for each in violations]


def _with_rows(
    violation: Violation, logs: Iterable[EvidenceRow], others: Iterable[EvidenceRow]
) -> Violation:
    table = _counts(violation)
    if violation.index and table != "wal":
        here = [e for e in others if (e.table, e.row.get(KEYS[table])) == (table, violation.index)]
    elif "wal" in _needs(violation):
        here = [e for e in logs if abs(_int(e, "index") - violation.index) <= 1]
        here.sort(key=lambda e: (abs(_int(e, "index") - violation.index), _int(e, "node")))
    else:
        needs = _needs(violation)
        here = [e for e in others if e.table in needs and e.row.get("term") == violation.term]
        here = [e for e in here if violation.node in {0, e.row.get("node")}]
    return replace(violation, rows=tuple(here[:EXHIBITS_MAX]))


def _in_log(violation: Violation) -> bool:
    """Its index is a log index."""
    return _counts(violation) == "wal" and "wal" in _needs(violation)


def _counts(violation: Violation) -> str:
    """The table whose rows number it."""
    rule = BY_ID.get(violation.invariant)
    return "wal" if rule is None else rule.counts


def _needs(violation: Violation) -> tuple[str, ...]:
    rule = BY_ID.get(violation.invariant)
    return () if rule is None else rule.needs


def placed(
    bundle: Bundle, story: Story, report: HistoryReport, *, each_max: int = KEPT_MAX
) -> list[PlacedViolation]:
    """The first violations of every invariant, in the order of the report."""
    kept = [each.verdict.violations[:each_max] for each in report.checked]
    found = proven(bundle, [violation for some in kept for violation in some])
    wanted = {each.number for violation in found for each in violation.witness}
    times: dict[int, float] = {}
    if wanted and not story.walls:
        for row in scan(bundle, "ops"):
            number, clock = row["index"], row["time"]
            if isinstance(number, int) and isinstance(clock, int) and number in wanted:
                times[number] = story.since(clock)
    return [PlacedViolation(each, _moment(story, each, times)) for each in found]


def _moment(story: Story, violation: Violation, times: dict[int, float]) -> float | None:
    """The time of its last operation, its last row with a time, its log entry, or its term."""
    operations = [times[each.number] for each in violation.witness if each.number in times]
    if operations:
        return max(operations)
    clocks = [each.row.get(_CLOCKS.get(each.table, "time_mono")) for each in violation.rows]
    known = [story.since(each) for each in clocks if isinstance(each, int)]
    if known and not story.walls and max(known) <= story.length:
        return max(known)
    indexes = [_int(each, "index") for each in violation.rows if each.table == "wal"]
    numbered = violation.index if _counts(violation) == "wal" else 0
    place = numbered or max(indexes, default=0)
    if place and (not _needs(violation) or "wal" in _needs(violation)):
        return story.reached(place)
    return story.led(violation.term) if violation.term else None


def _int(found: EvidenceRow, name: str) -> int:
    value = found.row.get(name)
    return value if isinstance(value, int) else 0
