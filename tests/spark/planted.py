"""Clean simulated runs with one thing changed each, and the exact invariants that must notice."""

import copy
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from admin.evidence.bundle import Bundle, write
from admin.evidence.manifest import Manifest
from admin.evidence.simulated import record
from admin.evidence.tables import TABLES, Row
from qsync.sim.plan import Plan

Tables = dict[str, list[Row]]

SEEDS = range(30, 90)
"""The first of these that has all that is to be spoiled is the run that is spoiled."""
ACKED_MIN = 8
NODES_MIN = 3
CLEAN_SEEDS = (2, 3, 9, 14, 24)


@dataclass(slots=True)
class Case:
    """A run that is being spoiled."""

    manifest: Manifest
    tables: Tables

    def log(self, node: int) -> list[Row]:
        return [row for row in self.tables["wal"] if row["node"] == node]

    def entry(self, node: int, index: int) -> Row:
        return next(row for row in self.log(node) if row["index"] == index)

    def last(self, node: int) -> int:
        return max(int(str(row["index"])) for row in self.log(node))

    def kinds(self, node: int, kind: str) -> list[Row]:
        return [row for row in self.log(node) if row["kind"] == kind]

    def drop(self, table: str, gone: Callable[[Row], bool]) -> None:
        self.tables[table] = [row for row in self.tables[table] if not gone(row)]


Spoil = Callable[[Case], None]
PLANTED: dict[str, tuple[Spoil, frozenset[str]]] = {}


def plants(*ids: str) -> Callable[[Spoil], Spoil]:
    """The change, and exactly which invariants it must break."""

    def keep(spoil: Spoil) -> Spoil:
        PLANTED[spoil.__name__] = (spoil, frozenset(ids))
        return spoil

    return keep


