"""A receipt names the entry of the very request that it was given for."""

from admin.checker.exhibit import exhibit
from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import RunTables, number
from admin.evidence.tables import Row

OWN = "receipt-own"


def find(run: RunTables) -> RuleFinding:
    """Where the entry at the place of a receipt has a request, it is that of the operation.

    And the first row that it changes is that of the operation, where its client says which.
    """
    found = RuleFinding()
    wanted: dict[tuple[int, int], list[Row]] = {}
    for each in run.ops:
        if each["type"] == "ok" and each.get("seq") and each.get("log_index"):
            place = (number(each, "log_index"), number(each, "term"))
            wanted.setdefault(place, []).append(each)
    for log in run.logs.values():
        for at, request in enumerate(log.request):
            lines = wanted.get((log.index[at], log.term[at]), ())
            if not lines or request is None:
                continue
            found.facts += 1
            line = next((each for each in lines if _asked(each) != request), None)
            other = f"is request {request[1]} of session {request[0]}"
            if line is None:
                line = next((each for each in lines if _keyed(each, log.key[at])), None)
                other = "changes another key"
            if line is not None:
                message = (
                    f"line {line['index']} of the history has a receipt of {log.index[at]}, "
                    f"which {other} on node {log.node}"
                )
                rows = (exhibit("ops", line), *log.shows(at))
                found.broken(OWN, message, rows, node=log.node, index=log.index[at])
    return found


def _asked(line: Row) -> tuple[str, int]:
    return (str(line.get("session")), number(line, "seq"))


def _keyed(line: Row, key: int | None) -> bool:
    """By what the client knows of its key, this is the entry of another one."""
    told = line.get("key_hash")
    return told is not None and key is not None and told != key
