"""A receipt names the entry of the very request that it was given for."""

from admin.checker.exhibit import exhibit
from admin.checker.rules.rule import Finding, Rule
from admin.checker.rules.run import Run, number

OWN = "receipt-own"


def find(run: Run) -> Finding:
    """Where the entry at the place of a receipt has a request, it is that of the operation."""
    found = Finding()
    wanted = {
        (number(each, "log_index"), number(each, "term")): each
        for each in run.ops
        if each["type"] == "ok" and each.get("seq") and each.get("log_index")
    }
    for log in run.logs.values():
        for place, request in enumerate(log.request):
            line = wanted.get((log.index[place], log.term[place]))
            if line is None or request is None:
                continue
            found.facts += 1
            asked = (str(line.get("session")), number(line, "seq"))
            if request != asked:
                message = (
                    f"line {line['index']} of the history has a receipt of {log.index[place]}, "
                    f"which is request {request[1]} of session {request[0]} on node {log.node}"
                )
                rows = (exhibit("ops", line), *log.shows(place))
                found.broken(OWN, message, rows, node=log.node, index=log.index[place])
    return found


RULE = Rule(
    OWN,
    "a receipt names the entry of its request",
    ("wal", "ops"),
    find,
    idle="no receipt names an entry that has a number",
)
