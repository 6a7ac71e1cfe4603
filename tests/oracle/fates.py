"""The fate of every entry of one log, replayed in the plainest way (no code of the limbo)."""

from dataclasses import dataclass, field

from admin.checker.rules.run import CONFIRM, PROMOTE, ROLLBACK, TXN, WAIT_ACK, LogTable


@dataclass(slots=True)
class Fates:
    """`confirmed_by`, `rolled_back_by`: index of an entry to the index of the record.

    `odd`: records that contradict what came before them: the record, the entry, and the reason.
    """

    confirmed_by: dict[int, int] = field(default_factory=dict)
    rolled_back_by: dict[int, int] = field(default_factory=dict)
    odd: list[tuple[int, tuple[int, str]]] = field(default_factory=list)
    records: int = 0

    def decided_by(self, index: int, *, before: int) -> list[int]:
        """The earlier record that decided an entry, if there is one."""
        found = (fates.get(index) for fates in (self.confirmed_by, self.rolled_back_by))
        return [each for each in found if each is not None and each < before]


def replay(log: LogTable, upto: int) -> Fates:
    """Decide everything that the records up to `upto` decide. Not to be changed by who asks."""
    known = log.replays.get(upto)
    if isinstance(known, Fates):
        return known
    fates = log.replays[upto] = _replay(log, upto)
    return fates


def _replay(log: LogTable, upto: int) -> Fates:
    fates = Fates()
    places: dict[tuple[int, int], int] = {}
    terms: dict[int, int] = {}
    queue: list[tuple[int, bool]] = []
    columns = zip(
        log.index, log.term, log.kind, log.origin, log.lsn, log.flags, log.ref, strict=True
    )
    for index, term, kind, origin, lsn, flags, ref in columns:
        if index > upto:
            break
        terms[index] = term
        places[origin, lsn] = index
        if kind == PROMOTE or (kind == TXN and (flags & WAIT_ACK or queue)):
            queue.append((index, kind == PROMOTE or bool(flags & WAIT_ACK)))
            continue
        named = places.get(ref) if ref is not None else None
        if named is None or named >= index:
            continue
        if kind == CONFIRM:
            fates.records += 1
            queue = _confirm(fates, queue, named, index)
        elif kind == ROLLBACK:
            fates.records += 1
            queue = _roll_back(fates, queue, named, index)
            gone = [each for each, by in fates.rolled_back_by.items() if by == index]
            old = next((each for each in gone if terms[each] != term), None)
            if old is not None:
                why = f"rolls back {old}, inherited from term {terms[old]}"
                fates.odd.append((index, (old, why)))
    return fates


def _confirm(
    fates: Fates, queue: list[tuple[int, bool]], named: int, record: int
) -> list[tuple[int, bool]]:
    if named in fates.rolled_back_by:
        why = f"confirms {named}, which was rolled back before"
        fates.odd.append((record, (named, why)))
    end = 0
    while end < len(queue) and (queue[end][0] <= named or (end and not queue[end][1])):
        fates.confirmed_by[queue[end][0]] = record
        end += 1
    return queue[end:]


def _roll_back(
    fates: Fates, queue: list[tuple[int, bool]], named: int, record: int
) -> list[tuple[int, bool]]:
    if named in fates.confirmed_by:
        fates.odd.append((record, (named, f"rolls back {named}, which was confirmed before")))
    for index, _ in queue:
        if index >= named:
            fates.rolled_back_by[index] = record
    return [each for each in queue if each[0] < named]
