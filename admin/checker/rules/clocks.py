"""Clocks of a run that is in memory."""

from admin.checker.kernels.clocks import TIMES, ClockReplay
from admin.checker.kernels.columns import Samples
from admin.checker.rules.rule import Rule, RuleFinding
from admin.checker.rules.run import RunTables, number


def find(run: RunTables) -> RuleFinding:
    """Within every series that is written in order, the monotonic clock does not go back."""
    replay = ClockReplay()
    lines = sorted(run.ops, key=lambda line: number(line, "index"))
    replay.lines(number(line, "time") for line in lines)
    replay.samples(Samples.of_records(run.status))
    return replay.finding()


RULE = Rule(TIMES, "no clock goes back while it is read", (), find, idle="no clock was read twice")
