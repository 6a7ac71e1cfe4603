"""Each step of a node is one that the rules allow: the same automata, a task a run."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from admin.checker.replay.steps import AUTOMATA
from admin.checker.rules.run import event
from admin.checker.spark.arrays import among
from admin.checker.spark.invariants.queries import Tables
from admin.checker.spark.job_schema import BREACH, FACTS, LACKS, FindingRow
from admin.checker.spark.loading import bundles
from admin.checker.spark.reading import chunks, in_order, spread
from admin.evidence.manifest import Manifest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COLUMNS = (
    *("node", "generation", "life", "number", "time_mono"),
    *("name", "term", "index", "peer", "crc", "floor"),
)
_NAMES = tuple(sorted(frozenset[str]().union(*(each.names for each in AUTOMATA))))


def steps(tables: Tables) -> "DataFrame":
    """The nodes of each run, replayed."""
    paths = bundles(tables["events"])
    sizes = [sum(each.size for each in chunks(path, "events", "number")) for path in paths]
    return spread(tables["events"].sparkSession, paths, sizes, replayed)


def replayed(path: Path) -> Iterator[FindingRow]:
    """What the automata make of a bundle."""
    manifest = Manifest.load(path)
    run = manifest.run_id
    machines = [automaton(manifest.quorum) for automaton in AUTOMATA]
    for events in in_order(chunks(path, "events", "number"), "number", COLUMNS):
        rows = events.filter(among(events, "name", _NAMES)).to_pylist()
        for row in rows:
            each = event(row)
            for machine in machines:
                if each.name in machine.names:
                    machine.step(each)
    for machine in machines:
        found = machine.found
        yield FindingRow(run, FACTS, machine.id, amount=found.facts)
        if found.lacks:
            yield FindingRow(run, LACKS, machine.id, message=found.lacks)
        for breach in found.breaches:
            yield FindingRow(
                run, BREACH, machine.id, breach.node, 0, breach.index, breach.term,
                message=breach.message,
            )  # fmt: skip
