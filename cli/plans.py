"""Options that say how a simulated run differs from what its seed draws."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ParamSpec, TypedDict, TypeVar

import click

from cli.options import mutant_option
from cli.output import names as print_names

if TYPE_CHECKING:
    from admin.soak.judge import JudgedSeed
    from qsync.sim.plan import Plan

P = ParamSpec("P")
R = TypeVar("R")


class PlanOptions(TypedDict):
    """The options besides the seeds."""

    nodes: int | None
    events: int | None
    clients: int | None
    keys: int | None
    without: str
    only: str
    strikes: str | None
    mutant: str | None


def plan_options(command: Callable[P, R]) -> Callable[P, R]:
    """Everything that a replay line may say."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def jobs_option(command: Callable[P, R]) -> Callable[P, R]:
    """`--jobs`."""
    return click.option(
        "--jobs",
        type=click.IntRange(1),
        default=lambda: os.cpu_count() or 1,
        help="Number of processes.  [default: one per processor]",
    )(command)


def lists(given: PlanOptions) -> bool:
    """Print the names that were asked for with `list`, if any were."""
    from qsync.sim import run, swarm  # noqa: PLC0415 - imports the whole database

    if given["mutant"] == "list":
        names: tuple[str, ...] = tuple(run.mutant_names())
    elif given["only"] == "list":
        names = swarm.NAMES
    elif given["without"] == "list":
        names = swarm.EVERYTHING
    else:
        return False
    print_names("sim.names", names)
    return True


def plan_of(given: PlanOptions) -> "Plan":
    """The plan of any seed. Raises UsageError for names that there are not."""
    from qsync.sim import run, swarm  # noqa: PLC0415 - imports the whole database
    from qsync.sim.plan import EVENTS, Plan  # noqa: PLC0415 - the same

    mutant = given["mutant"]
    without, only = _names(given["without"]), _names(given["only"])
    if mutant is not None and mutant not in run.mutant_names():
        raise click.UsageError(f"there is no mutant {mutant!r}; `qsync sim --mutant list`")
    for name in without:
        if name not in swarm.EVERYTHING:
            raise click.UsageError(f"there is no {name!r}; `qsync sim --without list`")
    for name in only:
        if name not in swarm.NAMES:
            raise click.UsageError(f"there is no trouble {name!r}; `qsync sim --only list`")
    return Plan(
        seed=0,
        nodes=given["nodes"],
        events=given["events"] or EVENTS,
        clients=given["clients"],
        keys=given["keys"],
        without=without,
        only=only,
        strikes=_strikes(given["strikes"]),
        mutant=mutant,
    )


def plans_of(plan: "Plan", seeds: str) -> "list[Plan]":
    """The plan for every seed of `A-B`. Raises UsageError."""
    from admin.soak import ranges  # noqa: PLC0415 - imports the whole database

    try:
        found = ranges.parse(seeds)
    except ValueError as error:
        raise click.UsageError(f"--seeds wants A-B or one number: {error}") from error
    return [replace(plan, seed=seed) for each in found for seed in each]


def members(judged: "JudgedSeed") -> dict[str, object]:
    """A run that broke, for scripts."""
    finding, report = judged.finding, judged.report
    assert finding is not None
    return {
        "seed": report.seed,
        "property": finding.number,
        "check": finding.check,
        "text": finding.text,
        "nodes": report.nodes,
        "events": report.events,
        "strikes": {str(number): kind for number, kind in report.strikes.items()},
        "replay": judged.command,
        "evidence": list(finding.evidence),
    }


def _names(given: str) -> tuple[str, ...]:
    return tuple(sorted({name.strip() for name in given.split(",") if name.strip()}))


def _strikes(given: str | None) -> tuple[int, ...] | None:
    if given is None:
        return None
    names = () if given == "none" else _names(given)
    if not all(name.isdigit() for name in names):
        raise click.UsageError(f"--strikes wants numbers with commas, or `none`, not {given!r}")
    return tuple(sorted(int(name) for name in names))


_OPTIONS = (
    click.option("--nodes", type=click.IntRange(1, 9), help="How many nodes.  [default: drawn]"),
    click.option(
        "--events", type=click.IntRange(1), help="How long faults are injected, in events."
    ),
    click.option("--clients", type=click.IntRange(1, 99), help="How many clients."),
    click.option("--keys", type=click.IntRange(1, 99), help="How many keys of every space."),
    click.option(
        "--without",
        default="",
        metavar="NAMES",
        help="Faults and operations to leave out: a comma list; `list` prints their names.",
    ),
    click.option(
        "--only",
        default="",
        metavar="NAMES",
        help="Inject only these kinds of faults: a comma list; `list` prints their names.",
    ),
    click.option(
        "--strikes", metavar="NUMBERS", help="Inject only the faults with these numbers, or `none`."
    ),
    mutant_option("Switch a safety rule off; `list` prints their names."),
)
