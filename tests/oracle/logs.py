"""A log after the other, entry by entry."""

from collections.abc import Callable

from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import LogTable, RunTables


def followed(
    run: RunTables, follow: Callable[[LogTable, RuleFinding], None], *, whole: bool = False
) -> RuleFinding:
    """What `follow` finds in each log; with `whole` in those alone that begin with entry 1."""
    found = RuleFinding()
    for log in run.logs.values():
        if not whole or log.first == 1:
            follow(log, found)
    return found
