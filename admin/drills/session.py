"""Runs a drill in a new lab or on a cluster, and writes the report to a directory."""

from dataclasses import dataclass
from pathlib import Path

from admin.cluster import settling, surveys
from admin.drills import evidence, expectations, preflight, report, spaces
from admin.drills.expectations import JudgedRun
from admin.drills.hooks.cluster import HookedCluster
from admin.drills.model import Drill
from admin.drills.place import DrillPlace
from admin.drills.record import RunEnd
from admin.drills.runner import UP_S_MAX, DrillObserver, DrillRunner
from admin.drills.targets import Names
from admin.drills.verbs.catalogue import commands
from admin.evidence.stored import compare_stored
from admin.lab import lab, new_directory, secure
from admin.lab.lab import Lab
from admin.lab.tags import ALLOWED_TAGS
from qsync.client import security
from qsync.client.blocking import connect

LAB = "lab"
"""The folder, in the directory of a run, of the lab that was made for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillSetup:
    """Where to run it. `target`: a running cluster; else a lab of `nodes` nodes is made.

    `keep`: do not remove the made lab. `links`: it has a proxy between its nodes. `secure`: it uses
    TLS and has users; drills of certificates need it. `record`: write evidence and reports, of this
    `source` and from this `command`. `drill`: the name that the user gave, such as the path of a
    file; if empty, the drill's name.
    """

    out: Path
    nodes: int = 3
    target: DrillPlace | None = None
    keep: bool = False
    links: bool = True
    secure: bool = False
    record: bool = True
    source: str = "drill"
    command: str | None = None
    drill: str = ""


def run(drill: Drill, plan: DrillSetup, observer: DrillObserver) -> JudgedRun:
    """Run it, write evidence and reports. A lab made for it is removed unless kept."""
    new_directory.check_new(plan.out, hint="name a new directory with --out")
    with new_directory.made(plan.out):
        out = plan.out.absolute()
        place = plan.target or _make(drill, out / LAB, plan)
        if isinstance(place, HookedCluster):
            with new_directory.made(place.dir):
                return _run_by_hooks(place, drill, plan, observer, out)
        with security.assumed(secure.client_tls(place.dir)):
            return _run_on(place, drill, plan, observer, out)


def _run_by_hooks(
    place: HookedCluster, drill: Drill, plan: DrillSetup, observer: DrillObserver, out: Path
) -> JudgedRun:
    """Run it on a running cluster, where only hooks start and stop nodes."""
    judged = expectations.judge(DrillRunner(drill, place, observer).run())
    command = plan.command or _hooks_command(drill, place, plan)
    evidence.save_all(judged.run, place, out, source=plan.source, command=command)
    report.write(judged, out)
    if judged.end is not RunEnd.NOT_HEALED:
        with connect(place.addresses, timeout=UP_S_MAX) as client:
            spaces.clean(place, client)
    return judged


def _run_on(
    place: Lab, drill: Drill, plan: DrillSetup, observer: DrillObserver, out: Path
) -> JudgedRun:
    healed = False
    try:
        place.start_all()
        if plan.target is None:
            _settle(place)
        judged = expectations.judge(DrillRunner(drill, place, observer).run())
        if plan.record:
            command = plan.command or _command(drill, place, plan)
            evidence.save_all(judged.run, place, out, source=plan.source, command=command)
            report.write(judged, out)
        healed = judged.end is not RunEnd.NOT_HEALED
    finally:
        if plan.target is None:
            # Faults that could not be undone stay, for an operator to inspect.
            place.stop_all()
            if healed and plan.record:
                compare_stored(out, place.directories)
            if healed and not plan.keep:
                place.remove()
    return judged


def _settle(place: Lab) -> None:
    """A new lab must be healthy before the drill; on a busy machine that takes a while."""
    if secure.is_secure(place.dir):
        settling.wait_writable(place.addresses, timeout=UP_S_MAX)
        secure.have_users(place.dir, place.addresses)
    settling.wait_writable(place.addresses, timeout=UP_S_MAX, settle=UP_S_MAX)


def preview(drill: Drill, target: DrillPlace | None, nodes: int) -> tuple[Names, list[str]]:
    """Return targets and timeline without any change; with hooks, their commands."""
    leader = None
    if target is not None:
        found = surveys.survey(target.addresses)
        leader = None if found.leader is None else found.leader.name
        names = preflight.preview(drill, target, nodes, leader)
        preflight.allow(drill, target, names, found)
    else:
        names = preflight.preview(drill, None, nodes, None)
    lines = preflight.timeline(drill, names)
    if isinstance(target, HookedCluster):
        parts = commands(drill, target, names, leader)
        lines = [text for line, part in zip(lines, parts, strict=True) for text in (line, *part)]
    return names, lines


def _make(drill: Drill, directory: Path, plan: DrillSetup) -> Lab:
    events = {} if plan.record else {"node.events": "false"}
    options = {"cluster.tag": ALLOWED_TAGS[0]} | events | dict(drill.options)
    return lab.create(
        directory,
        name=LAB,
        nodes=plan.nodes,
        options=options,
        links=plan.links,
        secure=plan.secure or preflight.needs_certificates(drill),
    )


def _hooks_command(drill: Drill, place: HookedCluster, plan: DrillSetup) -> str:
    said = f"qsync drill run {plan.drill or drill.name} --hooks {place.file.path}"
    return f"{said} --confirm {place.name} --seed {drill.seed}"


def _command(drill: Drill, place: Lab, plan: DrillSetup) -> str:
    said = (
        f"qsync drill run {plan.drill or drill.name} --nodes {len(place.nodes)} --seed {drill.seed}"
    )
    told = secure.is_secure(place.dir) and not preflight.needs_certificates(drill)
    return f"{said} --secure" if told else said
