"""A clean simulated run that is being spoiled: what faults are planted with."""

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from admin.checker.rules.run import LogTable
from admin.evidence.manifest import Manifest
from admin.evidence.tables import Row
from tests.oracle.queue import LimboReplay

Tables = dict[str, list[Row]]
Ref = tuple[int, int]


class Lacks(Exception):
    """This run does not have what is to be spoiled; another may."""


@dataclass(slots=True)
class Case:
    """The tables of a run, without the name of the run."""

    manifest: Manifest
    tables: Tables

    # -- what is there

    def log(self, node: int) -> list[Row]:
        rows = [row for row in self.tables["wal"] if row["node"] == node]
        return sorted(rows, key=lambda row: num(row, "index"))

    def entry(self, node: int, index: int) -> Row:
        return next(row for row in self.log(node) if row["index"] == index)

    def last(self, node: int = 1) -> Row:
        return self.log(node)[-1]

    def kinds(self, node: int, kind: str) -> list[Row]:
        return [row for row in self.log(node) if row["kind"] == kind]

    @property
    def nodes(self) -> list[int]:
        return [each.node for each in self.manifest.nodes]

    def samples(self, node: int) -> list[Row]:
        rows = [row for row in self.tables["status"] if row["node"] == node]
        return sorted(rows, key=lambda row: num(row, "sample"))

    @property
    def leader(self) -> int:
        """Who takes writes at the end."""
        return only(node for node in self.nodes if self.samples(node)[-1]["ro"] is False)

    @property
    def follower(self) -> int:
        return next(node for node in self.nodes if node != self.leader)

    def events(self, name: str) -> list[Row]:
        return [row for row in self.tables["events"] if row["name"] == name]

    def receipts(self) -> list[Row]:
        """Lines of acknowledged writes to registers."""
        return [
            row
            for row in self.tables["ops"]
            if row["type"] == "ok"
            and row["f"] in {"write", "cas"}
            and row.get("log_index")
            and row.get("seq")
        ]

    def queue(self) -> LimboReplay:
        """The limbo at the end of the log, as its records tell it."""
        log = LogTable(1, 1)
        for row in self.log(1):
            log.add(row)
        queue = LimboReplay(log)
        for place in range(len(log.index)):
            queue.apply(place)
        return queue

    def rolled_back(self, node: int) -> set[int]:
        """From the first that a ROLLBACK of its log takes up to before that: nobody stops there."""
        places = {(row["origin"], row["lsn"]): num(row, "index") for row in self.log(node)}
        found: set[int] = set()
        for row in self.kinds(node, "ROLLBACK"):
            found |= set(range(places[row["ref_owner"], row["ref_lsn"]], num(row, "index")))
        return found

    # -- changes

    def drop(self, table: str, gone: Callable[[Row], bool]) -> None:
        self.tables[table] = [row for row in self.tables[table] if not gone(row)]

    def append(self, kind: str, nodes: Iterable[int] = (), /, **changes: object) -> Row:
        """An entry behind the last of every log, by the owner of the limbo by default.

        Its body is unknown, so its checksum cannot be computed again.
        """
        row: Row = {}
        for node in list(nodes) or self.nodes:
            before = self.last(node)
            origin = changes.get("origin", before["origin"])
            lsns = [num(each, "lsn") for each in self.log(node) if each["origin"] == origin]
            row = {
                "node": node,
                "generation": before["generation"],
                "index": num(before, "index") + 1,
                "term": before["term"],
                "kind": kind,
                "origin": origin,
                "lsn": max(lsns, default=0) + 1,
                "flags": {"TXN": 3, "PROMOTE": 1}.get(kind, 0),
            }
            row |= changes
            row["crc"] = zlib.crc32(repr(sorted(row.items() - {("node", node)})).encode())
            self.tables["wal"].append(row)
        return row

    def follows(self) -> dict[str, object]:
        """What a PROMOTE that continues this log names, and its term: one that nobody stood in."""
        last = self.last()
        stood = [num(row, "term") for row in self.tables["events"] if row.get("term")]
        queue = self.queue()
        owner = queue.owner
        ref = {"ref_owner": owner, "ref_lsn": queue.lsns.get(owner, 0)}
        return {"term": max(num(last, "term"), *stood) + 1, **ref}

    def sample(self, node: int, **changes: object) -> Row:
        """A node says something more; its log is not looked at."""
        number = max(num(row, "sample") for row in self.tables["status"]) + 1
        time = max(num(row, "time_mono") for row in self.tables["status"]) + 1_000_000
        row = {**self.samples(node)[-1], "sample": number, "time_mono": time, "crc": None}
        row |= changes
        self.tables["status"].append(row)
        return row

    def event(self, name: str, node: int, **known: object) -> None:
        events = self.tables["events"]
        whose = next(row for row in reversed(events) if row["node"] == node)
        row: Row = {each: whose[each] for each in ("node", "generation", "life")}
        number = max(num(row, "number") for row in events) + 1
        time = max(num(row, "time_mono") for row in events)
        events.append(row | {"name": name, "number": number, "time_mono": time} | known)

    def insert_events(self, at: int, rows: Sequence[Row]) -> None:
        """These happen there, at the time of what comes before them."""
        events = self.tables["events"]
        time = events[at - 1]["time_mono"]
        events[at:at] = [{**row, "time_mono": time} for row in rows]
        for number, row in enumerate(events):
            row["number"] = number

    def does(self, f: str, key: object, value: object, **known: object) -> None:
        """A client of its own does something and is told ok."""
        ops = self.tables["ops"]
        index = max((num(row, "index") for row in ops), default=0) + 1
        time = max((num(row, "time") for row in ops), default=0) + 1_000
        process = 900_000 + index
        row: Row = {"index": index, "time": time, "process": process, "type": "invoke", "f": f}
        asked = None if f == "read" else value
        begun = {name: known[name] for name in BEGUN if name in known}
        ops.append(row | {"key": key, "value": asked} | begun)
        row |= {"index": index + 1, "time": time + 1_000, "type": "ok", "key": key, "value": value}
        ops.append(row | known)

    def confirm_all(self) -> None:
        """Every log is confirmed to its end."""
        nodes = [
            replace(each, confirmed=num(self.last(each.node), "index"))
            for each in self.manifest.nodes
        ]
        self.manifest = replace(self.manifest, nodes=tuple(nodes))


