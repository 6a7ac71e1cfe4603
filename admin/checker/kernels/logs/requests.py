"""Numbered requests in a log: each takes effect once, and a failed one never.

The seen numbers are kept as ranges by session; sessions that count up have few ranges. A repeated
number is only a suspect, because a rolled-back request may be retried. A second pass over the log
finds the indexes of the suspects; it is skipped without suspects.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from admin.checker.kernels import proofs
from admin.checker.kernels.arrays import NOBODY, Numbers
from admin.checker.kernels.kernel import PartKernel
from admin.checker.kernels.logs.findings import LogFindings
from admin.checker.kernels.logs.outlines import LogOutline, Request
from admin.checker.kernels.logs.slices import Slice

ONCE, FAILURES = "once", "failures-gone"
RANGES_MAX = 4096
"""The limit of ranges kept per session.

Above it, small gaps count as seen, and a second pass decides.
"""
Place = tuple[int, str, int]
"""The index of an entry, and its request."""


def by_session(requests: Iterable[Request]) -> dict[str, Numbers]:
    """Numbers by session, in order."""
    found: dict[str, set[int]] = defaultdict(set)
    for session, seq in requests:
        found[session].add(seq)
    return {name: np.array(sorted(seqs), dtype=np.int64) for name, seqs in found.items()}


@dataclass(frozen=True, slots=True)
class AskedRequests:
    """`failed`: the history line that says that a request failed for certain.

    `wanted`: numbers of failed and of other requested operations, by session and in order.
    """

    failed: Mapping[Request, int] = field(default_factory=dict)
    wanted: Mapping[str, Numbers] = field(default_factory=dict)

    @classmethod
    def of(cls, failed: Mapping[Request, int], others: Iterable[Request] = ()) -> "AskedRequests":
        """Failed and other requests."""
        return cls(failed, by_session((*failed, *others)))


class SeenNumbers:
    """Numbers of one session: disjoint ranges, in order."""

    def __init__(self) -> None:
        self._first = np.empty(0, dtype=np.int64)
        self._last = np.empty(0, dtype=np.int64)
        self._highest: int | None = None

    def add(self, seq: Numbers) -> Numbers:
        """The repeated numbers: already seen, or twice among these; may include a few others."""
        values, counts = np.unique(seq, return_counts=True)
        again = values[counts > 1]
        if self._highest is not None and values[0] <= self._highest:
            at = np.searchsorted(self._first, values, side="right") - 1
            again = np.union1d(again, values[(at >= 0) & (values <= self._last[at])])
        starts = np.concatenate(([0], np.flatnonzero(np.diff(values) != 1) + 1))
        ends = np.append(starts[1:], len(values)) - 1
        self._join(values[starts], values[ends])
        return again

    def _join(self, first: Numbers, last: Numbers) -> None:
        """Add some ranges."""
        first, last = np.append(self._first, first), np.append(self._last, last)
        order = np.argsort(first, kind="stable")
        first, last = first[order], np.maximum.accumulate(last[order])
        gaps = first[1:] - last[:-1]
        least = 2
        if len(gaps) >= RANGES_MAX:
            least = max(least, int(np.partition(gaps, -RANGES_MAX + 1)[-RANGES_MAX + 1]))
        kept = np.flatnonzero(gaps >= least)
        self._first = first[np.concatenate(([0], kept + 1))]
        self._last = last[np.append(kept, len(last) - 1)]
        self._highest = int(self._last[-1])


class RequestWalk:
    """One log; feed it slices in order. Entries above `upto` are not known to be confirmed."""

    def __init__(self, found: LogFindings, upto: int, asked: AskedRequests) -> None:
        self._found = found
        self._upto = upto
        self._asked = asked
        self._seen: dict[str, SeenNumbers] = defaultdict(SeenNumbers)
        self._again: dict[str, Numbers] = {}
        self._wanted: list[Place] = []
        self._suspect: list[Place] = []

    @property
    def suspects(self) -> bool:
        """Whether a second pass over the log is needed."""
        return bool(self._again)

    def next_slice(self, here: Slice) -> None:
        """The next slice."""
        for name, at in _by_session(here, self._upto):
            self._found.count(ONCE, len(at))
            again = self._seen[name].add(here.request.seq[at])
            if len(again):
                self._again[name] = np.union1d(self._again.get(name, again), again)
            self._wanted += _places(here, name, at, self._asked.wanted.get(name))

    def look_again(self, here: Slice) -> None:
        """Examine the slice in the second pass, for suspects."""
        for name, at in _by_session(here, self._upto):
            self._suspect += _places(here, name, at, self._again.get(name))

    def applied(self, log: LogOutline) -> list[Request]:
        """The wanted requests, without those that were rolled back."""
        return [
            (session, seq) for index, session, seq in self._wanted if not log.is_rolled_back(index)
        ]

    def end(self, log: LogOutline) -> None:
        """Requests that took effect twice, or although they failed for certain."""
        self._found.count(ONCE, -sum(each.requests for each in log.rolled))
        self._found.count(FAILURES, len(self._asked.failed))
        node, done = self._found.node, dict[Request, int]()
        for index, session, seq in sorted(self._suspect):
            if log.is_rolled_back(index):
                continue
            before = done.setdefault((session, seq), index)
            if before != index:
                message = (
                    f"request {seq} of session {session} took effect at {before} and {index} in "
                    f"the log of node {node}"
                )
                self._found.odd(ONCE, index, message, before, index)
        for index, session, seq in sorted(self._wanted):
            line = self._asked.failed.get((session, seq))
            if line is None or log.is_rolled_back(index):
                continue
            message = (
                f"request {seq} of session {session} is confirmed at {index} on node {node}, and "
                f"line {line} of the history was told it failed"
            )
            rows = (proofs.line(line), proofs.entry(node, self._found.generation, index))
            self._found.by_id[FAILURES].broken(FAILURES, message, rows, node=node, index=index)


def _by_session(here: Slice, upto: int) -> Iterator[tuple[str, Numbers]]:
    """Places of numbered requests up to an index, in the order of the log."""
    end = int(np.searchsorted(here.index, upto, side="right"))
    at = np.flatnonzero(here.request.session[:end] != NOBODY)
    if not len(at):
        return
    session = here.request.session[at]
    # Numbers of few digits are sorted quickly.
    small = session.astype(np.uint16) if int(session.max()) < 1 << 16 else session
    order = np.argsort(small, kind="stable")
    session, at = session[order], at[order]
    starts = np.concatenate(([0], np.flatnonzero(np.diff(session) != 0) + 1))
    for own in np.split(at, starts[1:]):
        yield here.request.names[int(here.request.session[own[0]])], own


def _places(here: Slice, name: str, at: Numbers, wanted: Numbers | None) -> Sequence[Place]:
    if wanted is None:
        return ()
    seq = here.request.seq[at]
    place = np.minimum(np.searchsorted(wanted, seq), len(wanted) - 1)
    there = at[wanted[place] == seq]
    pairs = zip(here.index[there].tolist(), here.request.seq[there].tolist(), strict=True)
    return [(index, name, number) for index, number in pairs]


KERNELS = (
    PartKernel(ONCE, "a numbered request takes effect once", idle="no entry names a request"),
    PartKernel(
        FAILURES,
        "what failed for certain took no effect",
        needs=("wal", "ops"),
        idle="no numbered request failed for certain",
    ),
)
