"""No read shows a value whose only writes were rolled back for good.

Little is rolled back, so questions are about few requests and few values: whose requests these
are, whether they are in a log in another way, what they wrote, and who else wrote or read that.
"""

import functools
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from admin.checker.kernels.arrays import NOBODY, Flags, Numbers
from admin.checker.spark.arrays import among, known, numbers, words
from admin.checker.spark.chunks import Chunk, chunks, collected, read, spread
from admin.checker.spark.job_schema import BREACH, FACTS, FindingRow, LogRow, RolledRow
from admin.evidence.manifest import Manifest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ID = "rolled-back-hidden"
_ASKED = ("node", "generation", "index", "session", "seq")
_LINES = ("index", "type", "f", "session", "seq", "key", "value")
WRITES = ("write", "cas", "put")
Request = tuple[str, int]
Value = tuple[str, str]
"""Key and value, as Python shows them."""
Gone = Mapping[tuple[int, int], Numbers]
"""By node and generation: places that are rolled back for good, in order."""
Look = Callable[[Chunk], Iterator[FindingRow]]
Ask = Callable[[str, Look, Collection[str]], Iterable[FindingRow]]
"""Of a table of some runs."""


def hidden(
    session: "SparkSession",
    paths: Sequence[Path],
    known: Iterable[LogRow],
    rolled: Iterable[RolledRow],
) -> "DataFrame":
    """One question after the other; the reads at last."""
    by_run = places(rolled, known)
    runs = {Manifest.load(path).run_id: path for path in paths} if by_run else {}

    def ask(table: str, look: Look, asked: Collection[str]) -> "DataFrame":
        paths = [path for run, path in runs.items() if run in asked]
        parts = [each for path in paths for each in chunks(path, table, "index")]
        return spread(session, parts, [each.size for each in parts], look)

    lost = values(lambda *question: collected(ask(*question)), by_run)
    return ask("ops", functools.partial(reads_of_rolled_back, lost=lost), lost)


def values(ask: Ask, by_run: Mapping[str, Gone]) -> dict[str, set[Value]]:
    """By run, what only requests wrote that were rolled back for good."""
    gone = _requests(ask("wal", functools.partial(rolled_back, by_run=by_run), by_run))
    there = functools.partial(elsewhere, by_run=by_run, gone=gone)
    kept = _requests(ask("wal", there, gone))
    suspect: dict[str, set[Value]] = defaultdict(set)
    for each in ask("ops", functools.partial(written, gone=gone), gone):
        who, key, value = json.loads(each.message)
        if (who, each.amount) not in kept.get(each.run_id, ()):
            suspect[each.run_id].add((key, value))
    return _lost(ask("ops", functools.partial(writers, values=suspect), suspect))


