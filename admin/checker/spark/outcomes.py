"""What clients were told: how many writes were acknowledged, and what failed for certain."""

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

LOOKS = ("read", "r", "get", "txn", "cas-unequal")
"""Operations that write nothing; but a transaction may."""
_LINES = ("type", "f", "session", "seq")
Request = tuple[str, int]
"""A session, as JSON, and the number of a request."""
Requests = Mapping[str, Collection[Request]]
Ask = Callable[
    [Callable[[Chunk], Iterator[FindingRow]], Collection[str] | None], Iterable[FindingRow]
]
"""Of the histories of some runs, or of all."""


def answered(session: "SparkSession", paths: Sequence[Path]) -> Iterator[FindingRow]:
    """By run: how many operations of each name were `acked`, and each request that `failed`."""
    parts = [each for path in paths for each in chunks(path, "ops", "index")]

    def ask(
        look: Callable[[Chunk], Iterator[FindingRow]], runs: Collection[str] | None
    ) -> Iterator[FindingRow]:
        some = [each for each in parts if runs is None or each.run_id in runs]
        return collected(spread(session, some, [each.size for each in some], look))

    yield from failures_and_successes(ask)


def failures_and_successes(ask: Ask) -> Iterator[FindingRow]:
    """Two questions: what failed, and which of that was told to have succeeded, too."""
    failed: dict[str, set[Request]] = defaultdict(set)
    for each in ask(look, None):
        if each.what == ACKED:
            yield each
        else:
            failed[each.run_id].add((each.message, each.amount))
    if not failed:
        return
    for each in ask(functools.partial(succeeded, failed=dict(failed)), failed):
        failed[each.run_id].discard((each.message, each.amount))
    for run, requests in failed.items():
        for session, seq in sorted(requests):
            yield FindingRow(run, FAILED, amount=seq, message=session)


def look(chunk: Chunk) -> Iterator[FindingRow]:
    """At some lines, for the first time."""
    lines = read(chunk, _LINES)
    ok, transaction = among(lines, "type", ("ok",)), among(lines, "f", ("txn",))
    done = ok & ~transaction
    if (ok & transaction).any():
        done |= ok & transaction & _appends(chunk)
    codes, names = words(lines, "f")
    for code, count in zip(*np.unique(codes[done], return_counts=True), strict=True):
        yield FindingRow(chunk.run_id, ACKED, names[code], amount=int(count))
    for session, seq in sorted(_requests(lines, among(lines, "type", ("fail",)))):
        yield FindingRow(chunk.run_id, FAILED, amount=seq, message=session)


def succeeded(chunk: Chunk, failed: Requests) -> Iterator[FindingRow]:
    """Of requests that failed those that succeeded, too."""
    lines, wanted = read(chunk, _LINES), failed[chunk.run_id]
    some = among(lines, "type", ("ok",)) & among(lines, "session", {who for who, _ in wanted})
    some &= np.isin(numbers(lines, "seq"), [seq for _, seq in wanted])
    for session, seq in sorted(_requests(lines, some) & set(wanted)):
        yield FindingRow(chunk.run_id, "succeeded", amount=seq, message=session)


def _requests(lines: pa.Table, which: Flags) -> set[Request]:
    """Numbered requests of some lines; of a session that is written in one way."""
    codes, texts = words(lines, "session")
    seq = numbers(lines, "seq")
    at = np.flatnonzero(which & (codes != NOBODY) & (seq != 0))
    names = [json.dumps(json.loads(text)) for text in texts]
    pairs = zip(codes[at].tolist(), seq[at].tolist(), strict=True)
    return {(names[code], number) for code, number in pairs}


def _appends(chunk: Chunk) -> Flags:
    """Where the text of a value has a step that appends."""
    texts = pc.replace_substring(read(chunk, ("value",)).column("value"), " ", "")
    found = pc.fill_null(pc.match_substring(texts, '["append"'), fill_value=False)
    appends: Flags = found.combine_chunks().to_numpy(zero_copy_only=False)
    return appends
