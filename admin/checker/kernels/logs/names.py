"""The names of entries, origin and lsn: lsns have no gaps, control entries name real entries."""

import numpy as np

from admin.checker.kernels.arrays import Numbers
from admin.checker.kernels.kernel import PartKernel
from admin.checker.kernels.logs.findings import LogFindings
from admin.checker.kernels.logs.slices import TXN, Slice
from admin.evidence.rows import kind_name

LSNS, CONTROLS = "log-lsns", "log-controls"


class Lsns:
    """One log; feed it slices in order. The lsns of every origin grow by one."""

    def __init__(self, found: LogFindings) -> None:
        self._found = found
        self._last: dict[int, tuple[int, int | None]] = {}
        """By origin the last lsn, and the index of its entry."""

    def next_slice(self, here: Slice, *, whole: bool) -> None:
        """Take the next slice. `whole`: the log has its first entry."""
        self._found.count(LSNS, len(here))
        for origin in np.unique(here.origin).tolist():
            at = np.flatnonzero(here.origin == origin)
            index, lsn = here.index[at], here.lsn[at]
            before = self._last.get(origin, (0, None) if whole else None)
            if before is not None and lsn[0] != before[0] + 1:
                self._odd(origin, (int(lsn[0]), int(index[0])), before)
            for number in (np.flatnonzero(np.diff(lsn) != 1) + 1).tolist():
                former = (int(lsn[number - 1]), int(index[number - 1]))
                self._odd(origin, (int(lsn[number]), int(index[number])), former)
            self._last[origin] = (int(lsn[-1]), int(index[-1]))

    def _odd(self, origin: int, here: tuple[int, int], before: tuple[int, int | None]) -> None:
        message = f"lsn {here[0]} of origin {origin} follows {before[0]} on node {self._found.node}"
        self._found.odd(LSNS, here[1], message, before[1], here[1])


def controls(here: Slice, nameless: Numbers, found: LogFindings, *, whole: bool) -> None:
    """A control entry names an earlier entry; `nameless` are those that do not.

    If the beginning of a log is missing, the named entry may be there.
    """
    found.count(CONTROLS, int((here.kind != TXN).sum()))
    for at in nameless.tolist():
        known, index = bool(here.ref.known[at]), int(here.index[at])
        if known and not whole:
            continue
        named = f"lsn {here.ref.lsn[at]} of {here.ref.owner[at]}" if known else "nothing"
        which = f"{kind_name(int(here.kind[at]))} at {index} of node {found.node}"
        found.odd(CONTROLS, index, f"{which} names {named} before it", index)


KERNELS = (
    PartKernel(LSNS, "the lsns of every origin grow by one", idle="no log has an entry"),
    PartKernel(CONTROLS, "control entries name earlier entries", idle="no log has a control entry"),
)
