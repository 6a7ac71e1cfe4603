"""CONFIRM records go forward, and a leader confirms by entries of its own term."""

from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import CONFIRM, LogTable, RunTables
from tests.oracle.logs import followed
from tests.oracle.queue import LimboReplay

FORWARD = "confirms-forward"


def find(run: RunTables) -> RuleFinding:
    """A CONFIRM names a synchronous entry of its own term, above what any before it named."""
    return followed(run, _follow)


def _follow(log: LogTable, found: RuleFinding) -> None:
    queue, former, record = LimboReplay(log), -1, -1
    for place, kind in enumerate(log.kind):
        named = queue.named(place) if kind == CONFIRM else None
        queue.apply(place)
        if named is None:
            continue
        found.facts += 1
        why = ""
        if log.term[named] != log.term[place]:
            why = f"of term {log.term[named]}; entries of older terms decide nothing"
        elif not queue.is_sync(named):
            why = "which waits for no quorum"
        elif former >= named:
            why = f"after {log.index[former]} was confirmed at {log.index[record]}"
        if why:
            message = (
                f"the CONFIRM at {log.index[place]} of term {log.term[place]} on node {log.node} "
                f"names {log.index[named]}, {why}"
            )
            rows = log.shows(named, record, place)
            found.broken(FORWARD, message, rows, node=log.node, index=log.index[place])
        if named > former:
            former, record = named, place
