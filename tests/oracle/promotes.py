"""A PROMOTE continues the log that it stands in: else two histories were mixed (split brain)."""

from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import DEMOTE, PROMOTE, LogTable, RunTables
from tests.oracle.logs import followed
from tests.oracle.queue import LimboReplay

FITS = "promote-fits"


def find(run: RunTables) -> RuleFinding:
    """PROMOTE and DEMOTE name the former owner and its last lsn; a PROMOTE has a new term."""
    return followed(run, _follow, whole=True)


def _follow(log: LogTable, found: RuleFinding) -> None:
    queue, newest = LimboReplay(log), -1
    for place, kind in enumerate(log.kind):
        if kind in {PROMOTE, DEMOTE}:
            found.facts += 1
            why = ""
            if kind == PROMOTE and newest >= 0 and log.term[place] <= log.term[newest]:
                why = f"is of term {log.term[place]}, not newer than {log.term[newest]}"
            why = why or _misfit(queue, log.ref[place])
            if why:
                message = f"the {kind} at {log.index[place]} of node {log.node} {why}"
                rows = log.shows(newest, place - 1, place)
                found.broken(FITS, message, rows, node=log.node, index=log.index[place])
        queue.apply(place)
        if newest < 0 or log.term[place] > log.term[newest]:
            newest = place


def _misfit(queue: LimboReplay, ref: tuple[int, int] | None) -> str:
    """Why it does not continue this log, or nothing."""
    owner = queue.owner
    last = queue.lsns.get(owner, 0)
    if ref is None or ref == (owner, last):
        return ""
    if ref[0] != owner:
        return f"names node {ref[0]} as the former owner, which was {owner}"
    confirmed = queue.confirmed.get(owner, 0)
    if ref[1] < confirmed:
        return f"names lsn {ref[1]} of {owner}, though {confirmed} was confirmed before"
    if not queue.pending:
        return f"names lsn {ref[1]} of {owner}, whose last is {last}; nothing was pending"
    first = queue.log.lsn[queue.pending[0][0]]
    return f"names lsn {ref[1]} of {owner}; pending were {first} to {last}"
