"""Answers to clients against the logs: receipts, failures without effect, exactly once."""

from collections.abc import Iterator

from admin.checker.exhibit import exhibit
from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import LogTable, RunTables, number
from admin.evidence.tables import Row
from tests.oracle import texts
from tests.oracle.fates import Fates, replay

_LOOKS = frozenset({"read", "r", "get", "txn", "cas-unequal"})


def once(run: RunTables) -> RuleFinding:
    """A numbered request of a session takes effect at most once."""
    found = RuleFinding()
    for log, upto, fates in _decided(run):
        known: dict[tuple[str, int], int] = {}
        for index, request in zip(log.index, log.request, strict=True):
            if index > upto:
                break
            if request is None or index in fates.rolled_back_by:
                continue
            found.facts += 1
            before = known.setdefault(request, index)
            if before != index:
                message = texts.once(log.node, request, before, index)
                at = log.at()
                rows = log.shows(at[before], at[index])
                found.broken(ONCE, message, rows, node=log.node, index=index)
    return found


def receipts(run: RunTables) -> RuleFinding:
    """A write with a receipt is at its place in every log that has confirmed so far."""
    found = RuleFinding()
    wanted: dict[int, list[Row]] = {}
    for line in run.ops:
        if line["type"] == "ok" and _has_receipt(line):
            wanted.setdefault(number(line, "log_index"), []).append(line)
    for log, upto, fates in _decided(run):
        at = log.at()
        for index, lines in wanted.items():
            if not log.first <= index <= min(upto, log.last):
                continue
            found.facts += len(lines)
            gone, place = index in fates.rolled_back_by, at.get(index)
            there = None if place is None else log.term[place]
            odd = next((e for e in lines if gone or number(e, "term") != there), None)
            if odd is None:
                continue
            why = "was rolled back in" if number(odd, "term") == there else "is not in"
            message = (
                f"entry {index} of term {number(odd, 'term')} {why} the log of node {log.node}, "
                f"and line {odd['index']} of the history was told ok"
            )
            rows = (exhibit("ops", odd), *log.shows(-1 if place is None else place))
            found.broken(RECEIPTS, message, rows, node=log.node, index=index)
    return found


def failures(run: RunTables) -> RuleFinding:
    """Requests that failed for certain took no effect."""
    found = RuleFinding()
    failed = {
        (str(each["session"]), number(each, "seq")): each
        for each in run.ops
        if each["type"] == "fail" and each.get("session") and each.get("seq")
    }
    done = {_request(each) for each in run.ops if each["type"] == "ok"}
    failed = {request: line for request, line in failed.items() if request not in done}
    for log, upto, fates in _decided(run):
        found.facts += len(failed)
        for place, (index, request) in enumerate(zip(log.index, log.request, strict=True)):
            if index > upto:
                break
            if request in failed and index not in fates.rolled_back_by:
                line = failed[request]
                message = (
                    f"request {request[1]} of session {request[0]} is confirmed at {index} on node "
                    f"{log.node}, and line {line['index']} of the history was told it failed"
                )
                rows = (exhibit("ops", line), *log.shows(place))
                found.broken(FAILURES, message, rows, node=log.node, index=index)
    return found


ONCE, RECEIPTS, FAILURES = "once", "receipts-kept", "failures-gone"


def _decided(run: RunTables) -> Iterator[tuple[LogTable, int, Fates]]:
    confirmed = run.confirmed
    for whose, log in run.logs.items():
        upto = confirmed.get(whose, 0)
        yield log, upto, replay(log, upto)


def _has_receipt(row: Row) -> bool:
    """A place in the log that it wrote; of a transaction without a number it is what was seen."""
    writes = row["f"] not in _LOOKS or (row["f"] == "txn" and row.get("seq"))
    return bool(writes and row.get("log_index"))


def _request(row: Row) -> tuple[str, int]:
    return (str(row.get("session")), number(row, "seq"))
