"""`qsync soak`: run many seeds of the simulator, and resume where it stopped."""

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from cli.examples import examples
from cli.exits import CheckFailed
from cli.options import FILE_PATH, json_option
from cli.output import document, say, style, text
from cli.plans import PlanOptions, jobs_option, lists, members, plan_of, plan_options, plans_of
from cli.progress_line import ProgressLine

if TYPE_CHECKING:
    from admin.soak.judge import Judge
    from admin.soak.soak import Failure, Soak

_SEEDS = "1-2000"
_LAST_LINES = 60


@click.command(
    epilog=examples(
        "# after Ctrl-C the same command continues where it stopped",
        "qsync soak --seeds 1-100000 --resume soak.json",
    )
)
@click.option("--seeds", default=_SEEDS, show_default=True, metavar="A-B,C", help="Range of seeds.")
@plan_options
@jobs_option
@click.option(
    "--resume",
    type=FILE_PATH,
    help="File of results; seeds in it are not run again.",
)
@click.option(
    "--corpus",
    type=FILE_PATH,
    help="Run the seeds of this file first; keep there the few that reach most of what is rare.",
)
@click.option(
    "--evidence", is_flag=True, help="Also check the evidence of each run, as `qsync check` does."
)
@click.option("--keep-going", is_flag=True, help="Go on after a failure.")
@click.option(
    "--shrink",
    type=click.IntRange(0),
    help="How many smaller runs to try after a failure.  [default: 300]",
)
@json_option
def soak(
    *,
    seeds: str,
    jobs: int,
    resume: Path | None,
    corpus: Path | None,
    evidence: bool,
    keep_going: bool,
    shrink: int | None,
    **given: Unpack[PlanOptions],
) -> None:
    """Run seeds until one breaks a property, then shrink that run.

    Checks what the simulator asserts and what its clients saw. Exit code 6 when a property broke,
    or when no run proved anything.
    """
    if lists(given):
        return
    from admin.soak import code  # noqa: PLC0415 - imports the whole database
    from admin.soak.corpus import Corpus  # noqa: PLC0415 - the same
    from admin.soak.ledger import RegisterFile, SeedSetup  # noqa: PLC0415 - the same
    from admin.soak.progress import SoakProgress  # noqa: PLC0415 - the same
    from admin.soak.shrink import TRIES_MAX  # noqa: PLC0415 - the same
    from admin.soak.soak import Soak  # noqa: PLC0415 - the same

    plan = plan_of(given)
    kept = None if corpus is None else Corpus(corpus, plan.options())
    plans = plans_of(plan, seeds)
    first = [] if kept is None else kept.load()
    plans = [replace(plan, seed=seed) for seed in first] + [p for p in plans if p.seed not in first]
    book = RegisterFile(resume, SeedSetup.of(code.version(), plan, evidence=evidence))
    known = sum(book.ledger.known(each.seed) for each in plans)
    if book.others:
        say(f"{resume} has results of other code or options; they are kept and not counted")
    line = ProgressLine()
    work = Soak(
        plans=plans,
        judge=_judge(evidence=evidence, covers=kept is not None),
        corpus=kept,
        book=book,
        progress=SoakProgress(total=len(plans), known=known, now=time.monotonic),
        jobs=jobs,
        keep_going=keep_going,
        tries_max=TRIES_MAX if shrink is None else shrink,
        told=line.tell,
    )
    try:
        failures = work.run()
    except KeyboardInterrupt:
        line.end()
        say(work.progress.describe())
        if resume is not None:
            say(f"what is known is saved; the same command with --resume {resume} goes on")
        raise
    line.end()
    _conclude(work, failures)


def _judge(*, evidence: bool, covers: bool) -> "Judge":
    from admin.soak import corpus, judge  # noqa: PLC0415 - imports the whole database
    from admin.soak import evidence as proofs  # noqa: PLC0415 - the same

    if evidence:
        return partial(proofs.judge, covers=covers)
    return corpus.judge if covers else judge.judge


def _conclude(work: "Soak", failures: "list[Failure]") -> None:
    ledger, progress = work.book.ledger, work.progress
    if style().as_json:
        document(
            "soak",
            seeds=progress.total,
            run=progress.done,
            known=progress.known,
            code=ledger.way.code,
            events=ledger.events,
            facts=ledger.facts,
            undecided=len(ledger.undecided),
            inconclusive=len(ledger.inconclusive),
            broken=[
                {"found": members(each.found), "small": members(each.small)} for each in failures
            ],
        )
    else:
        say(
            f"{progress.describe()}; {ledger.events} events, {ledger.facts} facts, "
            f"code {ledger.way.code}"
        )
        for each in failures:
            _show(each)
    if failures:
        finding = failures[0].small.finding
        assert finding is not None
        raise CheckFailed(f"seed {failures[0].found.report.seed}: {finding.text}")
    if not ledger.held:
        raise CheckFailed("inconclusive: no run proved anything", hint="run more seeds")


def _show(failure: "Failure") -> None:
    """The shortened run, and how to have it again: the one line of stdout."""
    from qsync.sim.run import run  # noqa: PLC0415 - imports the whole database
    from qsync.sim.trace import HEADING  # noqa: PLC0415 - the same

    found, small, finding = failure.found.report, failure.small.report, failure.small.finding
    assert finding is not None
    say(failure.found.describe())
    if small.plan != found.plan:
        say(
            f"made small: {found.nodes} to {small.nodes} nodes, {found.events} to {small.events} "
            f"events, {len(found.strikes)} to {len(small.strikes)} strikes, "
            f"{found.clients} to {small.clients} clients, {found.keys} to {small.keys} keys"
        )
    for number, kind in small.strikes.items():
        say(f"  strike {number}: {kind}")
    proof = finding.evidence
    if HEADING in proof:
        proof = proof[: proof.index(HEADING)]  # the trace follows anyway, and more of it
    for line in (HEADING, *run(small.plan).trace.lines(_LAST_LINES), *proof, finding.text):
        say(line)
    text(failure.small.command)
