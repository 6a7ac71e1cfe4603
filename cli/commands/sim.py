"""`qsync sim`: a whole cluster in one thread, from one seed, with everything that can go wrong."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from cli import lives
from cli.examples import examples
from cli.exits import CheckFailed
from cli.explorations import explore
from cli.options import DIRECTORY_PATH, Duration, json_option
from cli.output import document, say, style, text
from cli.plans import PlanOptions, jobs_option, lists, members, plan_of, plan_options, plans_of
from qsync.units import how_many

if TYPE_CHECKING:
    from admin.soak.judge import Judge, JudgedSeed
    from qsync.sim.plan import Plan

_SEEDS = "1-100"
_LAST_LINES = 200
_SAY_EVERY = 20


@click.command(
    epilog=examples(
        "qsync sim --seeds 1-200",
        "qsync sim --replay 17",
        "qsync sim --mutant list",
        "qsync sim --mutant validation_skipped --seeds 1-400",
        "qsync sim --replay 17 --bundle runs",
        "qsync sim --explore quick",
    )
)
@click.option("--seeds", default=_SEEDS, show_default=True, metavar="A-B", help="Range of seeds.")
@plan_options
@jobs_option
@click.option(
    "--check/--no-check",
    default=True,
    show_default=True,
    help="Check the clients' histories as well.",
)
@click.option("--replay", "seed", type=int, metavar="SEED", help="Run one seed, print its trace.")
@click.option(
    "--bundle",
    type=DIRECTORY_PATH,
    metavar="DIR",
    help="Leave the evidence of every run in DIR/seed-N, for `qsync check`.",
)
@click.option(
    "--last",
    type=click.IntRange(1),
    default=_LAST_LINES,
    show_default=True,
    help="Print only the last lines of the trace, this many.",
)
@click.option(
    "--explore",
    "scope",
    metavar="SCOPE",
    help="Explore every order of events of a small cluster: `quick`, `all`, or a name; "
    "`list` names them.",
)
@click.option(
    "--life",
    type=Duration(),
    metavar="DURATION",
    help="Simulate each cluster for this long instead of half a minute: 7d, 12h.",
)
@click.option(
    "--states-max", type=click.IntRange(1), help="Maximum number of states that --explore visits."
)
@json_option
def sim(
    *,
    scope: str | None,
    states_max: int | None,
    life: float | None,
    seeds: str,
    jobs: int,
    check: bool,
    seed: int | None,
    last: int,
    bundle: Path | None,
    **given: Unpack[PlanOptions],
) -> None:
    """Run seeds of the deterministic simulator; exit with 6 when a property breaks.

    With --mutant a safety rule is switched off, and 6 means that the properties caught it.
    With --life a line is printed for every few hours that a cluster has lived.
    With --explore 0 means that no state is left; 7 that there were more than --states-max.
    """
    if lists(given):
        return
    if scope is not None and life is None:
        explore(scope, mutant=given["mutant"], states_max=states_max)
        return
    plan = plan_of(given)
    if life is not None:
        lives.refuse({"events": given["events"], "explore": scope, "bundle": bundle})
        chosen = [replace(plan, seed=seed)] if seed is not None else plans_of(plan, seeds)
        lives.live(lives.of_life(chosen, life), check=check)
        return
    if seed is not None:
        _conclude([_replay(replace(plan, seed=seed), last, bundle, check=check)])
    else:
        _conclude(_run(plans_of(plan, seeds), _judge(bundle, check=check), jobs))


def _judge(bundle: Path | None, *, check: bool) -> "Judge":
    from admin.soak.judge import glance, judge  # noqa: PLC0415 - imports the whole database
    from admin.soak.keep import kept  # noqa: PLC0415 - the same

    if bundle is not None:
        return partial(kept, folder=bundle, check=check)
    return judge if check else glance


def _replay(plan: "Plan", last: int, bundle: Path | None, *, check: bool) -> "JudgedSeed":
    from admin.soak.judge import asserted, look  # noqa: PLC0415 - imports the whole database
    from admin.soak.keep import played  # noqa: PLC0415 - the same
    from qsync.sim.run import run  # noqa: PLC0415 - the same
    from qsync.sim.trace import HEADING  # noqa: PLC0415 - the same

    done = run(plan) if bundle is None else played(plan, bundle)
    if not style().as_json:
        text(HEADING)
        for line in done.trace.lines(last):
            text(line)
    return look(done) if check else asserted(done)


def _run(plans: "list[Plan]", judge: "Judge", jobs: int) -> "list[JudgedSeed]":
    from admin.soak.judge import SeedConclusion  # noqa: PLC0415 - imports the whole database
    from admin.soak.pool import judged  # noqa: PLC0415 - the same

    found: list[JudgedSeed] = []
    for each in judged(plans, judge, jobs=min(jobs, len(plans))):
        found.append(each)
        if not style().as_json:
            if each.conclusion is SeedConclusion.BROKEN:
                text(each.describe())
            elif each.report.seed % _SAY_EVERY == 0:
                say(each.describe())
        if each.finding is not None and each.report.plan.mutant is not None:
            break
    return sorted(found, key=lambda each: each.report.seed)


def _conclude(found: "list[JudgedSeed]") -> None:
    from admin.soak.judge import SeedConclusion  # noqa: PLC0415 - imports the whole database

    broken = [each for each in found if each.conclusion is SeedConclusion.BROKEN]
    idle = [each for each in found if each.conclusion is SeedConclusion.INCONCLUSIVE]
    events = sum(each.report.events for each in found)
    facts = sum(each.facts for each in found)
    if style().as_json:
        document(
            "sim",
            mutant=found[0].report.plan.mutant if found else None,
            seeds=len(found),
            events=events,
            facts=facts,
            virtual_seconds=sum(each.report.virtual_seconds for each in found),
            seconds=sum(each.report.seconds for each in found),
            broken=[members(each) for each in broken],
            inconclusive=[each.report.seed for each in idle],
            undecided=[each.report.seed for each in found if each.undecided],
            digests={each.report.seed: each.report.digest for each in found},
        )
    else:
        say(
            f"{how_many(len(found), 'seed')}, {events} events, "
            f"{facts} facts that clients saw, "
            f"{len(broken)} broken, {len(idle)} inconclusive"
        )
    if broken:
        _complain(broken[0])
    if len(idle) == len(found):
        why = idle[0].report.idle if idle else "nothing was run"
        raise CheckFailed(f"inconclusive: {why}", hint="run more seeds, or more events")


def _complain(first: "JudgedSeed") -> None:
    assert first.finding is not None
    if not style().as_json:
        for line in first.finding.evidence:
            say(line)
        text(first.command)
    raise CheckFailed(f"seed {first.report.seed}: {first.finding.text}")
