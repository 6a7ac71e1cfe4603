"""The shape of one log: no holes, terms that only grow, a chain that holds, lsns without gaps."""

from collections.abc import Sequence

from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import CONFIRM, TXN, LogTable, RunTables
from admin.evidence.rows import kind_number
from tests.oracle import texts
from tests.oracle.entry_checksum import checksum
from tests.oracle.fates import replay
from tests.oracle.replayed import names


def dense(run: RunTables) -> RuleFinding:
    """Every index is one more than the one before it."""
    found = RuleFinding()
    for log in run.logs.values():
        found.facts += len(log.index)
        for place in range(1, len(log.index)):
            before, index = log.index[place - 1], log.index[place]
            if index != before + 1:
                message = texts.dense(log.node, index, before)
                _broken(found, DENSE, log, (place - 1, place), message)
    return found


def terms(run: RunTables) -> RuleFinding:
    """No term is lower than the one before it."""
    found = RuleFinding()
    for log in run.logs.values():
        found.facts += len(log.index)
        for place in range(1, len(log.index)):
            before, term = log.term[place - 1], log.term[place]
            if term < before:
                message = texts.terms(log.node, term, before)
                _broken(found, TERMS, log, (place - 1, place), message)
    return found


def chain(run: RunTables) -> RuleFinding:
    """Every checksum covers its entry and the checksum before it."""
    found = RuleFinding()
    for log in run.logs.values():
        for place, sealed in enumerate(log.sealed):
            index = log.index[place]
            previous = 0 if index == 1 else log.crc[place - 1] if place else None
            if sealed is None or previous is None or (place and log.index[place - 1] != index - 1):
                continue
            found.facts += 1
            wanted = _checksum(log, place, sealed, previous)
            if log.crc[place] != wanted:
                message = texts.chain(log.node, index, log.crc[place], wanted)
                _broken(found, CHAIN, log, (place - 1, place), message)
    return found


def lsns(run: RunTables) -> RuleFinding:
    """The lsns of every origin grow by one."""
    found = RuleFinding()
    for log in run.logs.values():
        known: dict[int, tuple[int, int]] = {}
        start = (0, -1) if log.first == 1 else None
        for place, (origin, lsn) in enumerate(zip(log.origin, log.lsn, strict=True)):
            found.facts += 1
            before = known.get(origin, start)
            if before is not None and lsn != before[0] + 1:
                message = texts.lsns(log.node, origin, lsn, before[0])
                _broken(found, LSNS, log, (before[1], place), message)
            known[origin] = (lsn, place)
    return found


def controls(run: RunTables) -> RuleFinding:
    """A control entry speaks of an entry before it in the same log."""
    found = RuleFinding()
    for log in run.logs.values():
        known: set[tuple[int, int]] = set()
        for place, kind in enumerate(log.kind):
            index = log.index[place]
            if kind != TXN:
                found.facts += 1
                ref = log.ref[place]
                if ref is None or (log.first == 1 and ref[1] and ref not in known):
                    named = "nothing" if ref is None else f"lsn {ref[1]} of {ref[0]}"
                    message = f"{kind} at {index} of node {log.node} names {named} before it"
                    _broken(found, CONTROLS, log, (place,), message)
            known.add((log.origin[place], log.lsn[place]))
    return found


def fates(run: RunTables) -> RuleFinding:
    """Nothing is both confirmed and rolled back, nor rolled back by a later term's leader."""
    found = RuleFinding()
    for log in run.logs.values():
        if log.first > 1:
            continue
        replayed = replay(log, log.last)
        found.facts += replayed.records
        at = log.at()
        for record, (index, why) in replayed.odd:
            message = f"the record at {record} of node {log.node} {why}"
            former = [farthest(log, record)]
            if index not in replayed.confirmed_by:
                former = replayed.decided_by(index, before=record)
            _broken(found, FATES, log, [at[each] for each in (index, *former, record)], message)
    return found


def farthest(log: LogTable, before: int) -> int:
    """The CONFIRM before a record that confirms the most."""
    named, reach, found = names(log), -1, 0
    for place, index in enumerate(log.index):
        if index < before and log.kind[place] == CONFIRM and named.get(place, -1) > reach:
            reach, found = named[place], index
    return found


DENSE, TERMS, CHAIN = "log-dense", "log-terms", "log-chain"
LSNS, CONTROLS, FATES = "log-lsns", "log-controls", "log-fates"


def _checksum(log: LogTable, place: int, sealed: tuple[float, int, int], previous: int) -> int:
    kind = kind_number(log.kind[place])
    index, term, origin = log.index[place], log.term[place], log.origin[place]
    return checksum((index, term, origin, log.lsn[place], kind, log.flags[place]), sealed, previous)


def _broken(
    found: RuleFinding, invariant: str, log: LogTable, places: Sequence[int], message: str
) -> None:
    """At the last of the places; all of them prove it."""
    index = log.index[places[-1]]
    found.broken(invariant, message, log.shows(*places), node=log.node, index=index)
