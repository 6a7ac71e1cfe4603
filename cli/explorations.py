"""`qsync sim --explore`: every order of events of small clusters, instead of one by the seed."""

from typing import TYPE_CHECKING

import click

from cli.exits import CheckFailed, StoppedByGuard
from cli.output import document, names, style, text
from cli.progress_line import ProgressLine
from qsync.form import form

if TYPE_CHECKING:
    from qsync.sim.chosen.scope import ChosenScope
    from qsync.sim.chosen.search import ChosenProgress, ChosenResult
    from qsync.sim.explore.scope import Scope
    from qsync.sim.explore.search import SearchProgress, SearchResult


def explore(name: str, *, mutant: str | None, states_max: int | None) -> None:
    """Explore a scope, or a set of them; or print their names.

    Raises CheckFailed when a property breaks, Stopped when there are more states than allowed.
    """
    from qsync.sim.explore.search import STATES_MAX  # noqa: PLC0415 - imports the whole database
    from qsync.sim.run import mutant_names  # noqa: PLC0415 - the same
    from qsync.sim.scopes import EXPLORED, SETS, named  # noqa: PLC0415 - the same

    if name == "list":
        names("sim.names", (*SETS, *EXPLORED))
        return
    if form() == "compiled":
        raise click.UsageError(
            "the explorer copies the states of a cluster, which the compiled form of qsync does "
            "not allow; in a checkout `make pure` goes back to the sources"
        )
    scopes = named(name)
    if not scopes:
        raise click.UsageError(f"there is no scope {name!r}; `qsync sim --explore list`")
    if mutant is not None:
        _know(mutant, mutant_names(), scopes)
    limit = STATES_MAX if states_max is None else states_max
    found: list[_Done] = []
    for scope in scopes:
        found.append(_explore(scope, mutant, limit))
        if found[-1].explored.broken is not None:
            break
    if style().as_json:
        _document(found, mutant, limit)
    _conclude(found, limit)


def _know(mutant: str, known: "list[str]", scopes: "list[Scope | ChosenScope]") -> None:
    """Raises UsageError when one of the scopes cannot have that mutant."""
    from qsync.sim.explore.scope import Scope  # noqa: PLC0415 - imports the whole database
    from qsync.sim.mutants.catalogue import CATALOGUE  # noqa: PLC0415 - the same

    if mutant not in known:
        raise click.UsageError(f"there is no mutant {mutant!r}; `qsync sim --mutant list`")
    if mutant not in CATALOGUE and any(isinstance(each, Scope) for each in scopes):
        raise click.UsageError(
            f"{mutant!r} breaks a rule of the node or the client: only `nodes`, and scopes whose "
            "names begin so, have any"
        )


class _Done:
    """A scope that was explored, and the way to what broke."""

    def __init__(
        self,
        scope: "Scope | ChosenScope",
        explored: "SearchResult | ChosenResult",
        lines: list[str],
    ) -> None:
        self.scope = scope
        self.explored = explored
        self.lines = lines

    @property
    def unreached(self) -> list[str]:
        """What should have happened and did not; asked only of a complete exploration."""
        happened = self.explored.happened
        return sorted(self.scope.reaches - set(happened)) if self.explored.exhausted else []


def _explore(scope: "Scope | ChosenScope", mutant: str | None, limit: int) -> _Done:
    from qsync.sim.explore.scope import Scope  # noqa: PLC0415 - imports the whole database

    line = _Line()
    if isinstance(scope, Scope):
        done = _explore_rules(scope, mutant, limit, line)
    else:
        done = _explore_nodes(scope, mutant, limit, line)
    line.end()
    if not style().as_json:
        text(describe(done.explored))
        for each in done.lines:
            text(each)
    return done


def _explore_rules(scope: "Scope", mutant: str | None, limit: int, line: "_Line") -> _Done:
    from qsync.sim.explore.minutes import minutes  # noqa: PLC0415 - imports the whole database
    from qsync.sim.explore.search import StateSearch  # noqa: PLC0415 - the same

    search = StateSearch(scope, mutant)
    explored = search.run(states_max=limit, progress=line.tell_states)
    lines = minutes(search, explored.trace) if explored.broken is not None else []
    return _Done(scope, explored, lines)


def _explore_nodes(scope: "ChosenScope", mutant: str | None, limit: int, line: "_Line") -> _Done:
    from qsync.sim.chosen.search import ChosenSearch  # noqa: PLC0415 - imports the whole database

    explored = ChosenSearch(scope, mutant).run(runs_max=limit, progress=line.tell_runs)
    return _Done(scope, explored, [] if explored.broken is None else list(explored.broken.lines))


def describe(explored: "SearchResult | ChosenResult") -> str:
    """One line of fixed columns."""
    from qsync.sim.explore.search import SearchResult  # noqa: PLC0415 - the whole database

    if explored.broken is not None:
        verdict = explored.broken.text
    elif explored.exhausted:
        verdict = "exhausted, every property holds"
    else:
        verdict = "stopped by the limit"
    tried = (
        f"{explored.transitions:10d} transitions"
        if isinstance(explored, SearchResult)
        else f"{explored.runs:10d} runs       "
    )
    return (
        f"{explored.scope:20s} {explored.states:9d} states {tried}"
        f" depth {explored.depth:3d} {explored.seconds:7.1f} s  {verdict}"
    )


class _Line(ProgressLine):
    """The progress of a search."""

    def tell_states(self, progress: "SearchProgress") -> None:
        """How it goes."""
        rate = progress.states / progress.seconds if progress.seconds else 0.0
        self.tell(
            f"{progress.scope}: {progress.states} states, {progress.transitions} transitions, "
            f"depth {progress.depth}, {progress.waiting} wait, {rate:.0f} states/s"
        )

    def tell_runs(self, progress: "ChosenProgress") -> None:
        """How it goes, where every state is reached by a run from the start."""
        rate = progress.runs / progress.seconds if progress.seconds else 0.0
        self.tell(
            f"{progress.scope}: {progress.runs} runs, {progress.waiting} wait, {rate:.0f} runs/s"
        )


def _conclude(found: list[_Done], limit: int) -> None:
    last = found[-1].explored
    if last.broken is not None:
        raise CheckFailed(f"scope {last.scope}: {last.broken.text}")
    stopped = [each.explored.scope for each in found if not each.explored.exhausted]
    if stopped:
        raise StoppedByGuard(
            f"{', '.join(stopped)}: more than {limit} states",
            hint="--states-max allows more (of runs, where shipped nodes run); about 200 bytes of "
            "memory a state",
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
        transitions=sum(_figures(each.explored).get("transitions", 0) for each in found),
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
                "depth": each.explored.depth,
                **_figures(each.explored),
                "seconds": each.explored.seconds,
                "exhausted": each.explored.exhausted,
                "happened": each.explored.happened,
                "unreached": each.unreached,
            }
            for each in found
        ],
    )


def _figures(explored: "SearchResult | ChosenResult") -> dict[str, int]:
    """What one kind of search counts, and the other does not."""
    from qsync.sim.explore.search import SearchResult  # noqa: PLC0415 - the whole database

    if isinstance(explored, SearchResult):
        return {
            "transitions": explored.transitions,
            "node_states": explored.node_states,
            "turns": explored.turns,
        }
    return {"runs": explored.runs, "events": explored.events, "alike": explored.alike}