BEGUN = ("session", "seq", "floor", "floor_term")
"""What is known of an operation when it begins."""

Spoil = Callable[[Case], None]


@dataclass(frozen=True, slots=True)
class Fault:
    """A change to a clean run, the invariants that must fail, and those that must not pass."""

    name: str
    title: str
    spoil: Spoil
    fails: frozenset[str]
    doubts: frozenset[str]


PLANTED: dict[str, Fault] = {}


def plants(*fails: str, doubts: Sequence[str] = ()) -> Callable[[Spoil], Spoil]:
    """Exactly which invariants the change must break."""

    def keep(spoil: Spoil) -> Spoil:
        title = " ".join((spoil.__doc__ or "").split()).rstrip(".")
        assert title, spoil.__name__
        assert spoil.__name__ not in PLANTED, spoil.__name__
        fault = Fault(spoil.__name__, title, spoil, frozenset(fails), frozenset(doubts))
        PLANTED[spoil.__name__] = fault
        return spoil

    return keep


def num(row: Row, name: str) -> int:
    found = row[name]
    assert isinstance(found, int), (name, row)
    return found


def only(found: Iterable[int]) -> int:
    known = list(found)
    if len(known) != 1:
        raise Lacks(f"{len(known)} of what there must be one of")
    return known[0]


def first(found: Iterable[Row]) -> Row:
    for row in found:
        return row
    raise Lacks("nothing of that kind")


def middle(found: Sequence[Row]) -> Row:
    if not found:
        raise Lacks("nothing of that kind")
    return found[len(found) // 2]
