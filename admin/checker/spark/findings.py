"""The verdicts on all invariants of one run, from all findings."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from admin.checker.kernels import feeds, receipts, stops
from admin.checker.kernels.columns import LogEntries
from admin.checker.kernels.disks import QUORUM
from admin.checker.kernels.logs import between
from admin.checker.kernels.logs.between import PartedStretch
from admin.checker.kernels.logs.outlines import LogOutline
from admin.checker.kernels.logs.slices import Whose
from admin.checker.kernels.quorums import by_logs
from admin.checker.kernels.stops import STOPS, RolledBackStretches
from admin.checker.rules import gaps
from admin.checker.rules.catalogue import RULES
from admin.checker.rules.rule import RuleFinding
from admin.checker.spark.borders import SliceEnds, joined
from admin.checker.spark.job_schema import (
    DOUBT,
    ENTRY,
    EVENTS,
    FACTS,
    LACKS,
    OUTLINE,
    PROVEN,
    SLICE,
    UNEQUAL,
    FindingRow,
)
from admin.checker.spark.kernels import finding_rows, proven
from admin.evidence.manifest import Manifest


@dataclass(slots=True)
class JobOutputs:
    """The rows that the jobs returned, by type."""

    rows: dict[str, list[FindingRow]] = field(default_factory=lambda: defaultdict(list))

    def add(self, found: Iterable[FindingRow]) -> None:
        """Add rows."""
        for each in found:
            self.rows[each.what].append(each)

    def by_run(self) -> "dict[str, JobOutputs]":
        """Apart."""
        runs: dict[str, JobOutputs] = defaultdict(JobOutputs)
        for rows in self.rows.values():
            for each in rows:
                runs[each.run_id].rows[each.what].append(each)
        return runs


def whose(found: FindingRow) -> Whose:
    """The log that it is about."""
    return (found.run_id, found.node, found.generation)


def outlines(found: JobOutputs) -> dict[Whose, LogOutline]:
    """Return outlines by log."""
    return {whose(each): LogOutline.parse(each.message) for each in found.rows[OUTLINE]}


def conclude(
    manifest: Manifest, own: JobOutputs, logs: Sequence[LogOutline]
) -> dict[str, RuleFinding]:
    """From all findings on this run, and the comparison of its logs."""
    _borders(own)
    found = {rule.id: RuleFinding() for rule in RULES}
    for each in own.rows[FACTS]:
        found[each.invariant].facts += each.amount
    for each in own.rows[LACKS]:
        found[each.invariant].lacks = each.message
    for each in own.rows[DOUBT]:
        found[each.invariant].doubt = each.message
    for each in own.rows[PROVEN]:
        found[each.invariant].breaches.append(proven(each))
    if not _events(own, "durable"):
        found[QUORUM] = _quorum(own, manifest, {each.whose for each in logs})
    found[STOPS] = stops.joined(found[STOPS], len(RolledBackStretches.of(logs)))
    found[feeds.FEED] = feeds.joined(found[feeds.FEED], feeds.longest(logs))
    found[receipts.KEPT] = receipts.first_lines(found[receipts.KEPT])
    entries = sum(each.amount for each in own.rows[SLICE])
    found |= between.judged(logs, entries, map(_parted, own.rows[UNEQUAL]))
    for rule in RULES:
        gaps.weigh(rule, found[rule.id], manifest)
    return found


def _parted(found: FindingRow) -> PartedStretch:
    index, term, last, one, other = json.loads(found.message)
    return PartedStretch(index, term, last, (one[0], one[1]), (other[0], other[1]))


def _borders(own: JobOutputs) -> None:
    """Add the findings where two slices meet."""
    slices: dict[Whose, list[SliceEnds]] = defaultdict(list)
    for each in own.rows[SLICE]:
        slices[whose(each)].append(SliceEnds.parse(each.message))
    for log, ends in slices.items():
        for id_, found in joined(log, ends).by_id.items():
            own.add(finding_rows(log[0], id_, found))


def _quorum(own: JobOutputs, manifest: Manifest, logs: set[tuple[int, int]]) -> RuleFinding:
    """Without disk events, by the last entry that is known to be confirmed."""
    entries = LogEntries.of_rows(
        {
            "node": each.node,
            "generation": each.generation,
            "index": each.index,
            "term": each.term,
            "crc": each.amount,
        }
        for each in sorted(own.rows[ENTRY])
    )
    return by_logs(manifest, entries, logs)


def _events(own: JobOutputs, name: str) -> bool:
    return any(each.invariant == name for each in own.rows[EVENTS])
