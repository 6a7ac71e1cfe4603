"""`qsync sim`: a whole cluster in one thread, from one seed, with everything that can go wrong."""

import os
from typing import TYPE_CHECKING

import click

from cli.exits import CheckFailed
from cli.options import json_option
from cli.output import document, say, style, text

if TYPE_CHECKING:
    from qsync.sim.run import Report

_SEEDS = "1-100"
_LAST_LINES = 200


@click.command(
    epilog="Example: qsync sim --seeds 1-200; qsync sim --replay 17; qsync sim --mutant list; "
    "qsync sim --mutant no-fsync --seeds 1-400"
)
@click.option("--seeds", default=_SEEDS, show_default=True, metavar="A-B", help="Which seeds.")
@click.option("--nodes", type=click.IntRange(1, 9), help="How many nodes.  [default: by the seed]")
@click.option("--events", type=click.IntRange(1), help="How long things break, in events.")
@click.option("--mutant", metavar="NAME", help="Switch a safety rule off; `list` names them.")
@click.option("--jobs", type=click.IntRange(1), help="Processes.  [default: one a processor]")
@click.option("--replay", "seed", type=int, metavar="SEED", help="Run one seed, print its trace.")
@click.option("--last", type=click.IntRange(1), default=_LAST_LINES, help="Lines of the trace.")
@json_option
def sim(
    *,
    seeds: str,
    nodes: int | None,
    events: int | None,
    mutant: str | None,
    jobs: int | None,
    seed: int | None,
    last: int,
) -> None:
    """Run seeds of the deterministic simulator; exit with 6 when a property breaks.

    With --mutant a safety rule is switched off, and 6 means that the properties caught it.
    """
    from qsync.sim import run  # noqa: PLC0415 - imports the whole database

    names = run.mutant_names()
    if mutant == "list":
        for name in names:
            text(name)
        return
    if mutant is not None and mutant not in names:
        raise click.UsageError(f"there is no mutant {mutant!r}; `qsync sim --mutant list`")
    length = run.EVENTS if events is None else events
    if seed is not None:
        replayed = run.replay(seed, nodes=nodes, mutant=mutant, events=length, last=last)
        if not style().as_json:
            text(replayed.heading)
            for line in replayed.lines:
                text(line)
        reports = [replayed.report]
    else:
        first, until = _range(seeds)
        reports = run.main_seeds(
            range(first, until + 1),
            nodes=nodes,
            mutant=mutant,
            events=length,
            jobs=min(jobs or os.cpu_count() or 1, until - first + 1),
            progress=None if style().as_json else _progress,
            stop_at_first=mutant is not None,
        )
    _conclude(reports, mutant)


def _range(seeds: str) -> tuple[int, int]:
    first, dash, last = seeds.partition("-")
    if not first.isdigit() or (dash and not last.isdigit()):
        raise click.UsageError(f"--seeds wants A-B or one number, not {seeds!r}")
    until = int(last) if dash else int(first)
    if until < int(first):
        raise click.UsageError(f"--seeds {seeds}: the last comes before the first")
    return int(first), until


def _progress(report: "Report") -> None:
    if not report.held:
        text(report.describe())
    elif report.seed % 20 == 0:
        say(report.describe())


def _conclude(reports: "list[Report]", mutant: str | None) -> None:
    broken = [report for report in reports if report.broken is not None]
    if style().as_json:
        document(
            "sim",
            mutant=mutant,
            seeds=len(reports),
            events=sum(report.events for report in reports),
            virtual_seconds=sum(report.virtual_seconds for report in reports),
            seconds=sum(report.seconds for report in reports),
            broken=[_members(report) for report in broken],
            digests={report.seed: report.digest for report in reports},
        )
    else:
        events = sum(report.events for report in reports)
        say(f"{len(reports)} seeds, {events} events, {len(broken)} broken")
    if not broken:
        return
    first = broken[0]
    assert first.broken is not None
    if not style().as_json:
        for line in first.broken.evidence:
            say(line)
    again = f"qsync sim --replay {first.seed}" + (f" --mutant {mutant}" if mutant else "")
    raise CheckFailed(f"seed {first.seed}: {first.broken.text}", hint=again)


def _members(report: "Report") -> dict[str, object]:
    assert report.broken is not None
    return {
        "seed": report.seed,
        "property": report.broken.number,
        "text": report.broken.text,
        "nodes": report.nodes,
        "evidence": list(report.broken.evidence),
    }
