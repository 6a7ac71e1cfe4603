"""The shape of a slice of a log, and what its neighbours must know of it; no Python a row."""

from collections.abc import Iterator

import numpy as np

from admin.checker.kernels.arrays import Numbers
from admin.checker.kernels.logs.references import breaks
from admin.checker.kernels.logs.slices import Slice
from admin.checker.rules import texts
from admin.checker.spark.crc import ChecksumColumns, checksums
from admin.checker.spark.job_schema import BREACH, FACTS, FindingRow
from admin.checker.spark.summary import Summary


def shape(found: Slice) -> Iterator[FindingRow]:
    """Dense index, terms that never fall, lsns that grow by one, checksums; within the slice."""
    node = found.whose[1]
    for name in ("log-dense", "log-terms", "log-lsns"):
        yield facts(found, name, len(found))
    for at in (np.flatnonzero(np.diff(found.index) != 1) + 1).tolist():
        text = texts.dense(node, int(found.index[at]), int(found.index[at - 1]))
        yield breach(found, "log-dense", at, text)
    for at in (np.flatnonzero(np.diff(found.term) < 0) + 1).tolist():
        text = texts.terms(node, int(found.term[at]), int(found.term[at - 1]))
        yield breach(found, "log-terms", at, text)
    for at, before in _odd_lsns(found):
        text = texts.lsns(node, int(found.origin[at]), int(found.lsn[at]), before)
        yield breach(found, "log-lsns", at, text)
    yield from _chain(found)


def outline(found: Slice) -> Summary:
    """What joins it to its neighbours."""
    head = [found.index[0], found.term[0], found.crc[0]]
    if found.body.known[0]:
        head += [found.origin[0], found.lsn[0], found.kind[0], found.flags[0]]
        head += [found.body.time[0], found.body.crc[0], found.body.length[0]]
    starts = breaks(found)
    ends = np.append(starts[1:], len(found)) - 1
    firsts, index = np.unique(found.origin, return_index=True)
    columns = (found.index[starts], found.index[ends], found.origin[starts])
    return Summary(
        head=[each.item() for each in head],
        tail=[int(found.index[-1]), int(found.term[-1]), int(found.crc[-1])],
        segments=np.stack((*columns, found.lsn[starts], found.term[starts]), axis=1).tolist(),
        firsts=np.stack((firsts, found.lsn[index], found.index[index]), axis=1).tolist(),
    )


def facts(found: Slice, invariant: str, amount: int) -> FindingRow:
    """How many of them were examined."""
    return FindingRow(found.whose[0], FACTS, invariant, *found.whose[1:], amount=int(amount))


def breach(found: Slice, invariant: str, at: int, text: str) -> FindingRow:
    """What is wrong with an entry of the slice."""
    run, node, generation = found.whose
    index = int(found.index[at])
    return FindingRow(run, BREACH, invariant, node, generation, index, message=text)


def _odd_lsns(found: Slice) -> Iterator[tuple[int, int]]:
    """Places where the lsn is not one more than the last of its origin, with that one."""
    changed = np.flatnonzero(np.diff(found.origin) != 0) + 1
    inside = np.diff(found.lsn) != 1
    inside[changed - 1] = False
    for at in (np.flatnonzero(inside) + 1).tolist():
        yield at, int(found.lsn[at - 1])
    last: dict[int, int] = {}
    start = 0
    for at in changed.tolist():
        last[int(found.origin[start])] = int(found.lsn[at - 1])
        before = last.get(int(found.origin[at]))
        if before is not None and int(found.lsn[at]) != before + 1:
            yield at, before
        start = at


def _chain(found: Slice) -> Iterator[FindingRow]:
    previous = np.concatenate(([0], found.crc[:-1]))
    follows = np.concatenate(([found.index[0] == 1], np.diff(found.index) == 1))
    at = np.flatnonzero(follows & found.body.known)
    if not len(at):
        return
    yield facts(found, "log-chain", len(at))
    wanted = checksums(_sealed(found, at, previous[at]))
    for number in np.flatnonzero(wanted != found.crc[at]).tolist():
        place = int(at[number])
        said = (int(found.index[place]), int(found.crc[place]), int(wanted[number]))
        yield breach(found, "log-chain", place, texts.chain(found.whose[1], *said))


def _sealed(found: Slice, at: Numbers, previous: Numbers) -> ChecksumColumns:
    index, term, origin, lsn, kind, flags, body_crc, body_len = (
        column if len(at) == len(found) else column[at]
        for column in (
            found.index,
            found.term,
            found.origin,
            found.lsn,
            found.kind,
            found.flags,
            found.body.crc,
            found.body.length,
        )
    )
    return ChecksumColumns(
        index=index,
        term=term,
        origin=origin,
        lsn=lsn,
        kind=kind,
        flags=flags,
        time=found.body.time[at],
        body_crc=body_crc,
        body_len=body_len,
        previous=previous,
    )
