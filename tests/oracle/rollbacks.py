"""A ROLLBACK takes what was pending, and never the PROMOTE that its leader stands on."""

from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import PROMOTE, ROLLBACK, LogTable, RunTables
from tests.oracle.logs import followed
from tests.oracle.queue import LimboReplay

LEGAL = "rollback-legal"


def find(run: RunTables) -> RuleFinding:
    """It names a transaction that was pending; what was confirmed before is another invariant's."""
    return followed(run, _follow, whole=True)


def _follow(log: LogTable, found: RuleFinding) -> None:
    queue = LimboReplay(log)
    by: dict[int, int] = {}
    for place, kind in enumerate(log.kind):
        named = queue.named(place) if kind == ROLLBACK else None
        waiting = {each for each, _ in queue.pending}
        gone = [each for each, _ in queue.apply(place)]
        if named is None:
            continue
        found.facts += 1
        promote = next((each for each in gone if log.kind[each] == PROMOTE), None)
        why, rows = "", [named, place]
        if promote is not None:
            why = f"rolls back the PROMOTE at {log.index[promote]}"
            rows = [promote, place]
        elif named in by:
            why = f"rolls back {log.index[named]}, rolled back at {log.index[by[named]]} before"
            rows = [named, by[named], place]
        elif named not in waiting and not queue.is_sync(named):
            why = f"names {log.index[named]}, which never waited"
        if why:
            message = f"the ROLLBACK at {log.index[place]} of node {log.node} {why}"
            index = log.index[place]
            found.broken(LEGAL, message, log.shows(*rows), node=log.node, index=index)
        by |= dict.fromkeys(gone, place)
