"""What was rolled back is read by nobody."""

from admin.checker.exhibit import exhibit
from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import ROLLBACK, LogTable, RunTables, number
from admin.evidence.tables import Row
from tests.oracle.fates import replay

HIDDEN = "rolled-back-hidden"
_WRITES = frozenset({"write", "cas", "put"})
Request = tuple[str, int]


def find(run: RunTables) -> RuleFinding:
    """No read shows a value whose only writes were rolled back for good."""
    found = RuleFinding()
    gone = _gone(run)
    if not gone:
        return found
    written: dict[tuple[str, str], list[tuple[Row, tuple[LogTable, int] | None]]] = {}
    for line in run.ops:
        if line["f"] in _WRITES and line["type"] != "invoke":
            place = gone.get((str(line.get("session")), number(line, "seq")))
            written.setdefault((repr(line.get("key")), repr(_value(line))), []).append(
                (line, place)
            )
    lost = {
        what: (writers[0][0], place)
        for what, writers in written.items()
        if len(writers) == 1 and (place := writers[0][1]) is not None
    }
    reads = [line for line in run.ops if line["f"] == "read" and line["type"] == "ok"]
    found.facts = len(lost) and len(reads)
    for line in reads:
        writer = lost.get((repr(line.get("key")), repr(line.get("value"))))
        if writer is None:
            continue
        log, at = writer[1]
        index = log.index[at]
        message = (
            f"line {line['index']} of the history read {line.get('value')!r} of {line.get('key')}, "
            f"which was written at {index} and rolled back"
        )
        rows = (exhibit("ops", writer[0]), *log.shows(at), exhibit("ops", line))
        found.broken(HIDDEN, message, rows, index=number(line, "index"))
    return found


def _value(line: Row) -> object:
    value = line.get("value")
    return value[-1] if line["f"] == "cas" and isinstance(value, list) else value


def _gone(run: RunTables) -> dict[Request, tuple[LogTable, int]]:
    """Requests that some log rolled back for good, and that are in no log in any other way."""
    gone: dict[Request, tuple[LogTable, int]] = {}
    there: set[Request] = set()
    confirmed = run.confirmed
    if not any(ROLLBACK in log.kind for log in run.logs.values()):
        return gone
    for whose, log in sorted(run.logs.items()):
        upto = confirmed.get(whose, 0)
        rolled = replay(log, upto).rolled_back_by
        for place, request in enumerate(log.request):
            if request is None:
                continue
            if log.index[place] <= upto and log.index[place] in rolled:
                gone.setdefault(request, (log, place))
            else:
                there.add(request)
    return {request: place for request, place in gone.items() if request not in there}
