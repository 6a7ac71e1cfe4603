"""Follows logs and events row by row inside of Spark tasks, however long they are."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import pyarrow as pa

from admin.checker.rules.sealing import checksum
from admin.checker.spark.found import BREACH, FACTS, LOG, PROMOTED, REACHED, ROLLED, Found
from admin.evidence.rows import kind_number

Batches = Iterator[pa.RecordBatch]
Whose = tuple[str, int, int]
"""Run, node, generation."""

_SCHEMA = pa.schema(
    [
        ("run_id", pa.string()),
        ("what", pa.string()),
        ("invariant", pa.string()),
        ("node", pa.int64()),
        ("generation", pa.int64()),
        ("index", pa.int64()),
        ("term", pa.int64()),
        ("amount", pa.int64()),
        ("message", pa.string()),
    ]
)


class Given(NamedTuple):
    """What is known before logs are walked: confirmed by node, failed requests, and quorums."""

    confirmed: dict[Whose, int]
    failed: dict[str, frozenset[tuple[str, int]]]
    quorum: dict[str, int]


class Walk:
    """One log, in order. `out` collects what it finds."""

    def __init__(self, whose: Whose, given: Given) -> None:
        self.whose = whose
        self.upto = given.confirmed.get(whose, 0)
        self.failed = given.failed.get(whose[0], frozenset())
        self.out: list[Found] = []
        self.facts: Counter[str] = Counter()
        self.before: Mapping[str, object] | None = None
        self.first = 0
        self.places: dict[tuple[int, int], tuple[int, int]] = {}
        self.lsns: dict[int, int] = {}
        self.queue: list[tuple[int, int, bool]] = []
        self.fate: dict[int, tuple[str, int]] = {}
        self.requests: list[tuple[int, tuple[str, int]]] = []

    def entry(self, row: Mapping[str, object]) -> None:
        """The next one."""
        if self.before is None:
            self.first = _int(row["index"])
        self._shape(row)
        self._chain(row)
        self._lsn(row)
        self._control(row)
        if row["session"] is not None and row["seq"] is not None:
            self.requests.append((_int(row["index"]), (str(row["session"]), _int(row["seq"]))))
        self.places[_int(row["origin"]), _int(row["lsn"])] = (_int(row["index"]), _int(row["term"]))
        self.before = row

    def end(self) -> list[Found]:
        """Everything that only the whole log tells."""
        rolled = {i for i, (fate, by) in self.fate.items() if fate == "gone" and by <= self.upto}
        rolled = rolled if self.first == 1 else set()
        done: dict[tuple[str, int], int] = {}
        for index, request in self.requests:
            if index > self.upto or index in rolled:
                continue
            self.facts["once"] += 1
            if done.setdefault(request, index) != index:
                self._breach("once", index, f"request {request} took effect at {done[request]} too")
            if request in self.failed:
                self._breach("failures-gone", index, f"request {request} was told it failed")
        self.facts["failures-gone"] += len(self.failed)
        run, node, generation = self.whose
        for index in sorted(rolled):
            self.out.append(Found(run, ROLLED, "", node, generation, index))
        last = _int(self.before["index"]) if self.before is not None else 0
        self.out.append(Found(run, LOG, "", node, generation, last, self.first))
        for invariant, count in self.facts.items():
            self.out.append(Found(run, FACTS, invariant, node, amount=count))
        return self.out

    def _shape(self, row: Mapping[str, object]) -> None:
        self.facts["log-dense"] += 1
        self.facts["log-terms"] += 1
        if self.before is None:
            return
        index, last = _int(row["index"]), _int(self.before["index"])
        if index - last != 1:
            self._breach("log-dense", index, f"index {index} follows {last}")
        if _int(row["term"]) < _int(self.before["term"]):
            self._breach("log-terms", index, f"term {row['term']} follows {self.before['term']}")

    def _chain(self, row: Mapping[str, object]) -> None:
        index, before = _int(row["index"]), self.before
        known = row["time"] is not None and row["body_crc"] is not None
        if not known or row["body_len"] is None:
            return
        if index == 1:
            previous = 0
        elif before is not None and _int(before["index"]) == index - 1:
            previous = _int(before["crc"])
        else:
            return
        if before is not None and _int(before["index"]) != index - 1:
            return
        self.facts["log-chain"] += 1
        place = (
            index,
            _int(row["term"]),
            _int(row["origin"]),
            _int(row["lsn"]),
            kind_number(str(row["kind"])),
            _int(row["flags"]),
        )
        sealed = (float(str(row["time"])), _int(row["body_crc"]), _int(row["body_len"]))
        if checksum(place, sealed, previous) != row["crc"]:
            self._breach("log-chain", index, f"the checksum of {index} does not hold")

    def _lsn(self, row: Mapping[str, object]) -> None:
        self.facts["log-lsns"] += 1
        origin, lsn = _int(row["origin"]), _int(row["lsn"])
        wanted = self.lsns.get(origin, 0 if self.first == 1 else lsn - 1) + 1
        if lsn != wanted:
            self._breach("log-lsns", _int(row["index"]), f"lsn {lsn} of {origin}, not {wanted}")
        self.lsns[origin] = lsn

    def _control(self, row: Mapping[str, object]) -> None:
        kind, index, term = str(row["kind"]), _int(row["index"]), _int(row["term"])
        waits = bool(_int(row["flags"]) & 1) or kind == "PROMOTE"
        if kind == "PROMOTE" or (kind == "TXN" and (waits or self.queue)):
            self.queue.append((index, term, waits))
        if kind == "PROMOTE":
            self.out.append(Found(self.whose[0], PROMOTED, "", *self.whose[1:], index, term))
        if kind == "TXN":
            return
        self.facts["log-controls"] += 1
        ref = (row["ref_owner"], row["ref_lsn"])
        named = None if None in ref else self.places.get((_int(ref[0]), _int(ref[1])))
        if None in ref or (self.first == 1 and ref[1] and named is None):
            self._breach("log-controls", index, f"{kind} names {ref}, which is not before it")
        if named is not None and kind in {"CONFIRM", "ROLLBACK"}:
            self._decide(kind, named, (index, term))

    def _decide(self, kind: str, named: tuple[int, int], record: tuple[int, int]) -> None:
        if kind == "CONFIRM" and record[0] <= self.upto:
            run, node, generation = self.whose
            self.out.append(Found(run, REACHED, "", node, generation, *named, record[1]))
        if self.first != 1:
            return
        self.facts["log-fates"] += 1
        former = self.fate.get(named[0], ("", 0))[0]
        if kind == "CONFIRM":
            if former == "gone":
                self._breach("log-fates", record[0], f"confirms {named[0]}, rolled back before")
            keep = 0
            while keep < len(self.queue) and self._goes(keep, named[0]):
                self.fate[self.queue[keep][0]] = ("kept", record[0])
                keep += 1
            self.queue = self.queue[keep:]
            return
        if former == "kept":
            self._breach("log-fates", record[0], f"rolls back {named[0]}, confirmed before")
        gone = [each for each in self.queue if each[0] >= named[0]]
        if any(term != record[1] for _, term, _ in gone):
            self._breach("log-fates", record[0], "rolls back what was inherited")
        self.fate |= {index: ("gone", record[0]) for index, _, _ in gone}
        self.queue = [each for each in self.queue if each[0] < named[0]]

    def _goes(self, place: int, named: int) -> bool:
        index, _, waits = self.queue[place]
        return index <= named or (place > 0 and not waits)

    def _breach(self, invariant: str, index: int, message: str) -> None:
        run, node, generation = self.whose
        self.out.append(
            Found(
                run, BREACH, invariant, node, generation, index, message=f"node {node}: {message}"
            )
        )


def logs(given: Given) -> Callable[[Batches], Batches]:
    """For rows of `wal`, sorted by run, node, generation and index."""

    def run(batches: Batches) -> Batches:
        walk: Walk | None = None
        for row in _rows(batches):
            whose = (str(row["run_id"]), _int(row["node"]), _int(row["generation"]))
            if walk is None or walk.whose != whose:
                if walk is not None:
                    yield _batch(walk.end())
                walk = Walk(whose, given)
            walk.entry(row)
        if walk is not None:
            yield _batch(walk.end())

    return run


def disks(given: Given) -> Callable[[Batches], Batches]:
    """For rows of `events`, sorted by run and number: a quorum of disks before every confirm."""

    def run(batches: Batches) -> Batches:
        name, held, highest = "", dict[int, dict[int, int]](), 0
        out: list[Found] = []
        for row in _rows(batches):
            if row["run_id"] != name:
                name, held, highest = str(row["run_id"]), {}, 0
            node, index = _int(row["node"]), _int(row["index"] or 0)
            disk = held.setdefault(node, {})
            if row["name"] in {"durable", "cut", "started"}:
                floor = index - 1 if row["name"] == "durable" else index
                for above in [each for each in disk if each > floor]:
                    del disk[above]
            if row["name"] == "durable":
                disk[index] = _int(row["crc"])
            elif row["name"] == "confirmed" and index > highest and given.quorum.get(name):
                highest = index
                have = sum(each.get(index) == row["crc"] for each in held.values())
                out.append(Found(name, FACTS, "quorum-before-confirm", amount=1))
                if have < given.quorum[name]:
                    text = f"node {node} confirmed {index}, which {have} disks have"
                    what = (name, BREACH, "quorum-before-confirm", node)
                    out.append(Found(*what, index=index, message=text))
        yield _batch(out)

    return run


def _rows(batches: Batches) -> Iterator[Mapping[str, object]]:
    for each in batches:
        columns = [column.to_pylist() for column in each.columns]
        names = each.schema.names
        for values in zip(*columns, strict=True):
            yield dict(zip(names, values, strict=True))


def _batch(found: Iterable[Found]) -> pa.RecordBatch:
    columns = list(zip(*found, strict=True)) or [()] * len(_SCHEMA)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, _SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)


def _int(value: object) -> int:
    assert isinstance(value, int), value
    return value
