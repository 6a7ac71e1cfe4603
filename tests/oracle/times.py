"""Times that go back prove nothing: rules that compare times must know."""

from collections.abc import Iterable

from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import RunTables, number

TIMES = "times-usable"
_NANOS = 1_000_000_000


def find(run: RunTables) -> RuleFinding:
    """Within every series that is written in order, the monotonic clock does not go back."""
    found = RuleFinding()
    lines = sorted(run.ops, key=lambda line: number(line, "index"))
    _follow("the clients", [number(line, "time") for line in lines], found)
    series: dict[tuple[int, int, int], list[int]] = {}
    for each in run.status:
        series.setdefault((each.node, each.generation, each.life), []).append(each.time_mono)
    for (node, _, _), times in series.items():
        _follow(f"node {node}", times, found)
    return found


def _follow(whose: str, times: Iterable[int], found: RuleFinding) -> None:
    before = None
    for each in times:
        if before is not None:
            found.facts += 1
            if each < before and not found.doubt:
                back = (before - each) / _NANOS
                found.doubt = f"the clock of {whose} went back by {back:g} s: times prove nothing"
        before = each
