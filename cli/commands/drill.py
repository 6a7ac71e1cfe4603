"""`qsync drill`: break a cluster on purpose, watch it, mend it, and judge what it did."""

import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admin.drills import kinds, preflight, reader
from admin.drills.failures import DrillNotHealed, DrillStopped
from admin.drills.model import Drill
from admin.lab import lab as labs
from admin.lab import names as lab_names
from admin.lab.lab import Lab
from cli import completions, drill_places
from cli.ending import interrupted_politely
from cli.examples import examples
from cli.exits import CheckFailed
from cli.options import (
    DIRECTORY_PATH,
    FILE_PATH,
    json_option,
    mutant_option,
    settings_option,
)
from cli.output import content, document, json_schema, names, say, style, text
from qsync.disk_errors import naming
from qsync.errors import ConfigError

if TYPE_CHECKING:
    from admin.drills.expectations import JudgedRun
    from admin.drills.place import DrillPlace

_HOOKS = click.option(
    "--hooks",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Run on a real cluster, with the commands of this file.",
)
_DRILL = click.argument("drill", metavar="DRILL", shell_complete=completions.drills)


@click.group(
    epilog=examples("# then open run/report.html", "qsync drill run leader-kill --out run")
)
def drill() -> None:
    """Rehearse failures from the catalogue or from a file of your own."""


@drill.command(name="list", epilog="Example: qsync drill list --json")
@json_option
def list_() -> None:
    """List the drills of the catalogue, by what they break first."""
    found = kinds.by_kind(reader.load(reader.find(name)) for name in reader.names())
    if style().as_json:
        rows = [
            {
                "name": each.name,
                "kind": kind,
                "title": each.title,
                "needs": preflight.needs(each),
                "not_simulated": preflight.not_simulated(each),
            }
            for kind, drills in found.items()
            for each in drills
        ]
        document("drills", drills=rows)
        return
    for number, (kind, drills) in enumerate(found.items()):
        text(("\n" if number else "") + f"{kind.capitalize()}:")
        for each in drills:
            text(f"  {each.name:<28} {each.title}  [{_needs(each)}]")
    say("in brackets: what the cluster must have; `qsync drill show DRILL` prints a drill's file")


def _needs(drill: Drill) -> str:
    real = preflight.not_simulated(drill)
    return ", ".join(
        preflight.needs(drill) + ([f"no --simulate: {', '.join(real)}"] if real else [])
    )


@drill.command(epilog="Example: qsync drill show leader-kill > mine.yaml")
@_DRILL
@json_option
def show(*, drill: str) -> None:
    """Print the file of a drill, to read it or to start your own from it."""
    path = reader.find(drill)
    content("drill-file", reader.load(path).name, path.read_text("utf-8"))


@drill.command(
    epilog=examples(
        "qsync drill lint mine.yaml",
        "# for editors",
        "qsync drill lint --schema > drill.schema.json",
    )
)
@click.argument("files", nargs=-1, metavar="[DRILL]...", shell_complete=completions.drills)
@click.option("--schema", is_flag=True, help="Print the JSON Schema of drill files instead.")
@json_option
def lint(*, files: tuple[str, ...], schema: bool) -> None:
    """Check drill files without running them. Problems name line and column."""
    if schema:
        from admin.drills.schema import schema as describe  # noqa: PLC0415 - only here

        json_schema("drill-schema", describe())
        return
    if not files:
        raise click.UsageError("which drill? A file, or a name of the catalogue.")
    said = {file: preflight.complaints(reader.load(reader.find(file))) for file in files}
    if style().as_json:
        document("drill-lint", files=[{"file": f, "complaints": c} for f, c in said.items()])
    else:
        for file, complaints in said.items():
            text(f"{file}: {'; '.join(complaints) if complaints else 'fine'}")
    if any(said.values()):
        raise CheckFailed("some drills can be read, but are likely to be wrong")


@drill.command(
    epilog=examples("qsync drill hooks systemd > hooks.yaml", "qsync drill hooks hooks.yaml")
)
@click.argument("file", required=False, metavar="[PRESET|FILE]", shell_complete=completions.hooks)
@json_option
def hooks(*, file: str | None) -> None:
    """Print a file of hooks to begin with, or check one of your own.

    Hooks are the commands by which a drill reaches a real cluster, such as `ssh HOST systemctl`.
    """
    from admin.drills.hooks import reader as hook_reader  # noqa: PLC0415 - only here

    if file is None:
        names("drill-hooks.presets", hook_reader.presets())
    elif file in hook_reader.presets():
        content("drill-hooks.preset", file, hook_reader.preset(file).read_text("utf-8"))
    elif not Path(file).exists():
        raise ConfigError(
            f"{file} is no file, and no preset either; there are {', '.join(hook_reader.presets())}"
        )
    else:
        found = hook_reader.load(Path(file))
        if style().as_json:
            document(
                "drill-hooks",
                cluster=found.cluster,
                nodes=[each.name for each in found.nodes],
                actions=sorted(found.hooks),
            )
        else:
            text(f"{file}: fine; {len(found.nodes)} nodes of the cluster {found.cluster}")
            text(f"actions: {', '.join(sorted(found.hooks))}")


