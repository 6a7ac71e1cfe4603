"""All invariants of any number of runs in few Spark jobs: the same verdicts as in one process."""

import functools
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from admin.checker.rules.catalogue import RULES, verdict_of
from admin.checker.rules.rule import Breach, Finding
from admin.checker.spark import frames, invariants, walk
from admin.checker.spark.found import (
    BREACH,
    DDL,
    DOUBT,
    FACTS,
    LACKS,
    LOG,
    PROMOTED,
    REACHED,
    ROLLED,
    Found,
)
from admin.checker.spark.source import QsyncSource
from admin.checker.verdict import Verdict
from admin.evidence.manifest import Manifest
from admin.evidence.tables import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Whose = tuple[str, int, int]
"""Run, node, generation."""
_KNOWN = (
    "run_id string, node bigint, generation bigint, first bigint, last bigint, confirmed bigint"
)
_ROLLED = "run_id string, node bigint, generation bigint, `index` bigint"
_RUNS = "run_id string, voters bigint, quorum bigint"


@dataclass(slots=True)
class Brought:
    """What the jobs brought home, by what it is."""

    rows: dict[str, list[Found]] = field(default_factory=lambda: defaultdict(list))

    def take(self, found: Iterable[Found]) -> None:
        """More of it."""
        for each in found:
            self.rows[each.what].append(each)

    def breach(self, run: str, invariant: str, message: str, **where: int) -> None:
        """One that only the driver can see."""
        self.rows[BREACH].append(Found(run, BREACH, invariant, message=message, **where))

    def facts(self, run: str, invariant: str, amount: int) -> None:
        """Examined on the driver."""
        self.rows[FACTS].append(Found(run, FACTS, invariant, amount=amount))


def judge(session: "SparkSession", paths: Sequence[Path]) -> dict[str, dict[str, Finding]]:
    """By run and invariant. Runs are told apart by the names in their manifests."""
    manifests = {each.run_id: each for each in map(Manifest.load, paths)}
    assert len(manifests) == len(paths), "two bundles have one name"
    session.dataSource.register(QsyncSource)
    # Every table is looked at several times; decoding it once is cheaper than any of them.
    tables = {name: _table(session, name, paths).persist() for name in TABLES}
    brought = Brought()
    brought.take(_collect(frames.beforehand(tables)))
    given = _given(brought, manifests)
    walked = _walk(tables["wal"], ("run_id", "node", "generation"), ("index", "crc"), given)
    disks = _disks(tables["events"], given)
    for each in (frames.elections(tables), frames.statuses(tables)):
        walked = walked.unionByName(each)
    brought.take(_collect(walked.unionByName(disks)))
    known = [
        (e.run_id, e.node, e.generation, e.term, e.index, given.confirmed.get(_whose(e), 0))
        for e in brought.rows[LOG]
    ]
    tables["known"] = session.createDataFrame(known, _KNOWN)
    wanted = _wanted(brought, given, manifests)
    tables["wanted"] = session.createDataFrame(wanted, "run_id string, `index` bigint")
    rolled = [(e.run_id, e.node, e.generation, e.index) for e in brought.rows[ROLLED]]
    tables["rolled"] = session.createDataFrame(rolled, _ROLLED)
    runs = [(run, each.voters, each.quorum) for run, each in manifests.items()]
    tables["runs"] = session.createDataFrame(runs, _RUNS)
    last = [frames.logs(tables), frames.lookups(tables), *invariants.frames(tables)]
    brought.take(_collect(functools.reduce(_union, last)))
    for name in TABLES:
        tables[name].unpersist()
    return {run: _conclude(manifest, brought, given) for run, manifest in manifests.items()}


def verdicts(found: dict[str, Finding]) -> list[Verdict]:
    """Of one run, in the order of the catalogue."""
    return [verdict_of(rule, found[rule.id]) for rule in RULES]


def _table(session: "SparkSession", name: str, paths: Sequence[Path]) -> "DataFrame":
    given = json.dumps([str(each.absolute()) for each in paths])
    return session.read.format("qsync").option("table", name).option("paths", given).load()


