"""Outcomes of requests: the number of acknowledged writes, and the failed requests."""

import functools
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from admin.checker.kernels.arrays import NOBODY, Flags
from admin.checker.spark.arrays import among, numbers, words
from admin.checker.spark.chunks import Chunk, chunks, collected, read, spread
from admin.checker.spark.job_schema import ACKED, FAILED, FindingRow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LINES = ("index", "type", "f", "session", "seq")
Request = tuple[str, int]
"""A session, as JSON, and the number of a request."""
Requests = Mapping[str, Collection[Request]]
Ask = Callable[
    [Callable[[Chunk], Iterator[FindingRow]], Collection[str] | None], Iterable[FindingRow]
]
"""For the histories of some runs, or of all."""


def answered(session: "SparkSession", paths: Sequence[Path]) -> Iterator[FindingRow]:
    """Return, by run, the number of `acked` operations by name, and the `failed` requests.

    A failed request has the index of the last line that says so.
    """
    parts = [each for path in paths for each in chunks(path, "ops", "index")]

    def ask(
        look: Callable[[Chunk], Iterator[FindingRow]], runs: Collection[str] | None
    ) -> Iterator[FindingRow]:
        some = [each for each in parts if runs is None or each.run_id in runs]
        return collected(spread(session, some, [each.size for each in some], look))

    yield from failures_and_successes(ask)


def failures_and_successes(ask: Ask) -> Iterator[FindingRow]:
    """Two questions: which requests failed, and which of these also have a successful answer."""
    failed: dict[str, dict[Request, int]] = defaultdict(dict)
    for each in ask(look, None):
        if each.what == ACKED:
            yield each
        else:
            own, request = failed[each.run_id], (each.message, each.amount)
            own[request] = max(each.index, own.get(request, each.index))
    if not failed:
        return
    for each in ask(functools.partial(succeeded, failed=dict(failed)), failed):
        failed[each.run_id].pop((each.message, each.amount), None)
    for run, requests in failed.items():
        for (session, seq), line in sorted(requests.items()):
            yield FindingRow(run, FAILED, index=line, amount=seq, message=session)


def look(chunk: Chunk) -> Iterator[FindingRow]:
    """Examine some lines in the first pass."""
    lines = read(chunk, _LINES)
    ok, transaction = among(lines, "type", ("ok",)), among(lines, "f", ("txn",))
    done = ok & ~transaction
    if (ok & transaction).any():
        done |= ok & transaction & _appends(chunk)
    codes, names = words(lines, "f")
    for code, count in zip(*np.unique(codes[done], return_counts=True), strict=True):
        yield FindingRow(chunk.run_id, ACKED, names[code], amount=int(count))
    failed = _requests(lines, among(lines, "type", ("fail",)))
    for (session, seq), line in sorted(failed.items()):
        yield FindingRow(chunk.run_id, FAILED, index=line, amount=seq, message=session)


def succeeded(chunk: Chunk, failed: Requests) -> Iterator[FindingRow]:
    """Return the failed requests that also succeeded."""
    lines, wanted = read(chunk, _LINES), failed[chunk.run_id]
    some = among(lines, "type", ("ok",)) & among(lines, "session", {who for who, _ in wanted})
    some &= np.isin(numbers(lines, "seq"), [seq for _, seq in wanted])
    for session, seq in sorted(_requests(lines, some).keys() & set(wanted)):
        yield FindingRow(chunk.run_id, "succeeded", amount=seq, message=session)


def _requests(lines: pa.Table, which: Flags) -> dict[Request, int]:
    """Numbered requests, and the last line of each; sessions have one canonical spelling."""
    codes, texts = words(lines, "session")
    seq = numbers(lines, "seq")
    at = np.flatnonzero(which & (codes != NOBODY) & (seq != 0))
    names = [json.dumps(json.loads(text)) for text in texts]
    rows = zip(numbers(lines, "index")[at], codes[at], seq[at], strict=True)
    return {(names[code], int(seq)): int(line) for line, code, seq in sorted(rows)}


def _appends(chunk: Chunk) -> Flags:
    """Return where the text of a value has a step that appends."""
    texts = pc.replace_substring(read(chunk, ("value",)).column("value"), " ", "")
    found = pc.fill_null(pc.match_substring(texts, '["append"'), fill_value=False)
    appends: Flags = found.combine_chunks().to_numpy(zero_copy_only=False)
    return appends
