"""Control entries of a slice: what they name, and which entries may still be rolled back.

CONFIRMs in their usual order decide nothing that anybody could contradict, so they are counted
only. A ROLLBACK, and a CONFIRM that might contradict one, go to the driver, with the entries
around them as runs: what was queued then is everything above the highest index confirmed by then.
"""

import numpy as np

from admin.checker.kernels.arrays import NOBODY, Flags, Numbers
from admin.checker.kernels.logs.references import WAIT_ACK, NamedPlaces, breaks, named
from admin.checker.kernels.logs.slices import CONFIRM, PROMOTE, ROLLBACK, TXN, Slice
from admin.checker.spark.summary import ASKED, CONTROL, WAITS, Summary


def confirmed(found: Slice, refs: NamedPlaces) -> Numbers:
    """By entry: the highest index in here that the CONFIRMs before it name, 0 if there is none."""
    reach = np.zeros(len(found) + 1, dtype=np.int64)
    confirms = (found.kind[refs.at] == CONFIRM) & (refs.to >= 0)
    reach[refs.at[confirms] + 1] = found.index[refs.to[confirms]]
    return np.maximum.accumulate(reach)


def tell(found: Slice, summary: Summary, upto: int) -> None:
    """Everything about control entries."""
    refs = named(found, breaks(found))
    before = confirmed(found, refs)
    kinds = found.kind[refs.at]
    usual = (kinds == CONFIRM) & (refs.to >= 0) & ~_across_rollbacks(found, refs)
    other = ~usual & ((kinds == CONFIRM) | (kinds == ROLLBACK) | (refs.to < 0))
    summary.confirmed = int(before[-1])
    summary.records = [
        _record(found, refs, before, place) for place in np.flatnonzero(other).tolist()
    ]
    summary.reached = _reached(found, refs, usual & (found.index[refs.at] <= upto))
    kept = found.index > before[-1]
    for place in refs.at[kinds == ROLLBACK].tolist():
        kept[: place + 1] |= found.index[: place + 1] > before[place]
    summary.runs = _runs(found, kept)


def _across_rollbacks(found: Slice, refs: NamedPlaces) -> Flags:
    """Whether a ROLLBACK stands between a control entry and what it names."""
    count = np.concatenate(([0], np.cumsum(found.kind == ROLLBACK)))
    there: Flags = count[refs.at] != count[np.maximum(refs.to, 0)]
    return there


def _record(found: Slice, refs: NamedPlaces, before: Numbers, number: int) -> list[int]:
    at, to = int(refs.at[number]), int(refs.to[number])
    known = bool(found.ref.known[at])
    return [
        int(found.index[at]),
        int(found.term[at]),
        int(found.kind[at]),
        int(found.ref.owner[at]) if known else -1,
        int(found.ref.lsn[at]),
        int(found.index[to]) if to >= 0 else 0,
        int(before[at]),
    ]


def _reached(found: Slice, refs: NamedPlaces, which: Flags) -> list[list[int]]:
    term, index = found.term[refs.at[which]], found.index[refs.to[which]]
    reached = []
    for era in np.unique(term):
        last = int(index[term == era].max())
        at = int(np.searchsorted(found.index, last, side="right")) - 1
        reached.append([int(era), last, int(found.term[at])])
    return reached


def _runs(found: Slice, kept: Flags) -> list[list[int]]:
    """Entries of the same sort that follow one another."""
    at = np.flatnonzero(kept)
    if not len(at):
        return []
    kind, index, term = found.kind[at], found.index[at], found.term[at]
    waits = (kind == PROMOTE) | ((kind == TXN) & (found.flags[at] & WAIT_ACK == WAIT_ACK))
    bits = (
        waits * WAITS
        + ((kind != TXN) & (kind != PROMOTE)) * CONTROL
        + (found.request.session[at] != NOBODY) * ASKED
    )
    new = (np.diff(index) != 1) | (np.diff(bits) != 0) | (np.diff(term) != 0)
    starts = np.concatenate(([0], np.flatnonzero(new) + 1))
    ends = np.append(starts[1:], len(at)) - 1
    columns = (index[starts], index[ends], bits[starts], term[starts])
    return np.stack(columns, axis=1).tolist()  # type: ignore[no-any-return]  # numbers, all of them
