"""A slice of one log as numpy columns, in order: the input of log kernels."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from admin.checker.kernels.arrays import NOBODY, Flags, Numbers, Reals
from admin.checker.rules.run import LogTable
from admin.evidence.rows import kind_number
from qsync.record import EntryKind

Whose = tuple[str, int, int]
"""Run, node, generation."""

TXN, CONFIRM, ROLLBACK, PROMOTE, DEMOTE = (
    int(EntryKind.TXN),
    int(EntryKind.CONFIRM),
    int(EntryKind.ROLLBACK),
    int(EntryKind.PROMOTE),
    int(EntryKind.DEMOTE),
)


class Body(NamedTuple):
    """The other input of the checksum: time, and CRC and length of the body."""

    time: Reals
    crc: Numbers
    length: Numbers
    known: Flags


class ReferenceColumns(NamedTuple):
    """The entry that a control entry names."""

    owner: Numbers
    lsn: Numbers
    known: Flags


class RequestColumns(NamedTuple):
    """The session of an entry: a position in `names`, or NOBODY; and the request's number."""

    session: Numbers
    seq: Numbers
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Some entries of a log, by index; equal ones by checksum."""

    whose: Whose
    index: Numbers
    term: Numbers
    kind: Numbers
    origin: Numbers
    lsn: Numbers
    flags: Numbers
    crc: Numbers
    body: Body
    ref: ReferenceColumns
    request: RequestColumns

    def __len__(self) -> int:
        return len(self.index)

    @classmethod
    def plain(
        cls,
        whose: Whose,
        *,
        index: Numbers,
        term: Numbers,
        crc: Numbers,
        origin: Numbers,
        lsn: Numbers,
    ) -> "Slice":
        """Entries without any other known column."""
        nothing, none = np.zeros(len(index), dtype=np.int64), np.zeros(len(index), dtype=np.bool_)
        return cls(
            whose=whose,
            index=index,
            term=term,
            kind=nothing,
            origin=origin,
            lsn=lsn,
            flags=nothing,
            crc=crc,
            body=Body(nothing.astype(np.float64), nothing, nothing, none),
            ref=ReferenceColumns(nothing, nothing, none),
            request=RequestColumns(nothing + NOBODY, nothing, ()),
        )


def whole(run_id: str, log: LogTable) -> Slice:
    """All of a log that is in memory."""
    kinds = {name: kind_number(name) for name in set(log.kind)}
    names = {name: at for at, name in enumerate({one[0] for one in log.request if one is not None})}
    return Slice(
        whose=(run_id, log.node, log.generation),
        index=_numbers(log.index),
        term=_numbers(log.term),
        kind=_numbers([kinds[name] for name in log.kind]),
        origin=_numbers(log.origin),
        lsn=_numbers(log.lsn),
        flags=_numbers(log.flags),
        crc=_numbers(log.crc),
        body=Body(
            np.array([0.0 if one is None else one[0] for one in log.sealed]),
            _numbers([0 if one is None else one[1] for one in log.sealed]),
            _numbers([0 if one is None else one[2] for one in log.sealed]),
            _flags([one is not None for one in log.sealed]),
        ),
        ref=ReferenceColumns(
            _numbers([0 if one is None else one[0] for one in log.ref]),
            _numbers([0 if one is None else one[1] for one in log.ref]),
            _flags([one is not None for one in log.ref]),
        ),
        request=RequestColumns(
            _numbers([NOBODY if one is None else names[one[0]] for one in log.request]),
            _numbers([0 if one is None else one[1] for one in log.request]),
            tuple(names),
        ),
    )


def _numbers(column: list[int]) -> Numbers:
    return np.array(column, dtype=np.int64)


def _flags(column: list[bool]) -> Flags:
    return np.array(column, dtype=np.bool_)
