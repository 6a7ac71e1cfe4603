"""What all that was found means: the verdict on every invariant of one run."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from admin.checker.kernels.columns import LogEntries
from admin.checker.kernels.disks import QUORUM, by_logs
from admin.checker.kernels.logs.slices import Whose
from admin.checker.kernels.stops import STOPS, joined
from admin.checker.rules import gaps, texts
from admin.checker.rules.between_logs import ONE_LOG
from admin.checker.rules.catalogue import RULES
from admin.checker.rules.rule import Breach, RuleFinding
from admin.checker.spark.job_schema import (
    BREACH,
    DOUBT,
    ENTRY,
    EVENTS,
    FACTS,
    LACKS,
    LOG,
    PROMOTED,
    PROVEN,
    REACHED,
    ROLLED,
    UNEQUAL,
    FindingRow,
)
from admin.checker.spark.kernels import proven
from admin.checker.spark.scan_context import ScanContext
from admin.checker.spark.stretches import LogStretches
from admin.evidence.manifest import Manifest


@dataclass(slots=True)
class JobOutputs:
    """What the jobs brought home, by what it is."""

    rows: dict[str, list[FindingRow]] = field(default_factory=lambda: defaultdict(list))

    def add(self, found: Iterable[FindingRow]) -> None:
        """More of it."""
        for each in found:
            self.rows[each.what].append(each)

    def breach(self, run: str, invariant: str, message: str, **where: int) -> None:
        """One that only the driver can see."""
        self.rows[BREACH].append(FindingRow(run, BREACH, invariant, message=message, **where))

    def facts(self, run: str, invariant: str, amount: int) -> None:
        """Examined on the driver."""
        self.rows[FACTS].append(FindingRow(run, FACTS, invariant, amount=amount))

    def by_run(self) -> "dict[str, JobOutputs]":
        """Apart."""
        runs: dict[str, JobOutputs] = defaultdict(JobOutputs)
        for rows in self.rows.values():
            for each in rows:
                runs[each.run_id].rows[each.what].append(each)
        return runs


def whose(found: FindingRow) -> Whose:
    """Which log it speaks of."""
    return (found.run_id, found.node, found.generation)


def _reached(own: JobOutputs) -> dict[int, tuple[int, int]]:
    """By term of the CONFIRM: the last entry, and its term, that one of that term covers."""
    found: dict[int, tuple[int, int]] = {}
    for each in own.rows[REACHED]:
        place = (each.index, each.term)
        found[each.amount] = max(found.get(each.amount, (0, 0)), place)
    return found


def conclude(
    manifest: Manifest, own: JobOutputs, given: ScanContext, places: Mapping[Whose, LogStretches]
) -> dict[str, RuleFinding]:
    """From all that was found of this run."""
    run = manifest.run_id
    _fates(own, run, given, places)
    _unequal(own, run)
    _leaders(own, run, places)
    found = {rule.id: RuleFinding() for rule in RULES}
    seen: set[tuple[str, int, int, int]] = set()
    for each in own.rows[FACTS]:
        found[each.invariant].facts += each.amount
    for each in own.rows[LACKS]:
        found[each.invariant].lacks = each.message
    for each in own.rows[DOUBT]:
        found[each.invariant].doubt = each.message
    for each in own.rows[BREACH]:
        breach = Breach(
            invariant=each.invariant,
            message=each.message,
            node=each.node,
            index=each.index,
            term=each.term,
        )
        if breach.where not in seen:
            seen.add(breach.where)
            found[each.invariant].breaches.append(breach)
    for each in own.rows[PROVEN]:
        found[each.invariant].breaches.append(proven(each))
    if not _events(own, "durable"):
        found[QUORUM] = _quorum(own, manifest)
    found[STOPS] = joined(found[STOPS], len(own.rows[ROLLED]))
    _lacks(found, own)
    for rule in RULES:
        gaps.weigh(rule, found[rule.id], manifest)
    return found


def _fates(
    own: JobOutputs, run: str, given: ScanContext, places: Mapping[Whose, LogStretches]
) -> None:
    """What is rolled back in one log must be in all that have confirmed so far."""
    rolled: dict[int, set[Whose]] = defaultdict(set)
    for each in own.rows[ROLLED]:
        rolled[each.index].add(whose(each))
    logs = [whose(each) for each in own.rows[LOG]]
    for index, gone in rolled.items():
        have = {
            log
            for log in logs
            if index <= given.confirmed.get(log, 0) and places[log].term(index) is not None
        }
        if have - gone and have & gone:
            text = f"entry {index} is rolled back on some nodes only"
            own.breach(run, "confirmed-agree", text, index=index)


def _unequal(own: JobOutputs, run: str) -> None:
    """Where logs begin to differ: a stretch may go on in the next slices."""
    ends = {each.index: each.amount for each in own.rows[UNEQUAL]}
    behind = set(ends.values())
    for each in own.rows[UNEQUAL]:
        if each.index - 1 in behind:
            continue
        last = each.amount
        while last + 1 in ends:
            last = ends[last + 1]
        text = texts.matching((each.node, each.generation), each.index, each.term, last)
        own.breach(run, "log-matching", text, index=each.index, term=each.term)


def _leaders(own: JobOutputs, run: str, places: Mapping[Whose, LogStretches]) -> None:
    """Whoever leads a term has what was confirmed in earlier ones."""
    reached = _reached(own)
    firsts = {whose(each): each.term for each in own.rows[LOG]}
    for leader in own.rows[PROMOTED]:
        log = whose(leader)
        for era, (index, term) in reached.items():
            if era >= leader.term:
                continue
            own.facts(run, "leader-complete", 1)
            here = places[log].term(index)
            if index >= firsts[log] and (index >= leader.index or here != term):
                promote = (leader.index, leader.term)
                text = texts.complete(leader.node, promote, (index, term), era)
                place = {"node": leader.node, "index": index, "term": leader.term}
                own.breach(run, "leader-complete", text, **place)


def _quorum(own: JobOutputs, manifest: Manifest) -> RuleFinding:
    """Without events of disks, by the last entry that is known to be confirmed."""
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
    return by_logs(manifest, entries, len(own.rows[LOG]))


def _events(own: JobOutputs, name: str) -> bool:
    return any(each.invariant == name for each in own.rows[EVENTS])


def _lacks(found: dict[str, RuleFinding], own: JobOutputs) -> None:
    if len(own.rows[LOG]) < 2:  # noqa: PLR2004 - it takes two to compare
        for name in ("log-matching", "confirmed-agree"):
            found[name] = RuleFinding(lacks=ONE_LOG)
