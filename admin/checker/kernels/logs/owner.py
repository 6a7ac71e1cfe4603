"""Only the owner of the limbo appends, and a PROMOTE continues its log.

A deposed or fenced leader appends nothing to any log. If a PROMOTE names a past that its log does
not have, two histories were mixed (split brain).
"""

from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from admin.checker.kernels.kernel import PartKernel
from admin.checker.kernels.logs.findings import LogFindings
from admin.checker.kernels.logs.limbo import LimboWalk
from admin.checker.kernels.logs.slices import DEMOTE, PROMOTE, ROLLBACK, TXN, Slice
from admin.evidence.rows import kind_name

OWNER, FITS = "log-owner", "promote-fits"


class OwnerEntry(NamedTuple):
    """A PROMOTE or DEMOTE, and the owner of the limbo from there on: none after a DEMOTE."""

    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs
    term: int
    owner: int


class Lead:
    """One log; feed it slices in order. A term begins with its PROMOTE."""

    def __init__(self, found: LogFindings) -> None:
        self._found = found
        self._promoted: OwnerEntry | None = None
        self._demoted: int | None = None
        """Index of the last DEMOTE since the last PROMOTE."""
        self._owners: list[tuple[int, OwnerEntry | None]] = [(-1, None)]
        """By position in the last slice from which it is the owner."""
        self._newest = (-1, -1)
        """The highest term so far, and the index of the first entry that has it."""
        self._last: int | None = None
        self._lsns: dict[int, int] = {}

    def next_slice(self, here: Slice, *, whole: bool) -> None:
        """All entries are from the owner. `whole`: the log has its first entry."""
        self._owners = [(-1, self._owners[-1][1])]
        begin = 0
        for at in self.marks(here):
            self._owned(here, begin, at, whole=whole)
            index, term, origin = (int(each[at]) for each in (here.index, here.term, here.origin))
            if here.kind[at] == PROMOTE:
                self._promoted, self._demoted = OwnerEntry(index, term, origin), None
                self._owners.append((at, self._promoted))
            else:
                self._owned(here, at, at + 1, whole=whole)
                self._demoted = index
                self._owners.append((at, OwnerEntry(index, term, 0)))
            begin = at + 1
        self._owned(here, begin, len(here), whole=whole)

    def marks(self, here: Slice) -> list[int]:
        """Places of PROMOTEs and DEMOTEs."""
        found: list[int] = np.flatnonzero((here.kind == PROMOTE) | (here.kind == DEMOTE)).tolist()
        return found

    def owner(self, at: int) -> OwnerEntry | None:
        """Return the owner of the limbo after a position in the last slice; None: no owner yet."""
        return self._owners[bisect_right(self._owners, at, key=lambda each: each[0]) - 1][1]

    def fits(self, here: Slice, at: int, limbo: LimboWalk) -> None:
        """A PROMOTE or DEMOTE names the former owner and its last lsn; a PROMOTE has a new term."""
        self._found.count(FITS, 1)
        promote, index, term = here.kind[at] == PROMOTE, int(here.index[at]), int(here.term[at])
        newest, newest_at = self._newest
        first = int(here.term[:at].argmax()) if at else 0
        if at and here.term[first] > newest:
            newest, newest_at = int(here.term[first]), int(here.index[first])
        why = ""
        if promote and newest_at >= 0 and term <= newest:
            why = f"is of term {term}, not newer than {newest}"
        why = why or self._misfit(here, at, limbo)
        if why:
            kind = "PROMOTE" if promote else "DEMOTE"
            message = f"the {kind} at {index} of node {self._found.node} {why}"
            before = int(here.index[at - 1]) if at else self._last
            begun = newest_at if newest_at >= 0 else None
            self._found.odd(FITS, index, message, begun, before, index)

    def end_slice(self, here: Slice) -> None:
        """Later entries come after it."""
        first = int(here.term.argmax())
        if here.term[first] > self._newest[0]:
            self._newest = (int(here.term[first]), int(here.index[first]))
        self._last = int(here.index[-1])
        origins, ago = np.unique(here.origin[::-1], return_index=True)
        self._lsns.update(zip(origins.tolist(), here.lsn[-1 - ago].tolist(), strict=True))

    def _owned(self, here: Slice, begin: int, end: int, *, whole: bool) -> None:
        """Entries between two PROMOTEs are all from the leader of the first one."""
        if begin >= end or (self._promoted is None and not whole):
            return
        self._found.count(OWNER, end - begin)
        if self._promoted is None:
            for at in range(begin, end):
                self._strange(here, at, "comes before any PROMOTE")
            return
        since, term, origin = self._promoted
        strange = (here.term[begin:end] != term) | (here.origin[begin:end] != origin)
        for at in (np.flatnonzero(strange) + begin).tolist():
            owner = f"{origin} since its PROMOTE at {since}"
            self._strange(here, at, f"is not of the owner, which is {owner} in term {term}")
        if self._demoted is not None:
            kind = here.kind[begin:end]
            late = ~strange & ((kind == TXN) | (kind == ROLLBACK))
            for at in (np.flatnonzero(late) + begin).tolist():
                self._strange(here, at, f"comes after the DEMOTE at {self._demoted}")

    def _strange(self, here: Slice, at: int, why: str) -> None:
        index, kind = int(here.index[at]), kind_name(int(here.kind[at]))
        whose = f"of term {here.term[at]} by {here.origin[at]} on node {self._found.node}"
        promoted = None if self._promoted is None else self._promoted.index
        proof = (promoted, self._demoted, index)
        self._found.odd(OWNER, index, f"{kind} at {index} {whose} {why}", *proof)

    def _misfit(self, here: Slice, at: int, limbo: LimboWalk) -> str:
        """Why it does not continue this log, or an empty text."""
        former = self.owner(at - 1)
        owner = 0 if former is None else former.owner
        last = self._last_lsn(here, at, owner)
        named, lsn = int(here.ref.owner[at]), int(here.ref.lsn[at])
        if not here.ref.known[at] or (named, lsn) == (owner, last):
            return ""
        if named != owner:
            return f"names node {named} as the former owner, which was {owner}"
        confirmed = limbo.confirmed_lsn(at, owner)
        if lsn < confirmed:
            return f"names lsn {lsn} of {owner}, though {confirmed} was confirmed before"
        first = limbo.first_pending(at)
        if first is None:
            return f"names lsn {lsn} of {owner}, whose last is {last}; nothing was pending"
        return f"names lsn {lsn} of {owner}; pending were {first} to {last}"

    def _last_lsn(self, here: Slice, at: int, owner: int) -> int:
        """The lsn of the last entry of an origin before a position of the slice."""
        own = np.flatnonzero(here.origin[:at] == owner)
        return int(here.lsn[own[-1]]) if len(own) else self._lsns.get(owner, 0)


KERNELS = (
    PartKernel(
        OWNER,
        "only the owner of the limbo appends",
        idle="no log has an entry of a known owner",
    ),
    PartKernel(
        FITS,
        "a PROMOTE continues its log",
        idle="no complete log has a PROMOTE",
    ),
)
