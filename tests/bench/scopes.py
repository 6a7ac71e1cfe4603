"""How large each scope of the explorer is: writes the table of docs/reference/explore.md.

python -m tests.bench.scopes                 # the quick scopes, and what the page lacks
python -m tests.bench.scopes reads-crash     # these
python -m tests.bench.scopes all             # hours
"""

import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from election.fencing import Fencing
from qsync.sim.explore.scope import EVERYBODY, EVERYTHING_HEARD, Scope
from qsync.sim.explore.scopes import CORE_SETS, SCOPES
from qsync.sim.explore.search import StateSearch

PAGE = Path(__file__).parents[2] / "docs/reference/explore.md"
_BEGIN, _END = "<!-- scopes -->", "\n<!-- end of scopes -->"
_HEADS = (
    "scope",
    "from",
    "bounds",
    "also",
    "shows that",
    "states",
    "transitions",
    "depth",
    "CPU s",
)
Figures = tuple[str, str, str, str]
"""States, transitions, depth, CPU seconds."""


def read() -> dict[str, list[str]]:
    """The rows of the page, by scope."""
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index(_BEGIN) : text.index(_END)].splitlines()[3:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table if line]
    return {row[0].strip("`"): row for row in rows}


def row(scope: Scope, figures: Figures) -> list[str]:
    """What the page says of a scope."""
    bounds = ", ".join(f"{what} {often}" for what, often in scope.bounds.items() if often)
    begin = scope.prelude or "nothing"
    return [f"`{scope.name}`", begin, bounds, ", ".join(_also(scope)), scope.claim, *figures]


def _also(scope: Scope) -> Iterable[str]:
    if scope.nodes != len(EVERYBODY):
        yield f"{scope.nodes} nodes"
    if scope.older:
        yield f"node {_and(scope.older)} of an older release"
    for is_so, word in (
        (scope.ordered, "order"),
        (scope.slow_disk, "slow disk"),
        (scope.records and "confirm" not in scope.prelude, "CONFIRM"),
        (scope.whole, "data"),
        (scope.sticky, "loyal"),
        (scope.fencing is not Fencing.OFF, f"fencing {scope.fencing.value}"),
        (scope.appended == 1, "entries one by one"),
        (scope.unheard == EVERYTHING_HEARD, "heartbeats, rounds"),
        (scope.unheard == {"HeartbeatResponse"}, "heartbeats"),
        (scope.tick > 0, f"ticks of {scope.tick:g} s"),
    ):
        if is_so:
            yield word
    names = {"crash": "crashing", "campaign": "campaigning", "read": "reading", "write": "writing"}
    for does, field in names.items():
        who: frozenset[int] = getattr(scope, field)
        bound = f"{does}es" if does == "crash" else f"{does}s"
        happens = bound in scope.bounds or (does == "crash" and "wipes" in scope.bounds)
        if happens and not who >= EVERYBODY:
            ends = "es" if does == "crash" else "s"
            one = len(who) == 1
            yield f"only node{'' if one else 's'} {_and(who)} {does}{ends if one else ''}"
    if "forces" in scope.bounds:
        yield f"a cluster is made of node {' or '.join(map(str, sorted(scope.surviving)))}"


def _and(who: frozenset[int]) -> str:
    return " and ".join(map(str, sorted(who)))


def measured(name: str) -> Figures:
    """Of a whole exploration."""
    began = time.process_time()
    explored = StateSearch(SCOPES[name]).run()
    assert explored.exhausted, explored.broken
    spent = time.process_time() - began
    print(f"{name}: {explored.states:,} states, {spent:.1f} CPU s", flush=True)
    return (
        f"{explored.states:,}",
        f"{explored.transitions:,}",
        str(explored.depth),
        f"{spent:.1f}",
    )


def write(figures: Mapping[str, Figures]) -> None:
    """These are new, the others stay as they are."""
    before, text = read(), PAGE.read_text(encoding="utf-8")
    lines = [list(_HEADS), ["---"] * len(_HEADS)]
    for name, scope in SCOPES.items():
        known = before.get(name, [])[5:]
        known += ["-"] * (4 - len(known))
        lines.append(row(scope, figures.get(name, (known[0], known[1], known[2], known[3]))))
    table = "\n".join(f"| {' | '.join(cells)} |".replace("|  |", "| |") for cells in lines)
    table = table.replace(
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |", "|---" * 9 + "|"
    )
    after = text[: text.index(_BEGIN)] + _BEGIN + "\n" + table + "\n" + text[text.index(_END) :]
    PAGE.write_text(after, encoding="utf-8")


def main(words: list[str]) -> None:
    """Measure, one after the other, and write after each."""
    known = read()
    names = words
    if words == ["all"]:
        names = list(SCOPES)
    elif not words:
        names = [n for n in SCOPES if n in CORE_SETS["quick"] or "-" in known.get(n, ["-"])[5:]]
    for name in names:
        write({name: measured(name)})


if __name__ == "__main__":
    main(sys.argv[1:])