@drill.command(epilog="Example: qsync drill run leader-kill --nodes 5 --out ./run --repeat 20")
@_DRILL
@click.option(
    "--out",
    type=DIRECTORY_PATH,
    metavar="DIR",
    help="A new directory for report and evidence. [default: a temporary one]",
)
@click.option(
    "--nodes",
    type=click.IntRange(1, labs.NODES_MAX),
    default=3,
    show_default=True,
    help="How many nodes a new lab has.",
)
@click.option(
    "--target",
    help="Use an existing lab (name or directory) instead of a new one; with --hooks the cluster "
    "of the file, such as qsyncs://host1,host2/.",
)
@_HOOKS
@click.option(
    "--confirm", metavar="NAME", help="With --hooks: confirm the cluster's name, for scripts."
)
@click.option("--seed", type=int, help="Seed for the choice of targets and for the clients.")
@click.option(
    "--dry-run", is_flag=True, help="Show the resolved targets and the timeline, and run nothing."
)
@click.option(
    "--simulate", is_flag=True, help="Run in the simulator: virtual time, reproducible, fast."
)
@mutant_option("With --simulate: a safety rule switched off.")
@settings_option(
    "Override a value of the file, such as expect.rto.below=3s. Repeatable.", name="KEY"
)
@click.option("--repeat", type=click.IntRange(1, 1000), default=1, help="How many runs.")
@click.option(
    "--junit",
    type=FILE_PATH,
    metavar="FILE",
    help="Write the results as JUnit XML, for CI.",
)
@click.option("--secure", is_flag=True, help="Create the lab with TLS and users.")
@click.option("--keep", is_flag=True, help="Keep the lab after the run.")
@json_option
@interrupted_politely()
def run(
    *,
    drill: str,
    out: Path | None,
    nodes: int,
    target: str | None,
    hooks: Path | None,
    confirm: str | None,
    seed: int | None,
    dry_run: bool,
    simulate: bool,
    mutant: str | None,
    settings: dict[str, str],
    repeat: int,
    junit: Path | None,
    secure: bool,
    keep: bool,
) -> None:
    """Run a drill; exits with 0, or 6 when an expectation was missed, 7 stopped, 8 not healed."""
    from admin.drills import session  # noqa: PLC0415 - client and checker, only needed here
    from cli.render.drill import Lines  # noqa: PLC0415 - the same

    found = reader.load(reader.find(drill), settings)
    if hooks is not None and (simulate or secure or keep):
        raise click.UsageError("--hooks is for a cluster that is there: no lab, no simulator")
    if mutant is not None and not simulate:
        raise click.UsageError("--mutant needs --simulate: real nodes obey all rules")
    if simulate and (out or junit or target or dry_run):
        raise click.UsageError("--simulate leaves no files: no --out, --junit, --target, --dry-run")
    if seed is not None:
        found = replace(found, seed=seed)
    if simulate:
        _simulate(found, nodes, repeat, mutant)
        return
    there = drill_places.find_place(target, hooks)
    if dry_run:
        _dry_run(found, there, nodes)
        return
    if there is not None and not isinstance(there, Lab):
        drill_places.confirm_cluster(found, there, confirm)
    place = out or Path(tempfile.mkdtemp(prefix=f"qsync-drill-{found.name}-"))
    judged: list[JudgedRun] = []
    for number in range(repeat):
        here = place if repeat == 1 else place / f"{number + 1:03}"
        again = replace(found, seed=found.seed + number)
        plan = session.DrillSetup(
            out=here, nodes=nodes, target=there, secure=secure, keep=keep, drill=drill
        )
        judged.append(session.run(again, plan, Lines()))
        say(judged[-1].sentence)
    _conclude(judged, place, junit)


@drill.command(
    epilog=examples("qsync drill heal lab", "# the directory of a run", "qsync drill heal ./run")
)
@click.argument("target", required=False, metavar="[TARGET]")
@_HOOKS
@json_option
def heal(*, target: str | None, hooks: Path | None) -> None:
    """Undo the faults of a drill whose runner was killed.

    TARGET is a lab or the directory of a run. With --hooks it is the cluster of that file.
    """
    from admin.drills import healing  # noqa: PLC0415 - only here

    found = drill_places.find_place(target, hooks) or drill_places.find_lab(lab_names.DEFAULT_NAME)
    done = healing.heal(found)
    if style().as_json:
        document("drill-heal", lab=found.name, dir=found.dir, done=done)
    else:
        say(f"{found.name}: {', '.join(done) if done else 'nothing was left broken'}")


