"""Each log entry against the one before it: no gap, no lower term, checksums chain.

Slices are checked separately, in any order. At the border of two slices, the last entry of the
first and the first entry of the second are checked as a slice of two.
"""

import numpy as np

from admin.checker.kernels.arrays import Numbers
from admin.checker.kernels.kernel import PartKernel
from admin.checker.kernels.logs.crc import ChecksumColumns, checksums
from admin.checker.kernels.logs.findings import LogFindings
from admin.checker.kernels.logs.slices import Slice

DENSE, TERMS, CHAIN = "log-dense", "log-terms", "log-chain"


def neighbours(here: Slice, found: LogFindings) -> None:
    """A slice of a log."""
    found.count(DENSE, len(here))
    found.count(TERMS, len(here))
    pairs(here, found)


def pairs(here: Slice, found: LogFindings) -> None:
    """Every entry except the first, compared with the one before it."""
    node, index, term = found.node, here.index, here.term
    for at in (np.flatnonzero(np.diff(index) != 1) + 1).tolist():
        before, own = int(index[at - 1]), int(index[at])
        message = f"index {own} follows {before} in the log of node {node}"
        found.odd(DENSE, own, message, before, own)
    for at in (np.flatnonzero(np.diff(term) < 0) + 1).tolist():
        message = f"term {term[at]} follows {term[at - 1]} in the log of node {node}"
        found.odd(TERMS, int(index[at]), message, int(index[at - 1]), int(index[at]))
    _chain(here, found)


def _chain(here: Slice, found: LogFindings) -> None:
    """Every checksum covers its entry and the checksum before it."""
    previous = np.concatenate(([0], here.crc[:-1]))
    follows = np.concatenate(([here.index[0] == 1], np.diff(here.index) == 1))
    at = np.flatnonzero(follows & here.body.known)
    if not len(at):
        return
    found.count(CHAIN, len(at))
    wanted = checksums(_covered(here, at, previous[at]))
    for number in np.flatnonzero(wanted != here.crc[at]).tolist():
        place = int(at[number])
        index, crc = int(here.index[place]), int(here.crc[place])
        message = (
            f"entry {index} of node {found.node} has checksum {crc:#010x}, "
            f"its content and the entry before it make {int(wanted[number]):#010x}"
        )
        found.odd(CHAIN, index, message, index - 1 if place else None, index)


def _covered(here: Slice, at: Numbers, previous: Numbers) -> ChecksumColumns:
    names = ("index", "term", "origin", "lsn", "kind", "flags")
    columns = [getattr(here, name) for name in names] + [here.body.crc, here.body.length]
    index, term, origin, lsn, kind, flags, body_crc, body_len = (
        column if len(at) == len(here) else column[at] for column in columns
    )
    return ChecksumColumns(
        index=index,
        term=term,
        origin=origin,
        lsn=lsn,
        kind=kind,
        flags=flags,
        time=here.body.time[at],
        body_crc=body_crc,
        body_len=body_len,
        previous=previous,
    )


KERNELS = (
    PartKernel(DENSE, "the indexes of a log have no gaps", idle="no log has an entry"),
    PartKernel(TERMS, "the term of a log never decreases", idle="no log has an entry"),
    PartKernel(
        CHAIN,
        "checksums chain every entry to the one before it",
        idle="no log has the fields that its checksums cover",
    ),
)
