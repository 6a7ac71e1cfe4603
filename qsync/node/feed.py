"""Change feeds: confirmed transactions read back from the log, in order, each exactly once.

The place of a reader is an index of the log, so it is the same on every node and survives any of
them. What is delivered is confirmed: it is never taken back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from election.messages import Index
from qsync.core.logstart import check_reach
from qsync.core.replicated_log import ReplicatedLog
from qsync.data import body, keys, schema
from qsync.data.keys import Misfit
from qsync.data.schema import Schema
from qsync.errors import LostWrite, NoSuchSpace, WrongKey
from qsync.record import Entry, EntryKind
from qsync.wire.verbs import Name

SCAN_ENTRIES_MAX: Final = 4096
SCAN_BYTES_MAX: Final = 1 << 20
"""How much of the log one question may read; the answer says how far that was."""

Effect = list[object]
"""`[what, space, key, tuple or None]`, what is `put`, `delete`, `truncate` or `drop`."""
_TXN: Final = int(EntryKind.TXN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which effects a reader wants: all, those of a space, or those below a prefix of its keys."""

    space: int | None = None
    prefix: bytes = b""

    def wants(self, effect: tuple[int, bytes, bytes | None]) -> bool:
        """Return whether the reader wants that effect."""
        space, key, _ = effect
        if self.space is None:
            return space not in _UNTOLD
        if space == self.space:
            return key.startswith(self.prefix)
        return space in _WHOLE and keys.decode(key) == [self.space] and _says(effect) in _OF_SPACES


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedBatch:
    """Transactions behind the place that was asked for, and the place to ask from next."""

    transactions: tuple[list[object], ...]
    upto: int


def filter_of(shape: Schema, space: Name | None, prefix: Sequence[object]) -> Filter:
    """Translate names into a filter. Raises NoSuchSpace or WrongKey."""
    if space is None:
        if prefix:
            raise WrongKey("a prefix of keys needs the space that it is meant for")
        return Filter()
    known = shape.find(space)
    if known is None:
        # A space that is gone can still be read about, by number.
        if isinstance(space, int) and not prefix:
            return Filter(space=space)
        raise NoSuchSpace(f"there is no space {space!r} to be watched")
    try:
        start = keys.encode(known.primary.parts, list(prefix)) if prefix else b""
    except Misfit as error:
        raise WrongKey(f'space "{known.name}": the prefix {error}') from error
    return Filter(space=known.id, prefix=start)


def read(
    replicated_log: ReplicatedLog, shape: Schema, after: int, wanted: Filter, *, term: int = 0
) -> FeedBatch:
    """Read what is confirmed above `after`, as far as one question may read. Raises Compacted.

    With a term `after` is the place of a write: LostWrite if another entry is confirmed there, or
    an entry of a later term before it. Going by the index alone, what others put there would be
    skipped.
    """
    confirmed = replicated_log.confirmed
    if term and after <= confirmed:
        _check(replicated_log, after, term)
    elif term and term < replicated_log.log.term_at(confirmed):
        raise beyond(replicated_log, after)
    if after >= confirmed:
        return FeedBatch(transactions=(), upto=after)
    check_reach(replicated_log.log.start, after + 1)
    first = Index(after + 1)
    last = replicated_log.log.fit(first, entries_max=SCAN_ENTRIES_MAX, bytes_max=SCAN_BYTES_MAX)
    last = min(last, confirmed)
    entries = replicated_log.entries(first, last)
    kept = [
        entry
        for entry in entries
        if entry.kind == _TXN and replicated_log.limbo.stretch_at(entry.index) is None
    ]
    return FeedBatch(transactions=tuple(_transactions(kept, shape, wanted)), upto=int(last))


def beyond(replicated_log: ReplicatedLog, after: int) -> LostWrite:
    """Return the error for a place behind the end of the log that no log will ever have."""
    last = int(replicated_log.log.last)
    return LostWrite(
        f"the log ends at {last}, before the place {after} that was asked for",
        details={"index": after, "last": last},
        hint="of another cluster, as before a restore, or of a write that was lost: "
        "a feed begins anew, as after COMPACTED",
    )


def _check(replicated_log: ReplicatedLog, after: int, term: int) -> None:
    log = replicated_log.log
    if after < log.start.index:
        check_reach(log.start, after)
    found = log.term_at(after)
    if found != term:
        raise LostWrite(
            f"{after} of term {term} is not in the log: there is an entry of term {found}",
            details={"index": after, "term": term},
        )


def _transactions(
    entries: Sequence[Entry], shape: Schema, wanted: Filter
) -> Iterator[list[object]]:
    for entry, parts in zip(entries, body.decode_all([e.body for e in entries]), strict=True):
        effects = [_shown(effect, shape) for effect in parts[3] if wanted.wants(effect)]
        if effects:
            place = [entry.index, entry.term, entry.lsn, entry.origin]
            yield [*place, entry.time, effects]


def _shown(effect: tuple[int, bytes, bytes | None], shape: Schema) -> Effect:
    space, key, row = effect
    what = _says(effect)
    parts = keys.decode(key)
    if what in _OF_SPACES:
        space, parts, row = _number(parts[0]), [], None
    known = shape.find(space)
    return [what, known.name if known is not None else space, parts, row]


def _says(effect: tuple[int, bytes, bytes | None]) -> str:
    space, _, row = effect
    if space == schema.TRUNCATE and row is not None:
        return "truncate"
    if space == schema.SPACE and row is None:
        return "drop"
    return "put" if row is not None else "delete"


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value


_UNTOLD: Final = frozenset({schema.SESSION, schema.USER, schema.PRIV})
"""Nobody's news, unless asked for by name: what sessions remember, who the users are, and what they
may do."""
_WHOLE: Final = frozenset({schema.TRUNCATE, schema.SPACE})
"""A row written to one of these may speak of a whole space."""
_OF_SPACES: Final = frozenset({"truncate", "drop"})
