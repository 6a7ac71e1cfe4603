"""Kernels of logs find what their oracles find, entry by entry, wherever logs are cut in slices."""

from collections import Counter, defaultdict
from random import Random

import numpy as np
import pytest

from admin.checker.kernels import proofs
from admin.checker.kernels.columns import Samples, Whose
from admin.checker.kernels.in_memory import MemoryKernels, entries_of, followed
from admin.checker.kernels.logs import neighbours, requests
from admin.checker.kernels.logs.slices import whole
from admin.checker.kernels.logs.status_samples import limbo_samples
from admin.checker.kernels.logs.walk import LogWalk
from admin.checker.kernels.registry import LOG_KERNELS
from admin.checker.rules.rule import Breach, RuleFinding
from admin.checker.rules.run import DEMOTE, PROMOTE, LogTable, RunTables, build
from admin.evidence.manifest import Manifest, NodeFacts
from admin.evidence.tables import TABLES, Row
from tests.oracle import replayed
from tests.oracle.table import LOG_ORACLE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SPANS = (1, 7)
SEEDS = range(120)
WALKED = LOG_ORACLE.keys() - {each.id for each in neighbours.KERNELS}
"""What needs a log in order; how slices are joined of which each is judged alone, Spark shows."""
NUMBERS = 200
PARTS = ((1, 1, 1, 1, 1, 1), (5, 20, 3), (60, 1))
"""Sizes of slices."""
Findings = dict[str, RuleFinding]
_NAME = ("node", "generation", "index", "kind")


def test_oracles_are_of_kernels_of_logs() -> None:
    """A later kernel may do with the faults that are planted for it."""
    assert LOG_ORACLE.keys() <= {each.id for each in LOG_KERNELS}


def test_logs_of_any_nonsense_are_judged_as_entry_by_entry() -> None:
    """PROMOTEs, DEMOTEs, CONFIRMs and ROLLBACKs of anything, and samples of it: dice decide."""
    seen = Counter[str]()
    for seed in SEEDS:
        dice = Random(seed)
        run, rows = _nonsense(dice, sane=seed % 3 > 0)
        wanted = {id_: find(run) for id_, find in LOG_ORACLE.items()}
        for id_, found in wanted.items():
            seen[id_] += bool(found.breaches)
            seen[f"{id_} fits"] += found.facts > len(found.breaches)
        assert _told(followed(MemoryKernels(run))) == _told(wanted), seed
        for span in SPANS:
            sliced, of_walks = _told(_in_slices(run, rows, span)), _told(wanted)
            assert {id_: sliced[id_] for id_ in WALKED} == {id_: of_walks[id_] for id_ in WALKED}
    wanted_ids = {*LOG_ORACLE, *(f"{id_} fits" for id_ in LOG_ORACLE)}
    assert {id_ for id_ in wanted_ids if not seen[id_]} == set(), "dice that never show it"


@pytest.mark.parametrize("ranges", [2, requests.RANGES_MAX])
def test_numbers_that_come_again_are_told_however_few_ranges_are_kept(
    ranges: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them, and with room for the gaps no others."""
    monkeypatch.setattr(requests, "RANGES_MAX", ranges)
    dice, exact = Random(1), ranges > NUMBERS
    for _ in range(300):
        seen, before = requests.SeenNumbers(), set[int]()
        for size in dice.choice(PARTS):
            part = [dice.randrange(NUMBERS) for _ in range(size)]
            again = {each for each in part if each in before or part.count(each) > 1}
            told = set(seen.add(np.array(part, dtype=np.int64)).tolist())
            assert told == again if exact else told >= again
            before.update(part)


def _told(found: Findings) -> dict[str, tuple[int, list[str]]]:
    return {id_: (found[id_].facts, sorted(map(_said, found[id_].breaches))) for id_ in LOG_ORACLE}


def _said(breach: Breach) -> str:
    """All of it; but where an index is in a log twice, either of the two may prove a breach."""
    rows = [
        {name: cell for name, cell in row.row.items() if row.table != "wal" or name in _NAME}
        for row in breach.witness
    ]
    return repr((breach.where, breach.message, rows))


def _in_slices(run: RunTables, rows: list[Row], span: int) -> Findings:
    status = Samples.of_records(run.status)
    samples = limbo_samples(status)
    walks: dict[Whose, LogWalk] = {}
    last = max(int(str(row["index"])) for row in rows)
    for first in range(1, last + 1, span):
        some = [row for row in rows if first <= int(str(row["index"])) < first + span]
        for whose, log in build(run.manifest, {"wal": some}).logs.items():
            if whose not in walks:
                walks[whose] = LogWalk(*whose, status, samples.get(whose, []))
            walks[whose].next_slice(whole("dice", log))
    found: Findings = defaultdict(RuleFinding)
    for walk in walks.values():
        for id_, own in walk.end().items():
            found[id_].facts += own.facts
            found[id_].breaches += own.breaches
    proofs.complete(found.values(), lambda places: entries_of(run.logs, places))
    return found


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
            term += 1 if sane else dice.choice((-1, 0, 1, 2, 2))
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
