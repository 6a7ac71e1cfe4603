"""All invariants of evidence, and how one process checks a run against them (tier 1)."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from admin.checker.kernels import (
    clocks,
    feeds,
    in_memory,
    log_ends,
    receipts,
    rolled_back_reads,
    stops,
)
from admin.checker.kernels.disks import KERNELS as DISK_KERNELS
from admin.checker.kernels.kernel import PartKernel
from admin.checker.kernels.logs import between, requests
from admin.checker.kernels.registry import LOG_KERNELS
from admin.checker.quick import CheckedInvariant
from admin.checker.rules import gaps, steps
from admin.checker.rules.parts import check_counts, rows
from admin.checker.rules.rule import Breach, Rule, RuleFinding
from admin.checker.rules.run import RunTables, build
from admin.checker.verdict import Verdict, Violation, conclude, skipped
from admin.evidence.bundle import Bundle
from admin.evidence.tables import TABLES


def _parts(kernels: Iterable[PartKernel]) -> Iterator[Rule]:
    return (in_memory.PART_RULES[each.id] for each in kernels)


RULES: tuple[Rule, ...] = (
    *_parts(each for each in LOG_KERNELS if each not in requests.KERNELS),
    *_parts(between.KERNELS),
    *_parts(stops.KERNELS),
    *in_memory.RULES,
    *_parts(DISK_KERNELS),
    *_parts(log_ends.KERNELS),
    *steps.RULES,
    *_parts(requests.KERNELS),
    *_parts(receipts.KERNELS),
    *_parts(rolled_back_reads.KERNELS),
    *_parts(feeds.KERNELS),
    *_parts(clocks.KERNELS),
)
BY_ID = {each.id: each for each in RULES}


def load(path: Path) -> RunTables:
    """A bundle in memory. Raises NoEvidence."""
    bundle = Bundle.open(path)
    bundle.check_whole()
    run = build(bundle.manifest, {name: rows(bundle, name) for name in TABLES})
    check_counts(bundle)
    return run


def judge(run: RunTables, only: Collection[str] | None = None) -> list[CheckedInvariant]:
    """Every invariant, or those of these ids, in order."""
    kernels = in_memory.finders(run)
    wanted = [rule for rule in RULES if only is None or rule.id in only]
    return [_timed(rule, run, kernels.get(rule.id, rule.find)) for rule in wanted]


def breaches(run: RunTables) -> list[Breach]:
    """All breaches of all invariants."""
    return [breach for rule in RULES for breach in rule.find(run).breaches]


def verdict_of(rule: Rule, finding: RuleFinding) -> Verdict:
    """The verdict that follows from a finding."""
    if finding.lacks and not finding.breaches:
        return skipped(rule.id, finding.lacks)
    if not finding.facts and not finding.breaches and not finding.doubt:
        return skipped(rule.id, rule.idle)
    verdict = conclude(
        rule.id,
        facts=finding.facts,
        violations=[
            Violation(
                invariant=rule.id,
                message=each.message,
                rows=each.witness,
                node=each.node,
                index=each.index,
                term=each.term,
            )
            for each in finding.breaches
        ],
        note=finding.doubt,
    )
    return replace(verdict, note=verdict.note or finding.reach)


def _timed(
    rule: Rule, run: RunTables, find: Callable[[RunTables], RuleFinding]
) -> CheckedInvariant:
    begun = time.perf_counter()
    verdict = verdict_of(rule, gaps.weigh(rule, find(run), run.manifest))
    return CheckedInvariant(verdict=verdict, seconds=time.perf_counter() - begun, says=rule.title)