def _walk(
    wal: "DataFrame", log: tuple[str, ...], order: tuple[str, ...], given: walk.Given
) -> "DataFrame":
    sorted_ = wal.repartition(*log).sortWithinPartitions(*log, *order)
    return sorted_.mapInArrow(walk.logs(given), DDL)


def _disks(events: "DataFrame", given: walk.Given) -> "DataFrame":
    sorted_ = events.repartition("run_id").sortWithinPartitions("run_id", "number")
    return sorted_.mapInArrow(walk.disks(given), DDL)


def _union(one: "DataFrame", other: "DataFrame") -> "DataFrame":
    return one.unionByName(other)


def _collect(frame: "DataFrame") -> Iterable[Found]:
    for row in frame.collect():
        yield Found(
            run_id=row["run_id"] or "",
            what=row["what"],
            invariant=row["invariant"] or "",
            node=row["node"] or 0,
            generation=row["generation"] or 0,
            index=row["index"] or 0,
            term=row["term"] or 0,
            amount=row["amount"] or 0,
            message=row["message"] or "",
        )


def _whose(found: Found) -> Whose:
    return (found.run_id, found.node, found.generation)


def _given(brought: Brought, manifests: dict[str, Manifest]) -> walk.Given:
    confirmed = {
        (run, node.node, node.generation): node.confirmed
        for run, manifest in manifests.items()
        for node in manifest.nodes
    }
    for each in brought.rows["confirmed"]:
        whose = _whose(each)
        confirmed[whose] = max(confirmed.get(whose, 0), each.index)
    done = {(each.run_id, each.message, each.amount) for each in brought.rows["done"]}
    failed: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for each in brought.rows["failed"]:
        if (each.run_id, each.message, each.amount) not in done:
            # A session is JSON in the table.
            failed[each.run_id].add((str(json.loads(each.message)), each.amount))
    return walk.Given(
        confirmed=confirmed,
        failed={run: frozenset(found) for run, found in failed.items()},
        quorum={run: manifest.quorum for run, manifest in manifests.items()},
    )


def _reached(brought: Brought, run: str) -> dict[int, tuple[int, int]]:
    """By term of the CONFIRM: the last entry, and its term, that one of that term covers."""
    found: dict[int, tuple[int, int]] = {}
    for each in brought.rows[REACHED]:
        if each.run_id == run:
            place = (each.index, each.term)
            found[each.amount] = max(found.get(each.amount, (0, 0)), place)
    return found


def _wanted(
    brought: Brought, given: walk.Given, manifests: dict[str, Manifest]
) -> list[tuple[str, int]]:
    wanted = {(run, i) for run in manifests for i, _ in _reached(brought, run).values()}
    for run, manifest in manifests.items():
        wanted |= {(run, node.confirmed) for node in manifest.nodes}
    assert given.confirmed.keys() or not wanted
    return sorted(wanted) or [("", 0)]


def _conclude(manifest: Manifest, brought: Brought, given: walk.Given) -> dict[str, Finding]:
    run = manifest.run_id
    own = Brought()
    own.take(each for rows in brought.rows.values() for each in rows if each.run_id == run)
    _fates(own, run, given)
    _receipts(own, run, given)
    _leaders(own, run)
    _kept(own, manifest, given)
    if not _events(own, "durable"):
        _quorum(own, manifest)
    found = {rule.id: Finding() for rule in RULES}
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
    _lacks(found, manifest, own)
    return found


def _fates(own: Brought, run: str, given: walk.Given) -> None:
    """What is rolled back in one log must be in all that have confirmed so far."""
    rolled: dict[int, set[Whose]] = defaultdict(set)
    for each in own.rows[ROLLED]:
        rolled[each.index].add(_whose(each))
    logs = {_whose(each): (each.term, each.index) for each in own.rows[LOG]}
    for index, gone in rolled.items():
        have = {
            whose
            for whose, (first, last) in logs.items()
            if first <= index <= min(last, given.confirmed.get(whose, 0))
        }
        if have - gone and have & gone:
            text = f"entry {index} is rolled back on some nodes only"
            own.breach(run, "confirmed-agree", text, index=index)


