"""Clean simulated runs with one thing changed each, and the exact invariants that must notice."""

import functools
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from admin.checker.bundles import history_of
from admin.checker.elle import IsolationLevel
from admin.checker.kinds import Hints
from admin.checker.linear import STEPS_MAX
from admin.checker.quick import TITLES, check_operations
from admin.checker.rules.catalogue import RULES
from admin.checker.rules.catalogue import judge as judge_run
from admin.checker.rules.run import RunTables, build
from admin.checker.verdict import Verdict
from admin.evidence.bundle import Bundle, write
from admin.evidence.simulated import record
from admin.evidence.tables import TABLES
from qsync.sim.plan import Plan
from qsync.sim.variety import COMMON
from tests.spark.faults import in_answers, in_configurations, in_logs, in_nodes
from tests.spark.spoiling import PLANTED, Case, Fault, Lacks

SEEDS = range(46, 106)
"""A fault is planted in the first of these runs that has what is to be spoiled."""
CLEAN_SEEDS = (2, 3, 9, 14, 24)
EVENTS = 1500

FAULTS = [
    fault
    for module in (in_logs, in_nodes, in_configurations, in_answers)
    for fault in PLANTED.values()
    if fault.spoil.__module__ == module.__name__
]
"""In the order of the page about them."""
_planted_in: dict[str, int] = {}
"""The seed of the run that has what a fault spoils; by the name of the fault."""


def planted(fault: Fault) -> Case:
    """A clean run with that fault."""
    known = _planted_in.get(fault.name)
    for seed in SEEDS if known is None else (known,):
        clean = _clean(seed)
        if clean is None:
            continue
        tables = {name: [dict(row) for row in rows] for name, rows in clean.tables.items()}
        case = Case(replace(clean.manifest, run_id=fault.name), tables)
        try:
            fault.spoil(case)
        except Lacks:
            continue
        _planted_in[fault.name] = seed
        return case
    raise AssertionError(f"none of {SEEDS} has what {fault.name} spoils")


@functools.cache
def clean_run(number: int) -> Case:
    """One in which nothing is wrong: the first, the second, ..."""
    found = _recorded(CLEAN_SEEDS[number])
    assert found.manifest.whole
    return found


def built(case: Case) -> RunTables:
    """As if read from a bundle."""
    blank = {name: dict.fromkeys(table.columns) for name, table in TABLES.items()}
    run_id = {"run_id": case.manifest.run_id}
    tables = {
        name: [blank[name] | run_id | row for row in rows] for name, rows in case.tables.items()
    }
    return build(case.manifest, tables)


def verdicts(run: RunTables) -> list[Verdict]:
    """All of them, of logs and of clients."""
    found = [each.verdict for each in judge_run(run)]
    operations = history_of(run)
    if operations:
        level = IsolationLevel.STRICT_SERIALIZABLE
        _, checked = check_operations(operations, Hints(), level, STEPS_MAX)
        found += [each.verdict for each in checked]
    return found


def save(case: Case, folder: Path) -> Bundle:
    """As a bundle."""
    return write(folder / case.manifest.run_id, case.manifest, dict(case.tables))


def cases(folder: Path) -> Iterator[tuple[str, Bundle, frozenset[str]]]:
    """Every run as a bundle, and what must be raised; the clean ones first."""
    for case in map(clean_run, range(len(CLEAN_SEEDS))):
        yield case.manifest.run_id, save(case, folder), frozenset()
    for fault in FAULTS:
        yield fault.name, save(planted(fault), folder), fault.fails


def page(faults: Iterable[Fault] = FAULTS) -> list[str]:
    """The rows of the matrix, as they stand in the page about it."""
    return [
        f"| `{each.name}` | {each.title} | {_named(each.fails)} | {_named(each.doubts)} |"
        for each in faults
    ]


def _named(ids: frozenset[str]) -> str:
    order = [*(rule.id for rule in RULES), *TITLES]
    return ", ".join(f"`{each}`" for each in sorted(ids, key=order.index)) or "-"


@functools.cache
def _clean(seed: int) -> Case | None:
    case = _recorded(seed)
    acked = len(case.receipts())
    # Who campaigns at the end says nothing of the term that a fault is about.
    agreed = len({case.samples(node)[-1]["term"] for node in case.nodes}) == 1
    whole = case.manifest.whole and agreed
    return case if whole and acked > 1 and case.tables["nemesis"] else None


def _recorded(seed: int) -> Case:
    with tempfile.TemporaryDirectory() as folder:
        _, bundle = record(
            Plan(seed=seed, events=EVENTS, without=(*COMMON, "members")), Path(folder)
        )
        tables = {name: list(bundle.rows(name)) for name in TABLES}
    for rows in tables.values():
        for row in rows:
            del row["run_id"]
    return Case(bundle.manifest, tables)


if __name__ == "__main__":
    sys.stdout.write("\n".join([*page(), ""]))
