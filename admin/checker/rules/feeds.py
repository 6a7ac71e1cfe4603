"""A feed of changes is ordered, gives everything once, and nothing that was rolled back."""

from admin.checker.exhibit import Exhibit, exhibit
from admin.checker.rules.fates import replay
from admin.checker.rules.rule import Finding, Rule
from admin.checker.rules.run import TXN, Log, Run, number
from admin.evidence.tables import Row

FEED = "feed-complete"
USER_SPACE_MIN = 512
"""What is written to lower ones a feed may leave out."""
Place = tuple[int, int]


def find(run: Run) -> Finding:
    """Each answer goes on where the last one ended, with all that is in the log between, once."""
    found = Finding(lacks="" if run.feeds else "no feed was read")
    if found.lacks:
        return found
    log, upto = _longest(run)
    if log is None:
        return Finding(lacks="no whole log of which something is confirmed")
    gone = replay(log, upto).rolled_back_by
    given: dict[Place, int] = {
        (log.index[place], log.term[place]): place
        for place, kind in enumerate(log.kind)
        if kind == TXN and log.index[place] <= upto and log.index[place] not in gone
    }
    due = sorted(
        index for (index, _), at in given.items() if (log.space[at] or 0) >= USER_SPACE_MIN
    )
    last: dict[int, Row] = {}
    for row in sorted(run.feeds, key=lambda each: number(each, "number")):
        reader, after, end = (number(row, name) for name in ("reader", "after", "upto"))
        found.facts += 1
        before = last.get(reader)
        last[reader] = row
        rows = [exhibit("feeds", each) for each in (before, row) if each is not None]
        if before is not None and number(before, "upto") != after:
            why = f"was given up to {number(before, 'upto')}, and goes on after {after}"
            _broken(found, row, why, rows)
        if end <= upto:
            why, place = _wrong(row, given, [each for each in due if after < each <= end])
            if why:
                _broken(found, row, why, rows + log.shows(-1 if place is None else place))
    return found


def _wrong(row: Row, given: dict[Place, int], due: list[int]) -> tuple[str, int | None]:
    """What is wrong with an answer, and the entry that shows it."""
    after, end = number(row, "after"), number(row, "upto")
    listed = row.get("places")
    places = [(int(one), int(two)) for one, two in listed] if isinstance(listed, list) else []
    for index, term in places:
        if not after < index <= end:
            return f"was given {index}, which is not between {after} and {end}", None
        after = index
        if (index, term) not in given:
            return f"was given {index} of term {term}, which is no confirmed transaction", None
    had = {index for index, _ in places}
    missed = next((each for each in due if each not in had), None)
    if missed is None:
        return "", None
    place = next(at for (index, _), at in given.items() if index == missed)
    return f"was not given {missed}", place


def _broken(found: Finding, row: Row, why: str, rows: list[Exhibit]) -> None:
    message = f"reader {row['reader']} of the feed {why}"
    found.broken(FEED, message, rows, index=number(row, "number"))


def _longest(run: Run) -> tuple[Log | None, int]:
    confirmed = run.confirmed
    reach = {
        whose: min(confirmed.get(whose, 0), log.last)
        for whose, log in run.logs.items()
        if log.first == 1
    }
    upto = max(reach.values(), default=0)
    whose = min((each for each in reach if reach[each] == upto and upto), default=(0, 0))
    return run.logs.get(whose), upto


RULE = Rule(FEED, "feeds give everything once, in order", ("wal", "feeds"), find)
