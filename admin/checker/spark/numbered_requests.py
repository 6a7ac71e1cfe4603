"""Numbered requests of a slice: proof that none came twice, or the few that may have."""

from collections.abc import Mapping

import numpy as np

from admin.checker.kernels.arrays import NOBODY, Numbers
from admin.checker.kernels.logs.slices import Slice
from admin.checker.spark.summary import RequestSummary

Spans = dict[str, tuple[int, int]]
"""By session, the numbers that somebody asks about."""


def requests(
    found: Slice, upto: int, wanted: Mapping[str, Numbers], spans: Spans | None = None
) -> RequestSummary:
    """Of the entries up to `upto`. `wanted`: by session, the numbers to be told of, in order."""
    end = int(np.searchsorted(found.index, upto, side="right"))
    at = np.flatnonzero(found.request.session[:end] != NOBODY)
    if not len(at):
        return RequestSummary()
    session, seq = found.request.session[at], found.request.seq[at]
    order = _by_session(session)
    session, seq, at = session[order], seq[order], at[order]
    starts = np.concatenate(([0], np.flatnonzero(np.diff(session) != 0) + 1))
    low, high = np.minimum.reduceat(seq, starts), np.maximum.reduceat(seq, starts)
    names = [found.request.names[code] for code in session[starts].tolist()]
    summary = RequestSummary(count=len(at))
    summary.spans = dict(zip(names, zip(low.tolist(), high.tolist(), strict=True), strict=True))
    odd = _equal(session, seq)
    if spans:
        odd = np.union1d(odd, _inside(found, session, seq, spans))
    summary.twice = _told(found, at[odd])
    ends = np.append(starts[1:], len(seq))
    for name, start, end in zip(names, starts.tolist(), ends.tolist(), strict=True):
        if name in wanted:
            there = np.isin(seq[start:end], _between(wanted[name], *summary.spans[name]))
            summary.wanted += _told(found, at[start:end][there])
    return summary


def _by_session(session: Numbers) -> Numbers:
    """Places by session, in the order of the log; numbers of few digits are sorted quickly."""
    small = session.astype(np.uint16) if int(session.max()) < 1 << 16 else session
    return np.argsort(small, kind="stable")


def _equal(session: Numbers, seq: Numbers) -> Numbers:
    """Places of all requests that are there more than once."""
    grows = (np.diff(session) != 0) | (np.diff(seq) > 0)
    if grows.all():
        return np.empty(0, dtype=np.int64)
    order = np.lexsort((seq, session))
    twin = (np.diff(session[order]) == 0) & (np.diff(seq[order]) == 0)
    both = np.concatenate((twin, [False])) | np.concatenate(([False], twin))
    return np.sort(order[both])


def _inside(found: Slice, session: Numbers, seq: Numbers, spans: Spans) -> Numbers:
    """Places of requests that somebody asks about."""
    inside = np.zeros(len(seq), dtype=np.bool_)
    for name, (low, high) in spans.items():
        for code in _codes(found, {name}):
            inside |= (session == code) & (seq >= low) & (seq <= high)
    return np.flatnonzero(inside)


def _between(numbers: Numbers, low: int, high: int) -> Numbers:
    first, last = np.searchsorted(numbers, (low, high + 1)).tolist()
    return numbers[first:last]


def _codes(found: Slice, names: set[str]) -> Numbers:
    known = [code for code, name in enumerate(found.request.names) if name in names]
    return np.array(known, dtype=np.int64)


def _told(found: Slice, at: Numbers) -> list[tuple[int, str, int]]:
    at = np.sort(at)
    codes = found.request.session[at].tolist()
    names = [found.request.names[code] for code in codes]
    return list(zip(found.index[at].tolist(), names, found.request.seq[at].tolist(), strict=True))
