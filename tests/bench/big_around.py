"""What else a long run leaves beside its logs: events, samples, a history, feeds and digests.

In the proportions of a cluster that writes in batches: every entry is on every disk, is the write
of a client, and is given to the readers of the feed. Everything fits the logs of `big_bundle`.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from admin.checker.kernels.arrays import Flags, Numbers
from admin.evidence.arrow import schema

NODES = 3
BATCH = 64
"""Entries that are written, acknowledged and confirmed together; the last of them is a CONFIRM."""
VICTIMS = 8
"""Entries before a ROLLBACK that it takes."""
SAMPLE_BATCHES = 4
UNKNOWN_EVERY = 512
"""The client of one of so many entries never heard how it ended."""
FEEDS = (1024, 4096)
"""A reader for each: so many entries an answer."""
SPACES = ("accounts", "log", "registers", "sessions")
ENTRY_NS = 50_000
STEP_NS = 1_000
_STEPS = 16
"""Of a batch; what happens in which: see `Around._events`."""
_STARTED, _BALLOT, _VOTE, _LEADS, _BALLOTS, _CONFIRMED, _SERVED = 0, 1, 2, 3, 4, 13, 14


@dataclass(frozen=True, slots=True)
class Batches:
    """Those of a part of the log: their numbers, the place of the last entry, and who led."""

    number: Numbers
    end: Numbers
    leader: Numbers

    def follower(self, which: int) -> Numbers:
        """0 is the leader."""
        return (self.leader - 1 + which) % NODES + 1


@dataclass(slots=True)
class Rows:
    """Rows in the making: `at` is the order that they get."""

    at: list[Numbers] = field(default_factory=list)
    columns: list[dict[str, Numbers | str | None]] = field(default_factory=list)

    def add(self, at: Numbers, **columns: Numbers | str | None) -> None:
        """Some, of equal names."""
        self.at.append(at)
        self.columns.append(columns)

    def table(self, name: str, offset: int, counted: str) -> pa.Table:
        """In order, with their numbers."""
        parts = [_arrow(each, len(at)) for at, each in zip(self.at, self.columns, strict=True)]
        order = np.argsort(np.concatenate(self.at), kind="stable")
        table = pa.concat_tables(parts, promote_options="default").take(pa.array(order))
        number = pa.array(np.arange(offset, offset + len(order)))
        return _fitting(name, table.append_column(counted, number))


class Around:
    """Takes a log part by part and writes the tables beside it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._last: dict[str, Numbers] = {}
        self._after = [0 for _ in FEEDS]
        self.rows: dict[str, int] = {}

    def part(self, log: pa.Table) -> None:
        """The next one; whole batches."""
        names = ("index", "term", "origin", "lsn", "crc", "seq")
        entries = {name: _numbers(log.column(name)) for name in names}
        kinds = log.column("kind")
        entries["txn"] = _numbers(pc.equal(kinds, "TXN").cast(pa.int64()))
        entries["gone"] = _gone(entries, np.flatnonzero(_flags(pc.equal(kinds, "ROLLBACK"))))
        end = np.arange(BATCH - 1, len(log), BATCH)
        batches = Batches(entries["index"][end] // BATCH, end, entries["origin"][end])
        self._write("events", self._events(entries, batches))
        self._write("status", self._samples(entries, batches))
        self._write("ops", self._history(entries, batches, log.column("session")))
        self._write("feeds", self._feeds(entries))
        self._last = {name: column[-1:] for name, column in entries.items()}

    def close(self) -> dict[str, int]:
        """Write what is known at the end; how many rows each table has."""
        end = int(self._last["index"][0])
        rows = [
            (node, space, made)
            for made in (None, "snapshot", "replay")
            for node in range(1, NODES + 1)
            for space in SPACES
        ]
        digests: dict[str, pa.Array] = {
            "made": pa.array([made for *_, made in rows], pa.string()),
            "node": pa.array([node for node, *_ in rows]),
            "generation": pa.array([1] * len(rows)),
            "index": pa.array([end] * len(rows)),
            "space": pa.array([space for _, space, _ in rows]),
            "digest": pa.array([f"{space}-{end}" for _, space, _ in rows]),
        }
        self._write("digests", _fitting("digests", pa.table(digests)))
        strikes = {"number": pa.array([1]), "f": pa.array(["power"])}
        self._write("nemesis", _fitting("nemesis", pa.table(strikes)))
        for each in self._writers.values():
            each.close()
        return self.rows

    def _write(self, name: str, table: pa.Table) -> None:
        if name not in self._writers:
            place = self._folder / f"{name}.parquet"
            self._writers[name] = pq.ParquetWriter(
                place, table.schema, compression="zstd", write_page_checksum=True
            )
        self._writers[name].write_table(table)
        self.rows[name] = self.rows.get(name, 0) + len(table)

    def _events(self, log: dict[str, Numbers], batches: Batches) -> pa.Table:
        """The leader writes, then each follower writes and acks; then it confirms and is read."""
        rows = Rows()
        index, term, crc = (log[name] for name in ("index", "term", "crc"))
        begun, end = batches.number * _STEPS, batches.end
        self._elections(rows, log, batches)
        of = np.minimum((index - index[0]) // BATCH, len(end) - 1)
        for which in range(NODES):
            node, at = batches.follower(which), begun + _BALLOTS + 3 * which
            vote = {"term": term[end], "peer": batches.leader}
            rows.add(at, **_event(node, term[end], "ballot"), **vote)
            written = {"index": index, "term": term, "crc": crc}
            rows.add((at + 1)[of], **_event(node[of], term[end][of], "durable"), **written)
            if which:
                had = {"index": index[end], "crc": crc[end], "term": term[end]}
                ack = _event(node, term[end], "ack")
                rows.add(at + 2, **ack, **had, peer=batches.leader)
            reached = {"index": index[end - 1], "term": term[end - 1], "crc": crc[end - 1]}
            rows.add(begun + _CONFIRMED, **_event(node, term[end], "confirmed"), **reached)
        served = _event(batches.leader, term[end], "served")
        rows.add(begun + _SERVED, **served, index=index[end - 1], floor=index[end - 1])
        made = rows.table("events", self.rows.get("events", 0), "number")
        at = np.sort(np.concatenate(rows.at), kind="stable")
        return _set(made, "time_mono", at // _STEPS * BATCH * ENTRY_NS + at % _STEPS * STEP_NS)

    def _elections(self, rows: Rows, log: dict[str, Numbers], batches: Batches) -> None:
        """After a power cut, where the term is a new one."""
        terms = log["term"][batches.end]
        known = self._last["term"] if self._last else np.zeros(1, dtype=np.int64)
        fresh = np.flatnonzero(np.diff(terms, prepend=known) != 0)
        begun, term, leader = (batches.number * _STEPS)[fresh], terms[fresh], batches.leader[fresh]
        for which in range(NODES):
            node = batches.follower(which)[fresh]
            had = (batches.number[fresh] - 1) * BATCH
            rows.add(begun + _STARTED, **_event(node, term, "started"), index=had)
            rows.add(begun + _BALLOT, **_event(node, term, "ballot"), term=term, peer=leader)
            if which:
                rows.add(begun + _VOTE, **_event(node, term, "vote"), term=term, peer=leader)
        rows.add(begun + _LEADS, **_event(leader, term, "leads"), term=term)

    def _samples(self, log: dict[str, Numbers], batches: Batches) -> pa.Table:
        rows = Rows()
        some = np.flatnonzero(batches.number % SAMPLE_BATCHES == 0)
        end, leader = batches.end[some], batches.leader[some]
        index, term, one = log["index"][end], log["term"][end], np.ones(len(end), dtype=np.int64)
        for which in range(NODES):
            node = batches.follower(which)[some]
            known = {"node": node, "generation": one, "life": term, "term": term, "vote": leader}
            known |= {"leader": leader, "last": index, "crc": log["crc"][end], "written": index}
            known |= {"confirmed": index - 1, "visible": index, "limbo_owner": leader}
            known |= {"limbo_term": term, "limbo_len": 0 * one, "quorum": 2 * one}
            role = "follower" if which else "leader"
            moment = (batches.number[some] + 1) * BATCH * ENTRY_NS - STEP_NS
            rows.add(batches.number[some], **known, role=role, time_mono=moment)
        made = rows.table("status", self.rows.get("status", 0), "sample")
        at = made.schema.get_field_index("ro")
        return made.set_column(at, "ro", pc.not_equal(made.column("role"), "leader"))

    def _history(self, log: dict[str, Numbers], batches: Batches, session: pa.Array) -> pa.Table:
        """All begin and end; then another client reads the value that one of them wrote."""
        rows = Rows()
        at = np.flatnonzero(log["txn"])
        index, number = log["index"][at], (log["index"][at] - 1) // BATCH + 1
        lost = (index % UNKNOWN_EVERY == 1) & (log["gone"][at] == 0)
        known = {"key": index % BATCH, "value": index, "seq": log["seq"][at], "client": at}
        known["process"] = np.where(lost, (1 << 40) + index, index % (4 * BATCH))
        rows.add(number * _STEPS, **known, type="invoke", f="write")
        gone = log["gone"][at] == 1
        for which, type_ in ((lost, "info"), (gone, "fail"), (~(lost | gone), "ok")):
            line = {name: column[which] for name, column in known.items()}
            where = {"log_index": index[which], "term": log["term"][at][which]}
            where = where if type_ == "ok" else {}
            rows.add(number[which] * _STEPS + 1, **line, **where, type=type_, f="write")
        read = batches.end - 10
        look = {"key": log["index"][read] % BATCH, "process": (1 << 20) + 0 * read}
        rows.add(batches.number * _STEPS + 2, **look, type="invoke", f="read")
        rows.add(batches.number * _STEPS + 3, **look, value=log["index"][read], type="ok", f="read")
        return self._lines(rows, session)

    def _lines(self, rows: Rows, session: pa.Array) -> pa.Table:
        order = np.sort(np.concatenate(rows.at), kind="stable")
        parts = [_arrow(each, len(at)) for at, each in zip(rows.at, rows.columns, strict=True)]
        table = pa.concat_tables(parts, promote_options="default")
        table = table.take(pa.array(np.argsort(np.concatenate(rows.at), kind="stable")))
        asked = session.combine_chunks().take(table.column("client").combine_chunks())
        first = self.rows.get("ops", 0)
        made: dict[str, pa.Array] = {
            "index": pa.array(np.arange(first, first + len(table))),
            "time": pa.array(order // _STEPS * BATCH * ENTRY_NS + order % _STEPS * STEP_NS),
            "key": _quoted("k", table.column("key").cast(pa.string())),
            "value": table.column("value").cast(pa.string()),
            "session": _quoted("", asked),
        }
        kept = ("process", "type", "f", "seq", "log_index", "term")
        return _fitting("ops", pa.table(made | {name: table.column(name) for name in kept}))

    def _feeds(self, log: dict[str, Numbers]) -> pa.Table:
        index, term = log["index"], log["term"]
        given = (log["txn"] == 1) & (log["gone"] == 0)
        answers: list[dict[str, object]] = []
        for reader, size in enumerate(FEEDS, start=1):
            last = int(index[-1])
            while self._after[reader - 1] < last:
                after = self._after[reader - 1]
                upto = self._after[reader - 1] = min(after + size, last)
                here = given & (index > after) & (index <= upto)
                places = list(zip(index[here].tolist(), term[here].tolist(), strict=True))
                text = json.dumps(places, separators=(",", ":"))
                line: dict[str, object] = {"reader": reader, "node": 1, "places": text}
                answers.append(line | {"after": after, "upto": upto})
        first = self.rows.get("feeds", 0)
        table = pa.Table.from_pylist(
            [each | {"number": first + n} for n, each in enumerate(answers)]
        )
        return _fitting("feeds", table)


def _gone(log: dict[str, Numbers], rollbacks: Numbers) -> Numbers:
    """Which entries a ROLLBACK takes: those from the one that it names."""
    gone = np.zeros(len(log["index"]), dtype=np.int64)
    for at in rollbacks.tolist():
        gone[at - VICTIMS : at] = 1
    return gone


def _event(node: Numbers, life: Numbers, name: str) -> dict[str, Numbers | str | None]:
    one = np.ones(len(node), dtype=np.int64)
    return {"node": node, "generation": one, "life": life, "name": name}


def _arrow(columns: dict[str, Numbers | str | None], size: int) -> pa.Table:
    made = {}
    for name, column in columns.items():
        made[name] = pa.repeat(column, size) if isinstance(column, str) else pa.array(column)
    return pa.table(made)


def _fitting(name: str, table: pa.Table) -> pa.Table:
    """Every column there, in order."""
    wanted = schema(name)
    there = set(table.schema.names)
    columns = [
        table.column(each.name).cast(each.type)
        if each.name in there
        else pa.nulls(len(table), each.type)
        for each in wanted
    ]
    return pa.table(columns, schema=wanted)


def _set(table: pa.Table, name: str, column: Numbers) -> pa.Table:
    at = table.schema.get_field_index(name)
    return table.set_column(at, table.schema.field(at), pa.array(column))


def _quoted(prefix: str, texts: pa.Array) -> pa.Array:
    """As JSON has them; what is null stays null."""
    return pc.binary_join_element_wise(f'"{prefix}', texts, '"', "")


def _numbers(column: pa.ChunkedArray) -> Numbers:
    found: Numbers = pc.fill_null(column, 0).combine_chunks().to_numpy()
    return found


def _flags(column: pa.ChunkedArray) -> Flags:
    found: NDArray[np.bool_] = column.combine_chunks().to_numpy(zero_copy_only=False)
    return found
