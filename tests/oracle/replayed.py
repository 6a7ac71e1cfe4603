"""The limbo that nodes reported is the one that their logs make."""

from bisect import bisect_right
from collections.abc import Mapping

from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import (
    CONFIRM,
    DEMOTE,
    PROMOTE,
    ROLLBACK,
    TXN,
    WAIT_ACK,
    LogTable,
    RunTables,
    Status,
)

REPLAY = "limbo-replay"
LEADER = "leader"
IDLE = "no sample has the checksum of an entry of a complete log"
Limbo = tuple[int, int, int, int]
"""Owner, its term, how many wait, and the index before the first of them (or the last)."""


def find(run: RunTables) -> RuleFinding:
    """A sample whose last entry is still in the log says what the log up to there makes."""
    known = any(each.crc is not None for each in run.status)
    found = RuleFinding(lacks="" if known else IDLE)
    by_log: dict[tuple[int, int], list[Status]] = {}
    for each in run.status:
        if each.crc is not None and each.last and each.limbo_len is not None:
            by_log.setdefault(each.whose, []).append(each)
    for whose, samples in by_log.items():
        log = run.logs.get(whose)
        if log is not None and log.index == list(range(1, len(log.index) + 1)):
            _compare(log, samples, found)
    return found


def _compare(log: LogTable, samples: list[Status], found: RuleFinding) -> None:
    owners = [i for i, kind in enumerate(log.kind) if kind in {PROMOTE, DEMOTE}]
    named = names(log)
    for each in samples:
        last, confirmed = each.last or 0, each.confirmed or 0
        if last > log.last or log.crc[last - 1] != each.crc or confirmed > last:
            continue
        found.facts += 1
        owned = bisect_right(owners, last - 1) - 1
        if owned < 0:
            continue
        owner = owners[owned]
        term = log.term[owner]
        waiting, early = limbo(log, named, confirmed, last)
        wants = (log.origin[owner] if log.kind[owner] == PROMOTE else 0, term, *waiting)
        visible = max(confirmed, min(wants[3], each.written if each.written is not None else last))
        if each.visible is not None and each.role != LEADER and confirmed <= each.visible:
            # Who follows shows as much of that as it knows to be in its leader's log.
            visible = min(visible, each.visible)
        says = (each.limbo_owner, each.limbo_term, each.limbo_len, each.visible)
        if early is None and says == (*wants[:3], visible):
            continue
        message = f"node {each.node} at {last}, confirmed {confirmed}: "
        if early is not None:
            message += f"the CONFIRM at {log.index[early]} confirms more"
        else:
            message += f"owner, term, waiting, visible are {says}; its log makes "
            message += f"{(*wants[:3], visible)}"
        rows = [each.shows(), *log.shows(owner, last - 1 if early is None else early)]
        found.broken(REPLAY, message, rows, node=each.node, index=each.sample, term=each.term)


def names(log: LogTable) -> dict[int, int]:
    """By place of a control entry: the place of the latest entry before it that it names."""
    known: dict[tuple[int, int], int] = {}
    found = {}
    for place, ref in enumerate(log.ref):
        if ref is not None and ref in known:
            found[place] = known[ref]
        known[log.origin[place], log.lsn[place]] = place
    return found


def limbo(
    log: LogTable, names: Mapping[int, int], confirmed: int, last: int
) -> tuple[tuple[int, int], int | None]:
    """How many wait between, what is before them; and which CONFIRM says most, if more."""
    queue: list[int] = []
    early, reach = None, confirmed
    for place in range(confirmed, last):
        kind, named = log.kind[place], names.get(place)
        if kind == PROMOTE or (kind == TXN and (log.flags[place] & WAIT_ACK or queue)):
            queue.append(place)
        elif kind == ROLLBACK and named is not None:
            queue = [each for each in queue if each < named]
        elif kind == CONFIRM and named is not None and named >= reach:
            early, reach = place, named + 1
    return (len(queue), queue[0] if queue else last), early
