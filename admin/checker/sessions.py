"""Session guarantees: a client reads its own writes, reads are monotonic, writes happen once."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from admin.checker.operation import CompletionType, Frozen, Operation, freeze, happened
from admin.checker.places import LogPlace, misses
from admin.checker.verdict import Verdict, Violation, conclude, skipped

READ_YOUR_WRITES = "read-your-writes"
MONOTONIC_READS = "monotonic-reads"
AT_MOST_ONCE = "at-most-once"

Date = Callable[[Operation], int | None]

_WRITES = frozenset({"write", "put"})
_READS = frozenset({"read", "get"})
_NOWHERE = LogPlace(0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedRequest:
    """A numbered request in a log: its session, number and index."""

    session: Frozen
    seq: int
    index: int


def check_read_your_writes(operations: Iterable[Operation]) -> Verdict:
    """A read that was given a receipt (`floor`, `floor_term`) shows a log that has that entry.

    The read's own `index` and `term` must not be before it. Its value must not be older than the
    newest acknowledged write to that key up to the receipt: values are dated by the receipts of
    their writes, if each value is written once. This holds only for a receipt at or below an
    acknowledged write of its term. Any other entry may be in a tail that is cut later, and such a
    tail may lack writes that are acknowledged elsewhere: an isolated leader may end it with a
    ROLLBACK of entries that its successor confirms (protocol.md section 4).
    """
    known = happened(operations)
    dates = _dates(known)
    places = _by_key(dates)
    kept = _last_acknowledged(known)
    facts, violations = 0, []
    for each in known:
        if each.f not in _READS or each.floor is None:
            continue
        floor = LogPlace(each.floor, each.floor_term)
        shown = [("said that it showed", _place(each), floor)]
        if floor.term is None or floor.index <= kept.get(floor.term, 0):
            newest = _newest(places.get(freeze(each.key), ()), floor, each.term)
            shown.append(("showed a value of", dates.get(_name(each)), newest))
        judged = [(words, place, least) for words, place, least in shown if place is not None]
        facts += bool(judged)
        wrong = next(((words, at) for words, at, least in judged if misses(at, least)), None)
        if wrong is not None:
            message = f"given a receipt of {floor}, it {wrong[0]} {wrong[1]}"
            violations.append(_violation(READ_YOUR_WRITES, message, [each]))
    if not any(each.floor is not None for each in known):
        return skipped(READ_YOUR_WRITES, "no read was given a receipt")
    return conclude(READ_YOUR_WRITES, facts=facts, violations=violations)


def _last_acknowledged(operations: Iterable[Operation]) -> dict[int, int]:
    """Return, by term, the last index at which a write was acknowledged."""
    last: dict[int, int] = {}
    for each in operations:
        if each.f in _READS or each.kind is not CompletionType.OK:
            continue
        if each.index is not None and each.term is not None:
            last[each.term] = max(last.get(each.term, 0), each.index)
    return last


def _newest(written: Iterable[LogPlace], floor: LogPlace, shown_in: int | None) -> LogPlace:
    """The last of these writes that a log with that entry has.

    Writes of a later term are not in that log: the entry of a receipt may have been cut, and
    another entry may be at its index (protocol.md section 7).
    """
    terms = [term for term in (floor.term, shown_in) if term is not None]
    last = min(terms, default=math.inf)
    there = [at for at in written if at.index <= floor.index and (at.term or 0) <= last]
    return max(there, key=lambda place: (place.index, place.term or 0), default=_NOWHERE)


def dates(operations: Iterable[Operation]) -> Date:
    """The log position of the write that an operation read, for values that were written once."""
    known = _dates(happened(operations))

    def date(read: Operation) -> int | None:
        place = known.get(_name(read))
        return None if place is None else place.index

    return date


def check_monotonic_reads(operations: Iterable[Operation], date: Date | None = None) -> Verdict:
    """Reads of a session never go back: neither the log index within a term, nor any value.

    `date` gives the log position of a value; without it the operations do.
    """
    known = happened(operations)
    date = date or dates(known)
    facts, violations = 0, []
    for reads in _by_session(known):
        newest: dict[Frozen, tuple[LogPlace, Operation]] = {}
        for each, ended in _after_what(reads):
            for earlier in ended:
                for what, place in _shown(earlier, date):
                    if what not in newest or _is_later(place, newest[what][0]):
                        newest[what] = (place, earlier)
            for what, place in _shown(each, date):
                before = newest.get(what)
                facts += before is not None
                if before is not None and _goes_back(place, before[0]):
                    message = f"the session had seen {before[0]} and was then shown {place}"
                    violations.append(_violation(MONOTONIC_READS, message, [before[1], each]))
    if facts == 0:
        return skipped(MONOTONIC_READS, "no session read twice what has a known place in the log")
    return conclude(MONOTONIC_READS, facts=facts, violations=violations)


def side_by_side(operations: Iterable[Operation]) -> bool:
    """Return whether a session had concurrent operations: then their order proves little."""
    busy: dict[Frozen, float] = {}
    for each in sorted(operations, key=lambda operation: operation.begun):
        whose = freeze(each.whose)
        if each.begun < busy.get(whose, 0):
            return True
        end = math.inf if each.ended is None else each.ended
        busy[whose] = max(busy.get(whose, 0), end)
    return False


def check_answers(operations: Iterable[Operation], rows: Iterable[AppliedRequest]) -> Verdict:
    """Every acknowledged request is in the log once, at the index of its receipt."""
    places: dict[tuple[Frozen, int], list[int]] = {}
    for row in rows:
        places.setdefault((row.session, row.seq), []).append(row.index)
    facts, violations = 0, []
    for each in operations:
        if each.kind is not CompletionType.OK or each.seq is None or each.index is None:
            continue
        if each.f in _READS:
            continue
        facts += 1
        found = places.get((freeze(each.whose), each.seq), [])
        if found != [each.index]:
            message = f"acknowledged with a receipt of {each.index}; the log has it at {found}"
            violations.append(_violation(AT_MOST_ONCE, message, [each]))
    return conclude(AT_MOST_ONCE, facts=facts, violations=violations)


def _dates(operations: Sequence[Operation]) -> dict[tuple[Frozen, Frozen], LogPlace]:
    """Return the log positions of values that were written once and have a receipt."""
    dates: dict[tuple[Frozen, Frozen], LogPlace] = {}
    twice: set[tuple[Frozen, Frozen]] = set()
    for each in operations:
        written = _written(each)
        if written is None:
            continue
        name, place = (freeze(each.key), written[0]), _place(each)
        if name in twice or name in dates or place is None:
            twice.add(name)
            dates.pop(name, None)
        else:
            dates[name] = place
    return dates


def _by_key(dates: Mapping[tuple[Frozen, Frozen], LogPlace]) -> dict[Frozen, list[LogPlace]]:
    """Return the log positions of writes to each key."""
    places: dict[Frozen, list[LogPlace]] = {}
    for name, place in dates.items():
        places.setdefault(name[0], []).append(place)
    return places


def _written(operation: Operation) -> tuple[Frozen] | None:
    if operation.f in _WRITES:
        return (freeze(operation.value),)
    if operation.f == "cas" and isinstance(operation.value, list | tuple):
        return (freeze(operation.value[1]),)
    return None


def _name(read: Operation) -> tuple[Frozen, Frozen]:
    """The key and the value that was read."""
    return freeze(read.key), freeze(read.value)


def _place(operation: Operation) -> LogPlace | None:
    return None if operation.index is None else LogPlace(operation.index, operation.term)


def _by_session(operations: Sequence[Operation]) -> list[list[Operation]]:
    sessions: dict[Frozen, list[Operation]] = {}
    for each in operations:
        if each.f in _READS:
            sessions.setdefault(freeze(each.whose), []).append(each)
    return list(sessions.values())


def _after_what(reads: list[Operation]) -> Iterator[tuple[Operation, list[Operation]]]:
    """Each read, with the reads that ended before it began and were not yielded before."""
    by_end = sorted(reads, key=lambda each: each.ended or 0, reverse=True)
    for each in sorted(reads, key=lambda one: one.begun):
        ended: list[Operation] = []
        while by_end and (by_end[-1].ended or 0) < each.begun:
            ended.append(by_end.pop())
        yield each, ended


def _shown(read: Operation, date: Date) -> Iterator[tuple[Frozen, LogPlace]]:
    place, written = _place(read), date(read)
    if place is not None:
        yield None, place
    if written is not None:
        yield ("key", freeze(read.key)), LogPlace(written)


def _is_later(one: LogPlace, other: LogPlace) -> bool:
    return (one.term or 0, one.index) > (other.term or 0, other.index)


def _goes_back(shown: LogPlace, before: LogPlace) -> bool:
    """Return whether a log was shown that lacks what was shown before.

    The log of a later term may: what was shown may have been an asynchronous tail, which the next
    leader cut (protocol.md section 7). That it lacks confirmed data is judged by the values.
    """
    if shown.term is not None and before.term is not None and shown.term > before.term:
        return False
    return misses(shown, before)


def _violation(invariant: str, message: str, witness: list[Operation]) -> Violation:
    last = witness[-1]
    return Violation(
        invariant=invariant,
        message=message,
        key=last.key,
        witness=tuple(witness),
        stuck=last.number,
    )
