"""`qsync sim --explore`: every order of events of small clusters, instead of one by the seed."""

import sys
import time
from typing import TYPE_CHECKING

import click

from cli.exits import CheckFailed, StoppedByGuard
from cli.output import document, say, style, text

if TYPE_CHECKING:
    from qsync.sim.explore.scope import Scope
    from qsync.sim.explore.search import SearchProgress, SearchResult

_TELL_S = 15.0
"""Where nobody looks, a line about the progress so often."""


def explore(name: str, *, mutant: str | None, states_max: int | None) -> None:
    """Explore a scope, or a set of them; or print their names.

    Raises CheckFailed when a property breaks, Stopped when there are more states than allowed.
    """
    from qsync.sim.explore.scopes import (  # noqa: PLC0415 - imports the whole database
        SCOPES,
        SETS,
        named,
    )
    from qsync.sim.explore.search import STATES_MAX  # noqa: PLC0415 - the same
    from qsync.sim.mutants.catalogue import CATALOGUE  # noqa: PLC0415 - the same

    if name == "list":
        for each in (*SETS, *SCOPES):
            text(each)
        return
    scopes = named(name)
    if not scopes:
        raise click.UsageError(f"there is no scope {name!r}; `qsync sim --explore list`")
    if mutant is not None and mutant not in CATALOGUE:
        raise click.UsageError(f"there is no mutant {mutant!r}; `qsync sim --mutant list`")
    limit = STATES_MAX if states_max is None else states_max
    found: list[_Done] = []
    for scope in scopes:
        found.append(_explore(scope, mutant, limit))
        if found[-1].explored.broken is not None:
            break
    if style().as_json:
        _document(found, mutant, limit)
    _conclude(found, limit)


class _Done:
    """A scope that was explored, and the way to what broke."""

    def __init__(self, scope: "Scope", explored: "SearchResult", lines: list[str]) -> None:
        self.scope = scope
        self.explored = explored
        self.lines = lines

    @property
    def unreached(self) -> list[str]:
        """What should have happened and did not; asked only of a complete exploration."""
        happened = self.explored.happened
        return sorted(self.scope.reaches - set(happened)) if self.explored.exhausted else []


def _explore(scope: "Scope", mutant: str | None, limit: int) -> _Done:
    from qsync.sim.explore.minutes import minutes  # noqa: PLC0415 - imports the whole database
    from qsync.sim.explore.search import StateSearch  # noqa: PLC0415 - the same

    search, line = StateSearch(scope, mutant), _Line()
    explored = search.run(states_max=limit, progress=line.tell)
    lines = minutes(search, explored.trace) if explored.broken is not None else []
    line.end()
    if not style().as_json:
        text(describe(explored))
        for each in lines:
            text(each)
    return _Done(scope, explored, lines)


def describe(explored: "SearchResult") -> str:
    """One line of fixed columns."""
    if explored.broken is not None:
        verdict = explored.broken.text
    elif explored.exhausted:
        verdict = "exhausted, every property holds"
    else:
        verdict = "stopped by the limit"
    return (
        f"{explored.scope:20s} {explored.states:9d} states {explored.transitions:10d} transitions"
        f" depth {explored.depth:3d} {explored.seconds:7.1f} s  {verdict}"
    )


class _Line:
    """The progress on stderr: one line that is written over on a terminal, else now and then."""

    def __init__(self) -> None:
        self._over = sys.stderr.isatty()
        self._told = time.monotonic()

    def tell(self, progress: "SearchProgress") -> None:
        """How it goes."""
        now = time.monotonic()
        rate = progress.states / progress.seconds if progress.seconds else 0.0
        line = (
            f"{progress.scope}: {progress.states} states, {progress.transitions} transitions, "
            f"depth {progress.depth}, {progress.waiting} wait, {rate:.0f} states/s"
        )
        if self._over:
            click.echo(f"\r{line}\x1b[K", err=True, nl=False)
        elif now - self._told >= _TELL_S:
            self._told = now
            say(line)

    def end(self) -> None:
        """The line is free for other words."""
        if self._over:
            click.echo("\r\x1b[K", err=True, nl=False)


def _conclude(found: list[_Done], limit: int) -> None:
    last = found[-1].explored
    if last.broken is not None:
        raise CheckFailed(f"scope {last.scope}: {last.broken.text}")
    stopped = [each.explored.scope for each in found if not each.explored.exhausted]
    if stopped:
        raise StoppedByGuard(
            f"{', '.join(stopped)}: more than {limit} states",
            hint="--states-max allows more; about 200 bytes of memory a state",
        )
    for each in found:
        if each.unreached:
            missing = ", ".join(each.unreached)
            raise CheckFailed(f"scope {each.scope.name} proves nothing: no {missing} in any state")


def _document(found: list[_Done], mutant: str | None, limit: int) -> None:
    last = found[-1].explored
    document(
        "explore",
        mutant=mutant,
        states_max=limit,
        exhausted=all(each.explored.exhausted for each in found),
        states=sum(each.explored.states for each in found),
        transitions=sum(each.explored.transitions for each in found),
        seconds=sum(each.explored.seconds for each in found),
        broken=None
        if last.broken is None
        else {
            "scope": last.scope,
            "property": last.broken.number,
            "text": last.broken.text,
            "trace": found[-1].lines,
        },
        scopes=[
            {
                "name": each.scope.name,
                "claim": each.scope.claim,
                "bounds": dict(each.scope.bounds),
                "states": each.explored.states,
                "transitions": each.explored.transitions,
                "depth": each.explored.depth,
                "node_states": each.explored.node_states,
                "turns": each.explored.turns,
                "seconds": each.explored.seconds,
                "exhausted": each.explored.exhausted,
                "happened": each.explored.happened,
                "unreached": each.unreached,
            }
            for each in found
        ],
    )