def _receipts(own: Brought, run: str, given: walk.Given) -> None:
    promised = {each.index for each in own.rows["receipt"]}
    for each in own.rows[ROLLED]:
        if each.index in promised and each.index <= given.confirmed.get(_whose(each), 0):
            text = f"entry {each.index} was acknowledged and is rolled back on node {each.node}"
            own.breach(run, "receipts-kept", text, node=each.node, index=each.index)


def _leaders(own: Brought, run: str) -> None:
    """Whoever leads a term has what was confirmed in earlier ones."""
    reached = _reached(own, run)
    entries = {(_whose(each), each.index): each.term for each in own.rows["entry"]}
    firsts = {_whose(each): each.term for each in own.rows[LOG]}
    for leader in own.rows[PROMOTED]:
        whose = _whose(leader)
        for era, (index, term) in reached.items():
            if era >= leader.term:
                continue
            own.facts(run, "leader-complete", 1)
            here = entries.get((whose, index))
            if index >= firsts[whose] and (index >= leader.index or here != term):
                text = f"the leader of term {leader.term} lacks {index}, confirmed in {era}"
                place = {"node": leader.node, "index": index, "term": leader.term}
                own.breach(run, "leader-complete", text, **place)


def _kept(own: Brought, manifest: Manifest, given: walk.Given) -> None:
    run = manifest.run_id
    safe = {_whose(each): each.term for each in own.rows["confirmed"]}
    for node in manifest.nodes:
        safe.setdefault((run, node.node, node.generation), min(node.confirmed, node.last))
    lasts = {_whose(each): each.index for each in own.rows[LOG]}
    for whose, upto in safe.items():
        if upto and lasts and whose in given.confirmed:
            own.facts(run, "confirmed-kept", 1)
            if lasts.get(whose, 0) < upto:
                text = f"node {whose[1]} had confirmed {upto}, its log ends before"
                own.breach(run, "confirmed-kept", text, node=whose[1], index=upto)


def _quorum(own: Brought, manifest: Manifest) -> None:
    """Without events: what was confirmed before the logs were read is in a quorum of them."""
    run = manifest.run_id
    ahead = max(manifest.nodes, key=lambda node: node.confirmed, default=None)
    if ahead is None or not manifest.quorum or len(own.rows[LOG]) < manifest.voters:
        return
    entries = [e for e in own.rows["entry"] if e.index == ahead.confirmed]
    crcs = {e.amount for e in entries if e.node == ahead.node}
    if not ahead.confirmed or not crcs:
        return
    own.facts(run, "quorum-before-confirm", 1)
    have = {e.node for e in entries if e.amount in crcs}
    if len(have) < manifest.quorum:
        text = f"entry {ahead.confirmed} is confirmed and only in the logs of {sorted(have)}"
        place = {"node": ahead.node, "index": ahead.confirmed}
        own.breach(run, "quorum-before-confirm", text, **place)


def _events(own: Brought, name: str) -> bool:
    return any(each.invariant == name for each in own.rows["events"])


def _lacks(found: dict[str, Finding], manifest: Manifest, own: Brought) -> None:
    if len(own.rows[LOG]) < 2:  # noqa: PLR2004 - it takes two to compare
        for name in ("log-matching", "confirmed-agree"):
            found[name] = Finding(lacks="only one log")
    eventful = found["eventful"]
    if not manifest.faults:
        eventful.lacks = "no faults were meant to happen"
        return
    acked = sum(each.amount for each in own.rows["acked"])
    strikes = sum(each.amount for each in own.rows["strikes"])
    eventful.facts = acked + strikes
    if not acked:
        eventful.doubt = "no write was acknowledged"
    elif not strikes:
        eventful.doubt = "no fault happened"