@drill.command(
    epilog=examples(
        "qsync drill run leader-kill --repeat 20 --out ./runs", "qsync drill summary ./runs"
    )
)
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@json_option
def summary(*, directory: Path) -> None:
    """Count the runs below a directory by drill and number of nodes; exits with 6 if one failed."""
    from admin.drills import reference  # noqa: PLC0415 - only here

    found = reference.collect(directory)
    if not found:
        raise ConfigError(f"{directory}: there is no drill report below it")
    if style().as_json:
        document("drill-summary", drills=[asdict(each) for each in found])
    else:
        for line in reference.summary(found):
            text(line)
    if failed := sum(each.runs - each.passed for each in found):
        raise CheckFailed(f"{failed} of {sum(each.runs for each in found)} runs did not pass")


@drill.command(epilog="Example: qsync drill compare ./before ./after --threshold 0.3")
@click.argument("before", type=click.Path(path_type=Path, exists=True))
@click.argument("after", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--threshold",
    type=click.FloatRange(0),
    default=0.25,
    show_default=True,
    help="How much a measure may grow, as a fraction of itself.",
)
@click.option(
    "--html",
    type=FILE_PATH,
    metavar="FILE",
    help="Write a page with both runs side by side, drawn on the same axes.",
)
@json_option
def compare(*, before: Path, after: Path, threshold: float, html: Path | None) -> None:
    """Compare two runs of a drill, or two series; exits with 6 if the second is worse."""
    from admin.drills import comparison, comparison_page  # noqa: PLC0415 - only here

    one, two = comparison.read_series(before), comparison.read_series(after)
    rows = comparison.compare(one, two, threshold)
    if html is not None:
        with naming(html):
            html.write_text(comparison_page.render(one, two, rows, threshold), "utf-8")
    if style().as_json:
        document("drill-compare", threshold=threshold, measures=[each.as_json() for each in rows])
    else:
        for each in rows:
            text(each.describe())
    if worse := [each.name for each in rows if each.worse]:
        raise CheckFailed(f"worse than before: {', '.join(worse)}")


def _dry_run(found: Drill, there: "DrillPlace | None", nodes: int) -> None:
    from admin.drills import session  # noqa: PLC0415 - only here

    names, timeline = session.preview(found, there, nodes)
    targets = {name: list(names[name]) for name in found.targets}
    if style().as_json:
        document("drill-plan", drill=found.name, targets=targets, timeline=timeline)
        return
    for name, nodes_of in targets.items():
        text(f"{name}: {', '.join(nodes_of)}")
    for line in timeline:
        text(line)


def _simulate(found: Drill, nodes: int, repeat: int, mutant: str | None) -> None:
    from admin.drills import simulating  # noqa: PLC0415 - the simulator, only needed here
    from admin.drills.record import RunEnd  # noqa: PLC0415 - only here

    seeds = range(found.seed, found.seed + repeat)
    runs = [
        simulating.simulate(replace(found, seed=seed), nodes=nodes, mutant=mutant) for seed in seeds
    ]
    if style().as_json:
        document("drill-simulation", drill=found.name, runs=[asdict(each) for each in runs])
    else:
        for each in runs:
            text(each.describe())
    failed = [each for each in runs if each.end is not RunEnd.PASSED]
    if failed:
        raise CheckFailed(f"{len(failed)} of {len(runs)} runs failed; {failed[0].describe()}")


def _conclude(judged: "list[JudgedRun]", place: Path, junit: Path | None) -> None:
    from admin.drills import comparison  # noqa: PLC0415 - only here
    from admin.drills.junit import render  # noqa: PLC0415 - only here
    from admin.drills.record import RunEnd  # noqa: PLC0415 - only here

    if junit is not None:
        with naming(junit):
            junit.write_text(render(judged), "utf-8")
    spread = comparison.spread([each.measures for each in judged])
    last = judged[-1]
    if style().as_json:
        document(
            "drill-run",
            drill=last.run.drill.name,
            verdicts=[each.end.value for each in judged],
            out=place,
            measures=dict(last.measures) if len(judged) == 1 else spread,
        )
    elif len(judged) > 1:
        for name, found in spread.items():
            text(f"{name:<20} " + "  ".join(f"{k} {v:.3f}" for k, v in found.items()))
    say(f"report: {place}")
    ends = [each.end for each in judged]
    bad = next((each for each in judged if each.end is not RunEnd.PASSED), last)
    if RunEnd.NOT_HEALED in ends:
        raise DrillNotHealed(bad.sentence)
    if RunEnd.INTERRUPTED in ends:
        raise KeyboardInterrupt
    if RunEnd.STOPPED in ends:
        raise DrillStopped(bad.sentence)
    if RunEnd.FAILED in ends:
        raise CheckFailed(bad.sentence)
