"""What the logs of several nodes have in common: places, fates, leaders, and what was confirmed."""

from collections.abc import Callable
from functools import partial

from admin.checker.exhibit import EvidenceRow
from admin.checker.rules import texts
from admin.checker.rules.fates import Fates, replay
from admin.checker.rules.rule import Rule, RuleFinding
from admin.checker.rules.run import CONFIRM, PROMOTE, LogTable, NodeEvent, RunTables, Status, Whose

ONE_LOG = "fewer than two logs"
"""Why nothing is compared."""
Shows = Callable[[], list[EvidenceRow]]


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
    for whose, log in run.logs.items() if not found.lacks else ():
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


def one_leader(run: RunTables) -> RuleFinding:
    """A term has one leader: in logs, in what nodes say of themselves, in events."""
    found = RuleFinding()
    known: dict[int, tuple[int, Shows]] = {}
    broken: set[int] = set()
    claims: list[tuple[int, int, Shows]] = [
        (log.term[place], log.origin[place], partial(log.shows, place))
        for log in run.logs.values()
        for place, kind in enumerate(log.kind)
        if kind == PROMOTE
    ]
    claims += [(s.term, s.node, partial(_one, s)) for s in run.status if s.role == "leader"]
    claims += [(s.term, s.leader, partial(_one, s)) for s in run.status if s.leader]
    claims += [(e.term, e.node, partial(_one, e)) for e in run.events if e.name == "leads"]
    for term, leader, shows in claims:
        found.facts += 1
        before, its = known.setdefault(term, (leader, shows))
        if before != leader and term not in broken:
            broken.add(term)
            message = texts.leaders(term, *sorted((before, leader)))
            found.broken(ONE_LEADER, message, (*its(), *shows()), term=term)
    return found


def completeness(run: RunTables) -> RuleFinding:
    """Whoever leads a term has in its log everything that was confirmed in earlier terms."""
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


def confirmed_still_in_log(run: RunTables) -> RuleFinding:
    """What a node once had on its disk and confirmed is still in its log."""
    found = RuleFinding()
    newest = run.newest
    for whose, upto in run.safe.items():
        log = run.logs.get(whose)
        # What was in a directory that is gone, went with it.
        if upto == 0 or not run.logs or whose[1] < newest[whose[0]]:
            continue
        found.facts += 1
        last = log.last if log is not None else 0
        if last < upto:
            message = texts.ends_before_confirmed(whose[0], upto, last)
            rows = [s.shows() for s in run.status if s.whose == whose and (s.confirmed or 0) > last]
            end = [] if log is None else log.shows(len(log.index) - 1)
            found.broken(KEPT, message, (*rows[:1], *end), node=whose[0], index=upto)
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


def _one(row: Status | NodeEvent) -> list[EvidenceRow]:
    return [row.shows()]


MATCHING, AGREEMENT, ONE_LEADER = "log-matching", "confirmed-agree", "one-leader"
COMPLETENESS, KEPT = "leader-complete", "confirmed-kept"
RULES = (
    Rule(
        MATCHING,
        "equal index and term mean equal entries",
        ("wal",),
        matching,
        idle="no log has an entry",
    ),
    Rule(
        AGREEMENT,
        "what is confirmed is the same everywhere",
        ("wal",),
        agreement,
        idle="nothing in the logs is known to be confirmed",
    ),
    Rule(ONE_LEADER, "a term has at most one leader", (), one_leader, idle="nobody led"),
    Rule(
        COMPLETENESS,
        "leaders have everything confirmed before",
        ("wal",),
        completeness,
        idle="no leader came after one that had confirmed something",
    ),
    Rule(
        KEPT,
        "what was confirmed stays in the log",
        ("wal",),
        confirmed_still_in_log,
        idle="no node with a log is known to have confirmed anything on its disk",
    ),
)