def places(rolled: Iterable[RolledRow], logs: Iterable[LogRow]) -> dict[str, Gone]:
    """By run."""
    confirmed = {(e.run_id, e.node, e.generation): e.confirmed for e in logs}
    found: dict[str, dict[tuple[int, int], list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in rolled:
        run, node, generation = row.run_id, row.node, row.generation
        if row.index <= confirmed.get((run, node, generation), 0):
            found[run][node, generation].append(row.index)
    return {
        run: {log: np.unique(np.array(each, dtype=np.int64)) for log, each in own.items()}
        for run, own in found.items()
    }


def rolled_back(chunk: Chunk, by_run: Mapping[str, Gone]) -> Iterator[FindingRow]:
    """Requests of what is rolled back."""
    gone = by_run[chunk.run_id]
    if not any(chunk.meets(int(each[0]), int(each[-1])) for each in gone.values()):
        return
    table = read(chunk, _ASKED)
    yield from _told(chunk, table, _is_gone(table, gone))


def elsewhere(
    chunk: Chunk, by_run: Mapping[str, Gone], gone: Mapping[str, Collection[Request]]
) -> Iterator[FindingRow]:
    """Those of the requests that are in a log and not rolled back there."""
    table = read(chunk, _ASKED)
    asked = _is_asked(
        table, gone[chunk.run_id], {name: name for name in words(table, "session")[1]}
    )
    yield from _told(chunk, table, asked & ~_is_gone(table, by_run[chunk.run_id]))


def written(chunk: Chunk, gone: Mapping[str, Collection[Request]]) -> Iterator[FindingRow]:
    """What the requests wrote, by the history."""
    table = read(chunk, _LINES)
    names = {text: str(json.loads(text)) for text in words(table, "session")[1]}
    asked = _is_asked(table, gone[chunk.run_id], names) & _is_write(table)
    for at, key, value in _values(table, np.flatnonzero(asked)):
        who, seq = names[table.column("session")[at].as_py()], int(numbers(table, "seq")[at])
        text = json.dumps([who, key, value])
        yield FindingRow(chunk.run_id, "wrote", _ID, amount=seq, message=text)


def writers(chunk: Chunk, values: Mapping[str, Collection[Value]]) -> Iterator[FindingRow]:
    """How many lines wrote each of the values."""
    table, wanted = read(chunk, _LINES), values[chunk.run_id]
    some = np.flatnonzero(_is_write(table) & _has_key(table, wanted))
    count = Counter((key, value) for _, key, value in _values(table, some))
    for each in count.keys() & set(wanted):
        yield FindingRow(chunk.run_id, "writers", _ID, amount=count[each], message=json.dumps(each))


def reads_of_rolled_back(
    chunk: Chunk, lost: Mapping[str, Collection[Value]]
) -> Iterator[FindingRow]:
    """Reads, and those that show what was rolled back."""
    table, wanted = read(chunk, _LINES), lost[chunk.run_id]
    reads = among(table, "f", ("read",)) & among(table, "type", ("ok",))
    yield FindingRow(chunk.run_id, FACTS, _ID, amount=int(reads.sum()))
    for at, key, value in _values(table, np.flatnonzero(reads & _has_key(table, wanted))):
        if (key, value) in wanted:
            line = int(numbers(table, "index")[at])
            text = f"line {line} read what was rolled back"
            yield FindingRow(chunk.run_id, BREACH, _ID, index=line, message=text)


def _requests(found: Iterable[FindingRow]) -> dict[str, set[Request]]:
    by_run: dict[str, set[Request]] = defaultdict(set)
    for each in found:
        by_run[each.run_id].add((each.message, each.amount))
    return dict(by_run)


def _lost(found: Iterable[FindingRow]) -> dict[str, set[Value]]:
    count: dict[str, Counter[Value]] = defaultdict(Counter)
    for each in found:
        key, value = json.loads(each.message)
        count[each.run_id][key, value] += each.amount
    lost = {run: {value for value, n in own.items() if n == 1} for run, own in count.items()}
    return {run: values for run, values in lost.items() if values}


def _told(chunk: Chunk, table: pa.Table, which: Flags) -> Iterator[FindingRow]:
    codes, texts = words(table, "session")
    seq = numbers(table, "seq")
    for at in np.flatnonzero(which & (codes != NOBODY) & known(table, "seq")).tolist():
        yield FindingRow(chunk.run_id, "asked", _ID, amount=int(seq[at]), message=texts[codes[at]])


def _is_gone(table: pa.Table, gone: Gone) -> Flags:
    columns = (numbers(table, name) for name in ("index", "node", "generation"))
    index, node, generation = columns
    found: Flags = np.zeros(len(index), dtype=np.bool_)
    for (one, other), places in gone.items():
        found |= (node == one) & (generation == other) & np.isin(index, places)
    return found


def _is_asked(table: pa.Table, asked: Collection[Request], names: Mapping[str, str]) -> Flags:
    """Where one of the requests is; `names`: of each text of a session, its name."""
    codes, texts = words(table, "session")
    seq = numbers(table, "seq")
    whose = {who for who, _ in asked}
    found = among(table, "session", [text for text in texts if names[text] in whose])
    found &= np.isin(seq, np.array(sorted({each for _, each in asked}), dtype=np.int64))
    for at in np.flatnonzero(found).tolist():
        found[at] = (names[texts[codes[at]]], int(seq[at])) in asked
    return found


def _is_write(table: pa.Table) -> Flags:
    return among(table, "f", WRITES) & ~among(table, "type", ("invoke",))


def _has_key(table: pa.Table, wanted: Collection[Value]) -> Flags:
    column = table.column("key").combine_chunks().dictionary_encode()
    keys, own = {key for key, _ in wanted}, column.dictionary.to_pylist()
    known = np.array([*(_shown(text) in keys for text in own), _shown(None) in keys])
    codes = column.indices.fill_null(len(own)).to_numpy()
    found: Flags = known[codes]
    return found


def _values(table: pa.Table, at: Numbers) -> Iterator[tuple[int, str, str]]:
    """Of some lines the key and value, and where they are."""
    some = table.take(pa.array(at))
    columns = (some.column(name).to_pylist() for name in ("f", "key", "value"))
    for place, f, key, text in zip(at.tolist(), *columns, strict=True):
        value = None if text is None else json.loads(text)
        value = value[-1] if f == "cas" and isinstance(value, list) else value
        yield place, _shown(key), repr(value)


def _shown(text: str | None) -> str:
    return repr(None if text is None else json.loads(text))
