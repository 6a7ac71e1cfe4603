"""Logs followed slice by slice break what whole logs break, wherever they are cut; no Spark."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("pyarrow", reason="needs the [spark] extra")

import pyarrow as pa

from admin.checker.rules import replayed
from admin.checker.rules.catalogue import BY_ID, load
from admin.checker.rules.run import DEMOTE, PROMOTE, LogTable, RunTables, build
from admin.checker.spark.columns import Whose, slices
from admin.checker.spark.job_schema import BREACH, FACTS, FindingRow
from admin.checker.spark.units import known_columns, plan
from admin.checker.spark.walk.log import LogWalk as Walked
from admin.checker.spark.walk.plan import follow, trails
from admin.checker.spark.walk.status_samples import Says, samples
from admin.evidence.arrow import batch
from admin.evidence.manifest import Manifest, NodeFacts
from admin.evidence.tables import TABLES, Row
from tests.spark.planted import cases

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

WALKED = (
    "log-owner",
    "promote-fits",
    "confirms-forward",
    "rollback-legal",
    "fates-shared",
    "limbo-replay",
)
SPANS = (1, 7, 1000)
SEEDS = range(120)
Judged = dict[str, tuple[int, set[tuple[str, int, int, int]]]]
"""By invariant: facts, and places."""


def test_followed_bundles_break_what_one_process_finds(tmp_path: Path) -> None:
    for name, bundle, _ in cases(tmp_path):
        whole = _whole(load(bundle.path))
        for span in (11, None):
            walked = trails({bundle.manifest.run_id: bundle.path}, plan([bundle.path], span))
            numbers = pa.RecordBatch.from_arrays([pa.array(range(len(walked)))], ["id"])
            rows = [row for each in follow(walked)(iter([numbers])) for row in each.to_pylist()]
            assert _sorted(FindingRow(**row) for row in rows) == whole, (name, span)


def test_logs_of_any_nonsense_are_followed_as_one_process_judges_them() -> None:
    """PROMOTEs, DEMOTEs, CONFIRMs and ROLLBACKs of anything, and samples of it: dice decide."""
    seen = Counter[str]()
    for seed in SEEDS:
        dice = Random(seed)
        run, rows = _nonsense(dice, sane=seed % 3 > 0)
        whole = _whole(run)
        seen.update(name for name, (_, places) in whole.items() if places)
        seen.update(f"{name} fits" for name, (n, places) in whole.items() if n > len(places))
        for span in SPANS:
            assert _walked(run, rows, span) == whole, (seed, span)
    wanted = {*WALKED, *(f"{name} fits" for name in WALKED)}
    assert wanted <= seen.keys(), "dice that never show it prove nothing"


def _whole(run: RunTables) -> Judged:
    found = {name: BY_ID[name].find(run) for name in WALKED}
    return {
        name: (each.facts, {breach.where for breach in each.breaches})
        for name, each in found.items()
    }


def _sorted(found: Iterable[FindingRow]) -> Judged:
    facts = Counter[str]()
    places = defaultdict[str, set[tuple[str, int, int, int]]](set)
    for each in found:
        if each.what == FACTS:
            facts[each.invariant] += each.amount
        else:
            assert each.what == BREACH
            places[each.invariant].add((each.invariant, each.node, each.index, each.term))
    return {name: (facts[name], places[name]) for name in WALKED}


def _walked(run: RunTables, rows: list[Row], span: int) -> Judged:
    says = defaultdict[tuple[int, int], list[Says]](list)
    for each in sorted(run.status, key=lambda each: each.last or 0):
        told = (each.visible, each.written, each.limbo_owner, each.limbo_term, each.limbo_len or 0)
        here = (each.last or 0, each.crc or 0, each.sample, each.role, each.term)
        says[each.whose].append(Says(*here, each.confirmed or 0, *told))
    logs: dict[Whose, Walked] = {}
    last = max(int(str(row["index"])) for row in rows)
    for first in range(1, last + 1, span):
        some = [row for row in rows if first <= int(str(row["index"])) < first + span]
        if not some:
            continue
        table = known_columns(pa.Table.from_batches([batch("wal", some)]))
        for part in slices("dice", [table]):
            log = logs.setdefault(part.whose, Walked(part.whose, says[part.whose[1:]]))
            log.next_slice(part)
    return _sorted(each for log in logs.values() for each in log.end())


def _nonsense(dice: Random, *, sane: bool) -> tuple[RunTables, list[Row]]:
    """Two logs, holes and doubles in them unless they are sane, and what nodes say of them."""
    size = dice.randrange(10, 80)
    rows = [row | {"node": node} for node in (1, 2) for row in _log(dice, size, sane=sane)]
    if not sane:
        rows = [row for row in rows if dice.random() > 0.01]
        rows += [dict(row) for row in rows if dice.random() < 0.01]
    nodes = tuple(NodeFacts(node=node, confirmed=0, last=size) for node in (1, 2))
    manifest = Manifest(run_id="dice", source="dice", voters=2, quorum=1, nodes=nodes)
    whole = [dict.fromkeys(TABLES["wal"].columns) | row for row in rows]
    logs = build(manifest, {"wal": whole}).logs
    status = [_sample(dice, dice.choice(list(logs.values())), number) for number in range(30)]
    full = [dict.fromkeys(TABLES["status"].columns) | row for row in status]
    return build(manifest, {"wal": whole, "status": full}), whole


def _log(dice: Random, size: int, *, sane: bool) -> list[Row]:
    kinds = dice.choice(("TTTTC", "TTTTCR", "TCR", "TTTTTTTTR"))
    term, owner, lsns = 0, 0, dict.fromkeys(range(4), 0)
    log: list[Row] = []
    for index in range(1, size + 1):
        kind = {"T": "TXN", "C": "CONFIRM", "R": "ROLLBACK"}[dice.choice(kinds)]
        if dice.random() < 0.06 or (sane and index == 1):
            kind = dice.choice(("PROMOTE", "PROMOTE", "DEMOTE"))
        named: tuple[int, int] | None = (owner, lsns[owner])
        if kind == "PROMOTE":
            term += 1 if sane else dice.randrange(3)
            owner = dice.randrange(1, 4)
        elif kind in {"CONFIRM", "ROLLBACK"}:
            back = dice.randrange(1, 12)
            place = log[-back] if len(log) >= back else None
            named = None if place is None else (int(str(place["origin"])), int(str(place["lsn"])))
        origin = owner if sane or dice.random() > 0.02 else dice.randrange(4)
        lsns[origin] += 1 if sane else 1 + (dice.random() < 0.01)
        row: Row = {"generation": 1, "index": index, "term": term, "kind": kind, "origin": origin}
        row |= {"lsn": lsns[origin], "flags": 0, "crc": dice.randrange(1 << 32)}
        if kind == "TXN":
            row["flags"] = dice.choice((0, 1, 1, 1, 2, 2))
        elif named is not None and dice.random() < 0.95:
            named = named if dice.random() < 0.97 else (dice.randrange(4), dice.randrange(9))
            row |= {"ref_owner": named[0], "ref_lsn": named[1]}
        log.append(row)
    return log


def _sample(dice: Random, log: LogTable, number: int) -> Row:
    """Now and then a wrong one."""
    place = dice.randrange(len(log.index))
    last = log.index[place]
    confirmed = max(0, last - dice.randrange(12))
    waiting, before = 0, last
    if log.index == list(range(1, len(log.index) + 1)):
        (waiting, before), _ = replayed.limbo(log, replayed.names(log), confirmed, last)
    owners = [at for at in range(place + 1) if log.kind[at] in {PROMOTE, DEMOTE}]
    owner = owners[-1] if owners else 0
    written = last if dice.random() < 0.5 else max(0, last - dice.randrange(9))
    row: Row = {"node": log.node, "generation": 1, "life": 1, "sample": number, "time_mono": number}
    role = dice.choice(("leader", "follower"))
    row |= {"role": role, "term": log.term[place], "last": last, "crc": log.crc[place]}
    row |= {"confirmed": confirmed, "written": written, "limbo_term": log.term[owner]}
    row |= {"limbo_owner": log.origin[owner] if log.kind[owner] == PROMOTE else 0}
    row |= {"limbo_len": waiting, "visible": max(confirmed, min(before, written))}
    if dice.random() < 0.2:
        row[dice.choice(("limbo_len", "visible", "crc", "limbo_owner", "limbo_term"))] = 1
    return row


def test_samples_that_say_nothing_of_a_limbo_are_passed_over(tmp_path: Path) -> None:
    _, bundle, _ = next(iter(cases(tmp_path)))
    known = samples(bundle.path)
    asked = [each for each in load(bundle.path).status if each.limbo_len is not None]
    assert sum(map(len, known.values())) == len([e for e in asked if e.crc is not None and e.last])
