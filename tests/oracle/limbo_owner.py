"""Only the owner of the limbo appends: a deposed or fenced leader adds nothing to any log."""

from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import DEMOTE, PROMOTE, ROLLBACK, TXN, LogTable, RunTables
from tests.oracle.logs import followed

OWNER = "log-owner"


def find(run: RunTables) -> RuleFinding:
    """A term begins with its PROMOTE, all its entries have that origin, and none after a DEMOTE."""
    return followed(run, _follow)


def _follow(log: LogTable, found: RuleFinding) -> None:
    promoted = demoted = -1
    for place, kind in enumerate(log.kind):
        if kind == PROMOTE:
            promoted, demoted = place, -1
            continue
        if promoted < 0 and log.first > 1:
            continue
        found.facts += 1
        here = (log.term[place], log.origin[place])
        what = f"{kind} at {log.index[place]} of term {here[0]} by {here[1]} on node {log.node}"
        why = ""
        if promoted < 0:
            why = "comes before any PROMOTE"
        elif here != (log.term[promoted], log.origin[promoted]):
            owner = f"{log.origin[promoted]} since its PROMOTE at {log.index[promoted]}"
            why = f"is not of the owner, which is {owner} in term {log.term[promoted]}"
        elif demoted >= 0 and kind in {TXN, ROLLBACK}:
            why = f"comes after the DEMOTE at {log.index[demoted]}"
        if why:
            rows = log.shows(promoted, demoted, place)
            found.broken(OWNER, f"{what} {why}", rows, node=log.node, index=log.index[place])
        if kind == DEMOTE:
            demoted = place
