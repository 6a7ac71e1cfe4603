"""Comparison of the logs of several nodes: entries, outcomes, and what leaders must have.

Slices of one range show whether entries are equal. Everything else follows from the outlines of the
logs.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from admin.checker.kernels import proofs
from admin.checker.kernels.arrays import Numbers
from admin.checker.kernels.columns import Whose
from admin.checker.kernels.kernel import PartKernel
from admin.checker.kernels.logs.outlines import LogOutline
from admin.checker.kernels.logs.slices import Slice
from admin.checker.rules import texts
from admin.checker.rules.rule import RuleFinding

MATCHING, AGREEMENT, COMPLETENESS = "log-matching", "confirmed-agree", "leader-complete"
ONE_LOG = "fewer than two logs"
"""Why nothing is compared."""


class PartedStretch(NamedTuple):
    """From an entry on, up to `last`, two logs have different entries of equal term."""

    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs
    term: int
    last: int
    one: Whose
    other: Whose


class DecidedStretch(NamedTuple):
    """Confirmed entries of one term and outcome. `by`: the ROLLBACK that removed them."""

    first: int
    last: int
    term: int
    by: int | None
    log: LogOutline

    @property
    def fate(self) -> tuple[int, bool]:
        """The properties that all logs must agree on."""
        return self.term, self.by is None

    def describe(self) -> str:
        """The outcome of an entry in this log."""
        fate = "confirmed" if self.by is None else "rolled back"
        return f"{fate} on node {self.log.node} with term {self.term}"


def compare(found: Sequence[Slice]) -> list[PartedStretch]:
    """Find different entries in slices of one range, by log of one run."""
    if len(found) < 2 and all(_dense(each) for each in found):  # noqa: PLR2004 - a pair
        return []
    odd = _unequal(found)
    ends = dict(texts.stretches(index for index, _ in odd))
    parted = []
    for index, term in odd:
        if index in ends:
            one, other = _pair(found, index, term)
            parted.append(PartedStretch(index, term, ends[index], one, other))
    return parted


def matching(logs: int, entries: int, parted: Iterable[PartedStretch]) -> RuleFinding:
    """Entries of equal index and term are equal, and so are all entries before them.

    Checksums chain all later entries, so only the first difference of two logs is reported. A
    stretch may continue in the next range.
    """
    if logs < 2:  # noqa: PLR2004 - a pair
        return RuleFinding(lacks=ONE_LOG)
    found = RuleFinding(facts=entries)
    known = sorted(parted)
    ends = {each.index: each.last for each in known}
    behind = set(ends.values())
    for each in known:
        if each.index - 1 in behind:
            continue
        last = each.last
        while last + 1 in ends:
            last = ends[last + 1]
        nodes = (each.one[0], each.other[0])
        message = texts.matching(nodes, each.index, each.term, last)
        rows = (proofs.entry(*whose, each.index) for whose in (each.one, each.other))
        found.broken(MATCHING, message, rows, index=each.index, term=each.term)
    return found


def agreement(logs: Sequence[LogOutline], *, most: int | None = None) -> RuleFinding:
    """Two nodes confirm the same entry with the same outcome. `most`: the limit of breaches."""
    if len(logs) < 2:  # noqa: PLR2004 - a pair
        return RuleFinding(lacks=ONE_LOG)
    decided = [_decided(log) for log in sorted(logs, key=lambda log: log.whose)]
    found = RuleFinding(facts=sum(e.last - e.first + 1 for own in decided for e in own))
    for first, last, one, other in _disagreements(decided):
        told = f"{one.describe()}, but {other.describe()}"
        left = last + 1 if most is None else first + most - len(found.breaches)
        for index in range(first, min(left, last + 1)):
            rows = [
                proofs.entry(*each.log.whose, place)
                for each in (one, other)
                for place in (index, each.by)
                if place is not None
            ]
            found.broken(AGREEMENT, f"entry {index} is {told}", rows, index=index)
    return found


def completeness(logs: Sequence[LogOutline]) -> RuleFinding:
    """The leader of a term has all entries confirmed in earlier terms."""
    found = RuleFinding()
    reached: dict[int, tuple[int, int]] = {}
    for era, index, term in (each for log in logs for each in log.reached):
        reached[era] = max(reached.get(era, (0, 0)), (index, term))
    for log in sorted(logs, key=lambda log: log.whose):
        for promote in log.promotes:
            place = (promote.index, promote.term)
            earlier = [(e, entry) for e, entry in sorted(reached.items()) if e < promote.term]
            found.facts += len(earlier)
            for era, (index, term) in earlier:
                if index < log.first or (index < promote.index and log.term(index) == term):
                    continue
                message = texts.complete(log.node, place, (index, term), era)
                rows = (proofs.entry(*log.whose, each) for each in (index, promote.index))
                where = {"node": log.node, "term": promote.term, "index": index}
                found.broken(COMPLETENESS, message, rows, **where)
    return found


def judged(
    logs: Sequence[LogOutline], entries: int, parted: Iterable[PartedStretch]
) -> Mapping[str, RuleFinding]:
    """Return, by id, the findings of all logs of a run; `entries` were compared."""
    return {
        MATCHING: matching(len(logs), entries, parted),
        AGREEMENT: agreement(logs),
        COMPLETENESS: completeness(logs),
    }


def _dense(each: Slice) -> bool:
    return int(each.index[-1] - each.index[0]) == len(each) - 1 and bool(
        (np.diff(each.index) == 1).all()
    )


def _unequal(found: Sequence[Slice]) -> list[tuple[int, int]]:
    """Indexes at which checksums differ although the terms are equal."""
    if not all(_dense(each) for each in found):
        columns = (np.concatenate([getattr(e, n) for e in found]) for n in ("index", "term", "crc"))
        return _several(*columns)
    odd: set[tuple[int, int]] = set()
    for one, other in itertools.combinations(found, 2):
        mine, theirs = _overlap(one, other)
        differs = (one.term[mine] == other.term[theirs]) & (one.crc[mine] != other.crc[theirs])
        index, term = one.index[mine][differs], one.term[mine][differs]
        odd.update(zip(index.tolist(), term.tolist(), strict=True))
    return sorted(odd)


def _several(index: Numbers, term: Numbers, value: Numbers) -> list[tuple[int, int]]:
    """Pairs of index and term with more than one value."""
    order = np.lexsort((value, term, index))
    index, term, value = index[order], term[order], value[order]
    odd = (np.diff(index) == 0) & (np.diff(term) == 0) & (np.diff(value) != 0)
    pairs = zip(index[1:][odd].tolist(), term[1:][odd].tolist(), strict=True)
    return sorted(set(pairs))


def _overlap(one: Slice, other: Slice) -> tuple[slice, slice]:
    """The positions of the common indexes in both."""
    first = max(int(one.index[0]), int(other.index[0]))
    end = max(first, min(int(one.index[-1]), int(other.index[-1])) + 1)
    mine, theirs = (
        slice(first - int(each.index[0]), end - int(each.index[0])) for each in (one, other)
    )
    return mine, theirs


def _pair(found: Sequence[Slice], index: int, term: int) -> tuple[Whose, Whose]:
    """The first log that has an entry, and the first log with a different entry there."""
    there = [
        (each.whose[1:], crc)
        for each in found
        for crc in each.crc[(each.index == index) & (each.term == term)].tolist()
    ]
    return there[0][0], next(whose for whose, crc in there if crc != there[0][1])


def _decided(log: LogOutline) -> list[DecidedStretch]:
    """The outcomes in a log up to its confirmed index, in order."""
    found = []
    rolled = sorted(log.rolled, key=lambda each: each.first)
    at = 0
    for first, end, term in log.terms:
        last, begin = min(end, log.upto), first
        while at and rolled[at - 1].last >= first:
            at -= 1
        while at < len(rolled) and rolled[at].first <= last:
            gone = rolled[at]
            if begin < gone.first:
                found.append(DecidedStretch(begin, gone.first - 1, term, None, log))
            begin = max(begin, gone.first)
            if begin <= gone.last:
                upto = min(gone.last, last)
                found.append(DecidedStretch(begin, upto, term, gone.by, log))
                begin = upto + 1
            at += 1
        if begin <= last:
            found.append(DecidedStretch(begin, last, term, None, log))
    return found


def _disagreements(
    decided: Sequence[Sequence[DecidedStretch]],
) -> Iterator[tuple[int, int, DecidedStretch, DecidedStretch]]:
    """Ranges with different outcomes: the first log that has one, and the first that differs."""
    bounds = sorted({n for own in decided for e in own for n in (e.first, e.last + 1)})
    begins = [0] * len(decided)
    for first, end in itertools.pairwise(bounds):
        here: list[DecidedStretch] = []
        for number, own in enumerate(decided):
            at = begins[number]
            while at < len(own) and own[at].last < first:
                at += 1
            begins[number] = at
            while at < len(own) and own[at].first <= first:
                here.append(own[at])
                at += 1
        other = next((each for each in here if each.fate != here[0].fate), None)
        if other is not None:
            yield first, end - 1, here[0], other


KERNELS = (
    PartKernel(MATCHING, "equal index and term mean equal entries", idle="no log has an entry"),
    PartKernel(
        AGREEMENT,
        "confirmed entries are the same on all nodes",
        idle="no entry of a log is known to be confirmed",
    ),
    PartKernel(
        COMPLETENESS,
        "leaders have all entries confirmed before",
        idle="no leader followed one that had confirmed an entry",
    ),
)
