"""The outline of a log, for comparison with other logs: small even for a long log."""

import json
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

import numpy as np

from admin.checker.kernels.arrays import Numbers
from admin.checker.kernels.columns import Whose
from admin.checker.kernels.logs.references import NamedEntries
from admin.checker.kernels.logs.slices import CONFIRM, PROMOTE, Slice

Request = tuple[str, int]
"""A session, and the number of a request in it."""


class TermStretch(NamedTuple):
    """Entries `first..last` of one term, without a gap."""

    first: int
    last: int
    term: int


class RolledBackStretch(NamedTuple):
    """Entries `first..last` removed by the ROLLBACK at `by`, and how many have a request."""

    first: int
    last: int
    by: int
    requests: int


class PromoteEntry(NamedTuple):
    """A leader of a term, according to a log."""

    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs
    term: int
    origin: int


class NamedTerm(NamedTuple):
    """The last entry that CONFIRMs of term `era` name, and its term."""

    era: int
    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs
    term: int


@dataclass(slots=True, kw_only=True)
class LogOutline:
    """A log from `first` to `last`, known to be confirmed up to `upto`.

    `crc`: the chain checksum of the last entry.
    `rolled`: removed by confirmed ROLLBACKs, in a trimmed log only after its beginning. `reached`:
    by confirmed CONFIRMs. `applied`: the wanted requests that took effect permanently.
    """

    node: int
    generation: int
    first: int
    last: int
    upto: int
    crc: int = 0
    terms: list[TermStretch]
    rolled: list[RolledBackStretch] = field(default_factory=list)
    promotes: list[PromoteEntry] = field(default_factory=list)
    reached: list[NamedTerm] = field(default_factory=list)
    applied: list[Request] = field(default_factory=list)

    @property
    def whose(self) -> Whose:
        """The log's node and generation."""
        return (self.node, self.generation)

    @property
    def confirmed(self) -> int:
        """The last present entry that is known to be confirmed."""
        return min(self.upto, self.last)

    def term(self, index: int) -> int | None:
        """Return the term of the entry there; None if there is none."""
        at = bisect_right(self.terms, index, key=lambda each: each.first) - 1
        return self.terms[at].term if at >= 0 and index <= self.terms[at].last else None

    def is_rolled_back(self, index: int) -> bool:
        """Return whether a confirmed record rolled it back."""
        return any(each.first <= index <= each.last for each in self.rolled)

    def text(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> "LogOutline":
        """The inverse."""
        found = json.loads(text)
        kinds = {
            "terms": TermStretch,
            "rolled": RolledBackStretch,
            "promotes": PromoteEntry,
            "reached": NamedTerm,
        }
        for name, kind in kinds.items():
            found[name] = [kind(*each) for each in found[name]]
        found["applied"] = [(session, seq) for session, seq in found["applied"]]
        return cls(**found)


class OutlineWalk:
    """One log; feed it slices in order. `upto`: its known confirmed index."""

    def __init__(self, upto: int) -> None:
        self._upto = upto
        self._first = self._crc = 0
        self._terms: list[TermStretch] = []
        self._promotes: list[PromoteEntry] = []
        self._reached: dict[int, NamedTerm] = {}

    def next_slice(self, here: Slice, names: NamedEntries) -> None:
        """Take the next slice, and the entries that its control entries name."""
        self._first, self._crc = self._first or int(here.index[0]), int(here.crc[-1])
        for each in term_stretches(here.index, here.term):
            last = self._terms[-1] if self._terms else None
            if last is not None and (each.first, each.term) == (last.last + 1, last.term):
                self._terms[-1] = last._replace(last=each.last)
            else:
                self._terms.append(each)
        at = np.flatnonzero(here.kind == PROMOTE)
        columns = (column[at].tolist() for column in (here.index, here.term, here.origin))
        self._promotes += map(PromoteEntry, *columns)
        told = (here.kind[names.at] == CONFIRM) & (here.index[names.at] <= self._upto)
        era, index, term = here.term[names.at[told]], names.index[told], names.term[told]
        for one in np.unique(era).tolist():
            own = np.flatnonzero(era == one)
            last_at = own[np.lexsort((term[own], index[own]))[-1]]
            found = NamedTerm(one, int(index[last_at]), int(term[last_at]))
            self._reached[one] = max(found, self._reached.get(one, found))

    def end(self, whose: Whose, rolled: Iterable[RolledBackStretch]) -> LogOutline:
        """The outline of the whole log."""
        return LogOutline(
            node=whose[0],
            generation=whose[1],
            first=self._first,
            last=self._terms[-1].last if self._terms else 0,
            upto=self._upto,
            crc=self._crc,
            terms=self._terms,
            rolled=[each for each in rolled if each.by <= self._upto],
            promotes=self._promotes,
            reached=list(self._reached.values()),
        )


def term_stretches(index: Numbers, term: Numbers) -> list[TermStretch]:
    """Return the ranges in which entries of one term follow one another."""
    if not len(index):
        return []
    new = (np.diff(index) != 1) | (np.diff(term) != 0)
    starts = np.concatenate(([0], np.flatnonzero(new) + 1))
    ends = np.append(starts[1:], len(index)) - 1
    columns = (index[starts].tolist(), index[ends].tolist(), term[starts].tolist())
    return list(map(TermStretch, *columns))
