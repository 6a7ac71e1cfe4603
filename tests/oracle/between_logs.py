"""What the logs of several nodes have in common: places, fates, leaders, and what was confirmed."""

from admin.checker.rules import texts
from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import CONFIRM, PROMOTE, LogTable, RunTables, Whose
from tests.oracle.fates import Fates, replay

ONE_LOG = "fewer than two logs"
"""Why nothing is compared."""


def matching(run: RunTables) -> RuleFinding:
    """Entries of equal index and term are equal, and so is everything before them.

    Checksums chain all that follows, so only where logs begin to differ is a place of its own.
    """
    found = RuleFinding(lacks="" if len(run.logs) > 1 else ONE_LOG)
    known: dict[tuple[int, int], tuple[LogTable, int]] = {}
    broken: dict[tuple[int, int], tuple[LogTable, int, LogTable, int]] = {}
    for _, log in sorted(run.logs.items()) if not found.lacks else ():
        for place, (index, term) in enumerate(zip(log.index, log.term, strict=True)):
            other, there = known.setdefault((index, term), (log, place))
            found.facts += 1
            if other.crc[there] != log.crc[place]:
                broken.setdefault((index, term), (other, there, log, place))
    ends = dict(texts.stretches(index for index, _ in broken))
    for (index, term), (other, there, log, place) in sorted(broken.items(), key=lambda e: e[0]):
        if index in ends:
            message = texts.matching((other.node, log.node), index, term, ends[index])
            rows = (*other.shows(there), *log.shows(place))
            found.broken(MATCHING, message, rows, index=index, term=term)
    return found


def agreement(run: RunTables) -> RuleFinding:
    """What two nodes have confirmed is the same entry with the same fate."""
    found = RuleFinding(lacks="" if len(run.logs) > 1 else ONE_LOG)
    known: dict[int, tuple[LogTable, int, int | None]] = {}
    broken: set[int] = set()
    confirmed = run.confirmed
    for whose, log in sorted(run.logs.items()) if not found.lacks else ():
        upto = confirmed.get(whose, 0)
        fates = replay(log, upto) if log.first == 1 else Fates()
        at = log.at()
        for index, term in zip(log.index, log.term, strict=True):
            if index > upto:
                break
            by = fates.rolled_back_by.get(index)
            other, there, gone = known.setdefault(index, (log, term, by))
            found.facts += 1
            if (there, gone is None) != (term, by is None) and index not in broken:
                broken.add(index)
                told = f"{_told(other, there, gone)}, but {_told(log, term, by)}"
                places = [at[each] for each in (index, by) if each is not None]
                its = other.at()
                theirs = [its[each] for each in (index, gone) if each is not None]
                rows = (*other.shows(*theirs), *log.shows(*places))
                found.broken(AGREEMENT, f"entry {index} is {told}", rows, index=index)
    return found


def completeness(run: RunTables) -> RuleFinding:
    """The leader of a term has in its log all entries confirmed in earlier terms."""
    found = RuleFinding()
    reached = _confirmed_in(run)
    for log in run.logs.values():
        at = log.at()
        for place, kind in enumerate(log.kind):
            if kind != PROMOTE:
                continue
            index, term = log.index[place], log.term[place]
            earlier = [(e, i, t) for e, (i, t) in reached.items() if e < term]
            found.facts += len(earlier)
            for era, entry, its_term in earlier:
                if entry < log.first:
                    continue
                here = at.get(entry)
                if entry >= index or here is None or log.term[here] != its_term:
                    message = texts.complete(log.node, (index, term), (entry, its_term), era)
                    rows = log.shows(-1 if here is None else here, place)
                    found.broken(COMPLETENESS, message, rows, node=log.node, term=term, index=entry)
    return found


def _confirmed_in(run: RunTables) -> dict[int, tuple[int, int]]:
    """By term of the record: the last entry, and its term, that a CONFIRM of that term covers.

    Only records that are themselves confirmed count; a log may end in what is to be cut.
    """
    reached: dict[int, tuple[int, int]] = {}
    confirmed: dict[Whose, int] = run.confirmed
    for whose, log in run.logs.items():
        places: dict[tuple[int, int], tuple[int, int]] = {}
        for place, index in enumerate(log.index):
            if index > confirmed.get(whose, 0):
                break
            term, ref = log.term[place], log.ref[place]
            places[log.origin[place], log.lsn[place]] = (index, term)
            named = places.get(ref) if ref is not None and log.kind[place] == CONFIRM else None
            if named is not None:
                reached[term] = max(reached.get(term, (0, 0)), named)
    return reached


def _told(log: LogTable, term: int, by: int | None) -> str:
    return f"{'confirmed' if by is None else 'rolled back'} on node {log.node} with term {term}"


MATCHING, AGREEMENT, COMPLETENESS = "log-matching", "confirmed-agree", "leader-complete"
