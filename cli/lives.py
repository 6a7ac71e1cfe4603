"""`qsync sim --life`: clusters that live for simulated days, and how they are getting on."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from cli.exits import CheckFailed
from cli.output import document, say, style, text
from cli.plans import members

if TYPE_CHECKING:
    from admin.soak.judge import JudgedSeed
    from qsync.sim.longlife.life import Period
    from qsync.sim.plan import Plan

_SHOWN = (
    ("acknowledged", "writes"),
    ("strikes", "strikes"),
    ("terms led", "elections"),
    ("changes of members", "changes of members"),
    ("restores", "restores"),
    ("recoveries", "recoveries"),
    ("restored backups", "restored backups"),
    ("logs trimmed", "trims"),
)
"""What a line counts, and how it calls it."""
_NOT_WITH = ("events", "explore", "bundle")


@dataclass(frozen=True, slots=True, kw_only=True)
class LivedSeed:
    """A life up to its end, or to what broke. `facts`: what of what clients saw was judged."""

    judged: "JudgedSeed"
    period: "Period"
    facts: int
    undecided: Sequence[str]
    inconclusive: int
    """Periods that prove nothing."""
    seconds: float


def refuse(given: Mapping[str, object]) -> None:
    """Raises UsageError for options that do not go with --life."""
    for name in _NOT_WITH:
        if given.get(name) is not None:
            raise click.UsageError(f"--life and --{name} do not go together")


def live(plans: "Sequence[Plan]", *, check: bool) -> None:
    """One life after the other, until one breaks a property; raises CheckFailed then."""
    lived: list[LivedSeed] = []
    for plan in plans:
        lived.append(_lived(plan, check=check))
        if lived[-1].judged.finding is not None:
            break
    if style().as_json:
        document("life", mutant=plans[0].mutant, lives=[_members(each) for each in lived])
    last = lived[-1]
    if last.judged.finding is not None:
        _complain(last)
    if all(each.period.totals.get("acknowledged", 0) == 0 for each in lived):
        raise CheckFailed("inconclusive: no write was acknowledged", hint="live longer")


def _lived(plan: "Plan", *, check: bool) -> LivedSeed:
    from admin.soak.judge import SeedConclusion, asserted, look  # noqa: PLC0415 - whole database
    from qsync.sim.longlife.life import LongLife  # noqa: PLC0415 - the same

    began, facts, idle = time.perf_counter(), 0, 0
    undecided: list[str] = []
    found: LivedSeed | None = None
    for period in LongLife(plan).periods():
        judged = look(period.run) if check else asserted(period.run)
        facts += judged.facts
        idle += judged.conclusion is SeedConclusion.INCONCLUSIVE
        undecided += [f"period {period.number}: {each}" for each in judged.undecided]
        found = LivedSeed(
            judged=judged,
            period=period,
            facts=facts,
            undecided=undecided,
            inconclusive=idle,
            seconds=time.perf_counter() - began,
        )
        _tell(found)
        if judged.finding is not None:
            break
    assert found is not None
    return found


def _tell(lived: LivedSeed) -> None:
    """One line about how it goes."""
    totals = lived.period.totals
    counts = ", ".join(f"{totals.get(name, 0)} {shown}" for name, shown in _SHOWN)
    verdict = "held" if lived.judged.finding is None else "BROKEN"
    line = (
        f"seed {lived.judged.report.seed}, period {lived.period.number}: "
        f"{_clock(lived.period.at)} lived in {lived.seconds:.0f} s, {counts}, "
        f"{lived.facts} facts: {verdict}"
    )
    say(line) if style().as_json else text(line)


def _clock(seconds: float) -> str:
    """Days and hours."""
    minutes = int(seconds // 60)
    return f"{minutes // 1440}d {minutes // 60 % 24:02d}:{minutes % 60:02d}"


def _members(lived: LivedSeed) -> dict[str, object]:
    """For scripts."""
    report = lived.judged.report
    return {
        "seed": report.seed,
        "virtual_seconds": lived.period.at,
        "seconds": lived.seconds,
        "periods": lived.period.number,
        "inconclusive": lived.inconclusive,
        "facts": lived.facts,
        "undecided": list(lived.undecided),
        "totals": lived.period.totals,
        "largest": lived.period.largest,
        "digest": report.digest,
        "replay": report.plan.command(),
        "broken": None if lived.judged.finding is None else members(lived.judged),
    }


def _complain(lived: LivedSeed) -> None:
    finding, report = lived.judged.finding, lived.judged.report
    assert finding is not None
    if not style().as_json:
        for line in finding.evidence:
            say(line)
        text(report.plan.command())
    raise CheckFailed(
        f"seed {report.seed}, after {_clock(lived.period.at)} "
        f"({lived.period.at:.3f} virtual s): {finding.text}"
    )


def of_life(plans: "Sequence[Plan]", seconds: float) -> "list[Plan]":
    """The same plans, each for a life of so many seconds."""
    return [replace(each, life=seconds) for each in plans]
