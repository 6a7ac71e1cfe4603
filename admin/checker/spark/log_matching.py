"""The same range of several logs beside one another: equal places hold equal entries."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from admin.checker.kernels.arrays import Numbers
from admin.checker.kernels.logs.slices import Slice
from admin.checker.rules.texts import stretches
from admin.checker.spark.job_schema import BREACH, FACTS, UNEQUAL, FindingRow
from admin.checker.spark.scan_context import ScanContext


def compare(found: Sequence[Slice], given: ScanContext) -> Iterator[FindingRow]:
    """Log matching, and that nodes have confirmed the same entries; slices of one range."""
    for each in found:
        upto = given.confirmed.get(each.whose, 0)
        shown = int(np.searchsorted(each.index, upto, side="right"))
        run, node, generation = each.whose
        yield FindingRow(run, FACTS, "log-matching", node, generation, amount=len(each))
        yield FindingRow(run, FACTS, "confirmed-agree", node, generation, amount=shown)
    if len(found) < 2 and all(_dense(each) for each in found):  # noqa: PLR2004 - a pair
        return
    run = found[0].whose[0]
    odd = _unequal(found)
    ends = dict(stretches(index for index, _ in odd))
    for index, term in odd:
        if index in ends:
            nodes = _pair(found, index, term)
            yield FindingRow(run, UNEQUAL, "log-matching", *nodes, index, term, ends[index])
    for index in _disagreed(found, given):
        text = f"entry {index} is confirmed with several terms"
        yield FindingRow(run, BREACH, "confirmed-agree", index=index, message=text)


def _pair(found: Sequence[Slice], index: int, term: int) -> tuple[int, int]:
    """The node that has an entry first, and the first one that has another there."""
    there = [
        (each.whose[1], crc)
        for each in found
        for crc in each.crc[(each.index == index) & (each.term == term)].tolist()
    ]
    return there[0][0], next(node for node, crc in there if crc != there[0][1])


def _dense(each: Slice) -> bool:
    return int(each.index[-1] - each.index[0]) == len(each) - 1 and bool(
        (np.diff(each.index) == 1).all()
    )


def _unequal(found: Sequence[Slice]) -> list[tuple[int, int]]:
    """Places where checksums differ though index and term are the same."""
    if not all(_dense(each) for each in found):
        columns = [_whole(found, name) for name in ("index", "term", "crc")]
        return _several(columns[0], columns[1], columns[2])
    odd: set[tuple[int, int]] = set()
    for one, other in itertools.combinations(found, 2):
        mine, theirs = _overlap(one, other)
        differs = (one.term[mine] == other.term[theirs]) & (one.crc[mine] != other.crc[theirs])
        index, term = one.index[mine][differs], one.term[mine][differs]
        odd.update(zip(index.tolist(), term.tolist(), strict=True))
    return sorted(odd)


def _disagreed(found: Sequence[Slice], given: ScanContext) -> list[int]:
    """Places that are confirmed with different terms."""
    uptos = [given.confirmed.get(each.whose, 0) for each in found]
    if not all(_dense(each) for each in found):
        masks = [each.index <= upto for each, upto in zip(found, uptos, strict=True)]
        index = np.concatenate([e.index[m] for e, m in zip(found, masks, strict=True)])
        term = np.concatenate([e.term[m] for e, m in zip(found, masks, strict=True)])
        return [index for index, _ in _several(index, np.zeros_like(index), term)]
    odd: set[int] = set()
    for (one, upto), (other, to) in itertools.combinations(zip(found, uptos, strict=True), 2):
        mine, theirs = _overlap(one, other)
        differs = one.term[mine] != other.term[theirs]
        index = one.index[mine][differs]
        odd.update(index[index <= min(upto, to)].tolist())
    return sorted(odd)


def _overlap(one: Slice, other: Slice) -> tuple[slice, slice]:
    """The places of both that have the same indexes."""
    first = max(int(one.index[0]), int(other.index[0]))
    end = max(first, min(int(one.index[-1]), int(other.index[-1])) + 1)
    mine, theirs = (
        slice(first - int(each.index[0]), end - int(each.index[0])) for each in (one, other)
    )
    return mine, theirs


def _several(index: Numbers, term: Numbers, value: Numbers) -> list[tuple[int, int]]:
    """Pairs of index and term with more than one value."""
    order = np.lexsort((value, term, index))
    index, term, value = index[order], term[order], value[order]
    odd = (np.diff(index) == 0) & (np.diff(term) == 0) & (np.diff(value) != 0)
    pairs = zip(index[1:][odd].tolist(), term[1:][odd].tolist(), strict=True)
    return sorted(set(pairs))


def _whole(found: Sequence[Slice], name: str) -> Numbers:
    whole: Numbers = np.concatenate([getattr(each, name) for each in found])
    return whole
