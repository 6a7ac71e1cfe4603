"""An asynchronous transaction behind a pending one shares its fate; others are shown at once."""

from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import ROLLBACK, TXN, WAIT_ACK, WAIT_SYNC, LogTable, RunTables
from tests.oracle.logs import followed
from tests.oracle.queue import LimboReplay

SHARED = "fates-shared"


def find(run: RunTables) -> RuleFinding:
    """Nothing waits behind nothing, and what did not wait is never rolled back."""
    return followed(run, _follow, whole=True)


def _follow(log: LogTable, found: RuleFinding) -> None:
    queue = LimboReplay(log)
    for place, kind in enumerate(log.kind):
        alone = not queue.pending
        gone = queue.apply(place)
        flags = log.flags[place]
        if kind == TXN and not flags & WAIT_ACK:
            found.facts += 1
            if flags & WAIT_SYNC and alone:
                message = (
                    f"the asynchronous entry {log.index[place]} of node {log.node} waits, and "
                    "nothing before it was pending"
                )
                index = log.index[place]
                found.broken(SHARED, message, log.shows(place), node=log.node, index=index)
        for each, _ in gone if kind == ROLLBACK else ():
            if log.flags[each] == 0:
                message = (
                    f"the asynchronous entry {log.index[each]} of node {log.node} was shown at "
                    f"once, and rolled back at {log.index[place]}"
                )
                rows = log.shows(gone[0][0], each, place)
                found.broken(SHARED, message, rows, node=log.node, index=log.index[each])