def middle(case: Case, kind: str = "TXN") -> int:
    """Index of some entry in the middle of the log that a client asked for."""
    found = [row for row in case.kinds(1, kind) if kind != "TXN" or row.get("seq")]
    return int(str(found[len(found) // 2]["index"]))


@plants("log-chain", "log-matching")
def checksum_flipped(case: Case) -> None:
    row = case.entry(1, middle(case))
    row["crc"] = int(str(row["crc"])) ^ 1


@plants("log-chain")
def body_damaged(case: Case) -> None:
    row = case.entry(1, middle(case))
    row["body_crc"] = int(str(row["body_crc"])) ^ 1


@plants("log-dense", "log-lsns", "receipts-kept")
def row_missing(case: Case) -> None:
    at = _unnamed(case)[0]["index"]
    case.drop("wal", lambda row: row["node"] == 2 and row["index"] == at)


@plants("log-dense", "log-lsns")
def row_twice(case: Case) -> None:
    case.tables["wal"].append(dict(case.entry(1, middle(case))))


@plants("log-chain", "log-lsns")
def lsn_skipped(case: Case) -> None:
    named = {(row.get("ref_owner"), row.get("ref_lsn")) for row in case.log(1)}
    row = next(
        row
        for row in case.kinds(1, "TXN")
        if (row["origin"], row["lsn"]) not in named and int(str(row["index"])) > 10
    )
    row["lsn"] = int(str(row["lsn"])) + 1000


@plants("log-chain", "log-controls")
def confirm_of_nothing(case: Case) -> None:
    row = case.kinds(1, "CONFIRM")[-1]
    row["ref_lsn"] = int(str(row["ref_lsn"])) + 10_000
    row["body_crc"] = 1


@plants("one-leader")
def second_leader(case: Case) -> None:
    row = next(row for row in case.tables["status"] if row["role"] == "leader")
    other = 1 + int(str(row["node"])) % len(case.manifest.nodes)
    at = max(int(str(row["sample"])) for row in case.tables["status"]) + 1
    case.tables["status"].append({**row, "node": other, "life": 99, "sample": at, "ro": True})


@plants("one-leader", "one-writable")
def two_writable(case: Case) -> None:
    row = next(row for row in case.tables["status"] if row["ro"] is False)
    other = 1 + int(str(row["node"])) % len(case.manifest.nodes)
    at = max(int(str(row["sample"])) for row in case.tables["status"]) + 1
    case.tables["status"].append({**row, "node": other, "life": 99, "sample": at})


@plants("one-vote")
def voted_twice(case: Case) -> None:
    row = next(row for row in case.tables["events"] if row["name"] == "vote")
    other = 1 + int(str(row["peer"])) % len(case.manifest.nodes)
    case.tables["events"].append({**row, "peer": other, "number": _end(case)})


@plants("ballot-kept")
def ballot_forgotten(case: Case) -> None:
    rows = [row for row in case.tables["events"] if row["name"] == "ballot" and row["node"] == 1]
    case.tables["events"].append({**rows[-1], "term": 0, "peer": None, "number": _end(case)})


@plants("status-monotone")
def term_goes_back(case: Case) -> None:
    rows = [row for row in case.tables["status"] if row["node"] == 1]
    row = max(rows, key=lambda row: int(str(row["sample"])))
    sample = max(int(str(row["sample"])) for row in case.tables["status"]) + 1
    fresh = {**row, "role": "follower", "ro": True, "term": int(str(row["term"])) - 1}
    case.tables["status"].append({**fresh, "sample": sample})


@plants("status-coherent", "confirmed-kept")
def confirmed_beyond_the_log(case: Case) -> None:
    rows = [row for row in case.tables["status"] if row["node"] == 1]
    row = max(rows, key=lambda row: int(str(row["sample"])))
    far = case.last(1) + 50
    row |= {"confirmed": far, "written": far}


@plants("quorum-before-confirm")
def acked_by_too_few(case: Case) -> None:
    """The last entry came to one disk only, as far as the events tell."""
    rows = [row for row in case.tables["events"] if row["name"] == "confirmed"]
    last = max(int(str(row["index"])) for row in rows)
    owner = next(row for row in rows if row["index"] == last)["node"]
    case.drop(
        "events",
        lambda row: row["name"] == "durable" and row["index"] == last and row["node"] != owner,
    )


@plants("confirmed-kept")
def confirmed_tail_lost(case: Case) -> None:
    mine = [row for row in case.tables["status"] if row["node"] == 3]
    had = max(min(int(str(row["confirmed"])), int(str(row["written"]))) for row in mine)
    case.drop("wal", lambda row: row["node"] == 3 and int(str(row["index"])) >= had)


@plants("digests-equal")
def digest_differs(case: Case) -> None:
    row = next(row for row in case.tables["digests"] if row["node"] == 2)
    row["digest"] = "0" * len(str(row["digest"]))


@plants("log-chain", "once")
def applied_twice(case: Case) -> None:
    """A retry was applied again, on all nodes: the later entry bears the same request."""
    done = [row for row in case.kinds(1, "TXN") if row.get("seq") and row["flags"]]
    first, second = done[len(done) // 2], done[len(done) // 2 + 1]
    for row in case.tables["wal"]:
        if row["index"] == second["index"]:
            row |= {"session": first["session"], "seq": first["seq"], "body_crc": 1}


@plants("receipts-kept")
def receipt_of_another_term(case: Case) -> None:
    row = _acked(case)
    row["term"] = int(str(row["term"])) + 7


@plants("failures-gone")
def failure_that_happened(case: Case) -> None:
    row = _acked(case)
    row["type"] = "fail"


@plants("log-terms", "log-chain", "confirmed-agree", "receipts-kept")
def term_decreases(case: Case) -> None:
    row = _entry_of(case, 1, _acked(case))
    row["term"] = 0


@plants("confirmed-agree", "log-chain", "receipts-kept")
def rolled_back_elsewhere(case: Case) -> None:
    """A CONFIRM on one node is a ROLLBACK of the same on another."""
    _confirms(case)[-1].update({"kind": "ROLLBACK", "body_crc": 1})


@plants("log-matching")
def another_entry_at_the_same_place(case: Case) -> None:
    """Its checksum holds, and so does the chain; the logs differ all the same."""
    row = case.entry(2, case.last(2))
    row |= {"crc": int(str(row["crc"])) ^ 5, "body_crc": int(str(row["body_crc"])) ^ 5}


@plants("log-fates")
def confirmed_is_rolled_back(case: Case) -> None:
    named = case.kinds(1, "CONFIRM")[-1]
    ref = {name: named[name] for name in ("ref_owner", "ref_lsn")}
    case.tables["wal"].append(_next(case, 1) | {"kind": "ROLLBACK"} | ref)


@plants("leader-complete", "confirmed-agree", "confirmed-kept")
def leader_without_what_was_confirmed(case: Case) -> None:
    receipts = {row.get("log_index") for row in _receipts(case)}
    cut = max(each for each in range(1, case.last(3) // 2) if each not in receipts)
    case.drop("wal", lambda row: row["node"] == 3 and int(str(row["index"])) >= cut)
    row = _next(case, 3)
    term = max(int(str(each["term"])) for each in case.log(1)) + 1
    row |= {"kind": "PROMOTE", "flags": 1, "ref_owner": 0, "ref_lsn": 0, "term": term}
    case.tables["wal"].append(row)


def _next(case: Case, node: int) -> Row:
    """An entry to come after the last; nothing is known of its body."""
    row = case.entry(node, case.last(node))
    fresh = dict(row) | {"index": case.last(node) + 1, "lsn": int(str(row["lsn"])) + 1}
    return fresh | {"body_crc": None, "session": None, "seq": None, "crc": 77}


def _unnamed(case: Case) -> list[Row]:
    """Of node 2: acknowledged writes that no control entry names."""
    receipts = {row.get("log_index") for row in _receipts(case)}
    named = {(row.get("ref_owner"), row.get("ref_lsn")) for row in case.log(2)}
    return [
        row
        for row in case.log(2)
        if row["index"] in receipts and (row["origin"], row["lsn"]) not in named
    ]


def _confirms(case: Case) -> list[Row]:
    """Of node 2: those that come right behind the acknowledged write that they name."""
    receipts = {row.get("log_index") for row in _receipts(case)}
    log = sorted(case.log(2), key=lambda row: int(str(row["index"])))
    return [
        row
        for before, row in itertools.pairwise(log)
        if row["kind"] == "CONFIRM"
        and before["index"] in receipts
        and (row.get("ref_owner"), row.get("ref_lsn")) == (before["origin"], before["lsn"])
    ]


def _acked(case: Case) -> Row:
    found = _receipts(case)
    return found[len(found) // 2]


def _receipts(case: Case) -> list[Row]:
    return [
        row
        for row in case.tables["ops"]
        if row["type"] == "ok" and row["f"] != "read" and row.get("log_index") and row.get("seq")
    ]


def _entry_of(case: Case, node: int, line: Row) -> Row:
    return case.entry(node, int(str(line["log_index"])))


def _end(case: Case) -> int:
    return max(int(str(row["number"])) for row in case.tables["events"]) + 1


def cases(folder: Path) -> Iterable[tuple[str, Bundle, frozenset[str]]]:
    """Every bundle with its name and what must be raised; the clean ones first."""
    for seed in CLEAN_SEEDS:
        report, bundle = record(Plan(seed=seed, events=1500), folder / f"seed-{seed}")
        assert report.held, report.describe()
        yield f"seed-{seed}", bundle, frozenset()
    clean, tables = _to_be_spoiled(folder)
    yield clean.manifest.run_id, clean, frozenset()
    for name, (spoil, ids) in PLANTED.items():
        case = Case(replace(clean.manifest, run_id=name), copy.deepcopy(tables))
        spoil(case)
        yield name, write(folder / name, case.manifest, dict(case.tables)), ids


def _to_be_spoiled(folder: Path) -> tuple[Bundle, Tables]:
    for seed in SEEDS:
        report, clean = record(Plan(seed=seed, events=1500), folder / f"seed-{seed}")
        assert report.held, report.describe()
        tables = {name: list(clean.rows(name)) for name in TABLES}
        case = Case(clean.manifest, tables)
        rich = len(_receipts(case)) >= ACKED_MIN and not report.idle and bool(tables["digests"])
        if rich and _confirms(case) and _unnamed(case) and len(clean.manifest.nodes) >= NODES_MIN:
            for row in itertools.chain.from_iterable(tables.values()):
                del row["run_id"]
            return clean, tables
    raise AssertionError(f"none of {SEEDS} has all that is to be spoiled")
