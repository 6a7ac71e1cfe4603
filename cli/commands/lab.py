"""`qsync lab`: a local cluster in the background, to break and mend."""

import contextlib
import shlex
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypedDict

import click
from click.core import ParameterSource

from admin.certs import ADMINISTRATOR
from admin.cluster import settling, surveys
from admin.cluster.surveys import ClusterSurvey
from admin.lab import lab as labs
from admin.lab import names as lab_names
from admin.lab.failures import LabExists, NotRunning
from admin.lab.lab import Lab, LabNode
from admin.lab.names import check_name, is_name
from admin.lab.secure import have_users, is_secure
from cli import targets
from cli.commands.faults import fault
from cli.commands.links import cut, heal, links, slow
from cli.examples import examples
from cli.options import DIRECTORY_PATH, json_option, settings_option, timeout_option
from cli.output import document, say, style, text
from cli.render.lab import line_of, row_of, state_of
from qsync.default_port import DEFAULT_PORT
from qsync.errors import QsyncError


class EndedLab(TypedDict):
    """A lab that was ended."""

    name: str
    dir: str
    stopped: list[str]
    removed: bool


_SIGNALS = {name: getattr(signal, f"SIG{name}") for name in ("KILL", "TERM", "INT", "STOP", "CONT")}
_NODES = 3
TAGGED = {"cluster.tag": "lab"}
"""A lab is there to be broken: drills may run on it, and arm the fault points of its nodes."""


@click.group(
    epilog=examples(
        "qsync lab up --nodes 3",
        "qsync status lab",
        "qsync lab kill n1",
        "qsync lab start n1",
        "qsync lab down",
    )
)
def lab() -> None:
    """Run a local cluster of real processes in the background."""


def _options(command: click.Command) -> None:
    """`--name`, `--dir` and `--json`, for all of them."""
    command.params += [
        click.Option(
            ["--name"], default=lab_names.DEFAULT_NAME, show_default=True, help="Name of the lab."
        ),
        click.Option(
            ["--dir", "directory"],
            type=DIRECTORY_PATH,
            help="Its directory. [default: below the state directory]",
        ),
    ]
    json_option(command)


@lab.command(epilog="Example: qsync lab up --nodes 5 --name big")
@click.option(
    "--nodes", type=click.IntRange(1, labs.NODES_MAX), help="Number of nodes.  [default: 3]"
)
@settings_option("An option of every node, such as election.timeout=300ms. Repeatable.")
@timeout_option("15s", "How long to wait for a leader.")
@click.option(
    "--direct", is_flag=True, help="No proxy between the nodes: faster, but links cannot be cut."
)
@click.option(
    "--secure",
    is_flag=True,
    help="Use TLS, with certificates of its own and a user named root.",
)
def up(
    *,
    nodes: int | None,
    settings: dict[str, str],
    direct: bool,
    secure: bool,
    timeout: float,
    name: str,
    directory: Path | None,
) -> None:
    """Create a lab or reuse the existing one, start its nodes, wait until it takes writes."""
    began = time.monotonic()
    label = name if directory is None else _register(name, directory)
    where = lab_names.place(name, directory)
    try:
        found = _make_or_load(where, label, nodes, settings, direct=direct, secure=secure)
    except BaseException:
        lab_names.unregister(where)  # where no lab came to be the name would lead there from now on
        raise
    found.start_all()
    survey = _wait(found.nodes, lambda: settling.wait_writable(found.addresses, timeout=timeout))
    verdict = surveys.judge(survey)
    if secure and have_users(where, found.addresses):
        say(f"you are {ADMINISTRATOR} by the certificate in {where / 'certs'}; others log in")
    seconds = time.monotonic() - began
    if style().as_json:
        document(
            "lab",
            name=found.name,
            dir=found.dir,
            leader=verdict.leader,
            seconds=seconds,
            nodes=[row_of(node) for node in found.nodes],
        )
    else:
        _table(found)
        say(f"{verdict.sentence} ({seconds:.1f} s)")


@lab.command(epilog=examples("qsync lab down --remove", "qsync lab down --all"))
@click.option("--remove", is_flag=True, help="Delete its directory too.")
@click.option("--all", "every", is_flag=True, help="Every lab that `qsync lab list` shows.")
def down(*, remove: bool, every: bool, name: str, directory: Path | None) -> None:
    """End every process of the lab."""
    if every:
        places = map(lab_names.place, lab_names.known())
        ended = [_end(labs.load(each), remove=remove) for each in places]
    else:
        ended = [_end(_load(name, directory), remove=remove)]
    if style().as_json:
        document("lab", **(ended[0] if not every else {"labs": ended}))
        return
    for each in ended:
        gone = f", {each['dir']} deleted" if remove else ""
        say(f"{each['name']}: {len(each['stopped'])} stopped{gone}")
    if not ended:
        say("there is no lab")


def _end(found: Lab, *, remove: bool) -> "EndedLab":
    running = [node.name for node in found.nodes if node.process is not None]
    found.stop_all()
    if remove:
        found.remove()
    return {"name": found.name, "dir": str(found.dir), "stopped": running, "removed": remove}


@lab.command("list", epilog="Example: qsync lab list --json")
@json_option
def list_() -> None:
    """List all labs: how many of their nodes run, and where they are."""
    rows = [_lab_row(name, labs.load(lab_names.place(name))) for name in lab_names.known()]
    if style().as_json:
        document("labs", labs=rows)
        return
    for row in rows:
        text(f"{row['name']:<12} {row['running']} of {row['nodes']} nodes run  {row['dir']}")
    if not rows:
        say("there is no lab; `qsync lab up` makes one")


def _lab_row(name: str, found: Lab) -> dict[str, object]:
    running = [node for node in found.nodes if node.process is not None]
    return {
        "name": name,
        "dir": found.dir,
        "nodes": len(found.nodes),
        "running": len(running),
        "addresses": list(found.addresses),
    }


@lab.command(epilog="Example: qsync lab ps --json")
def ps(*, name: str, directory: Path | None) -> None:
    """List the nodes and their processes."""
    found = _load(name, directory)
    if style().as_json:
        document(
            "lab", name=found.name, dir=found.dir, nodes=[row_of(node) for node in found.nodes]
        )
    else:
        _table(found)


@lab.command(epilog="Example: qsync lab kill n1 --signal TERM")
@click.argument("node")
@click.option(
    "--signal",
    "kind",
    type=click.Choice(list(_SIGNALS), case_sensitive=False),
    default="KILL",
    show_default=True,
    help="The signal to send.",
)
def kill(*, node: str, kind: str, name: str, directory: Path | None) -> None:
    """Send a signal to one node; SIGKILL by default."""
    found = _load(name, directory)
    found.send(found.node(node), _SIGNALS[kind.upper()])
    _told(found, found.node(node), "signalled")


@lab.command(epilog="Example: qsync lab start n1")
@click.argument("node")
@timeout_option("15s", "How long to wait until it answers.")
def start(*, node: str, timeout: float, name: str, directory: Path | None) -> None:
    """Start one node again, and wait until it answers and has joined."""
    found = _load(name, directory)
    one = found.node(node)
    did = "started" if one.process is None else "ran already"
    if state_of(one) == "paused":
        raise NotRunning(f"{one.name} is paused", hint=f"`qsync lab resume {one.name}`")
    found.start(one)
    _wait_answers(one, timeout)
    _told(found, one, did)


@lab.command(
    epilog=examples(
        "qsync lab add", "# with the address that it prints", "qsync member add 127.0.0.1:14213"
    )
)
@timeout_option("15s", "How long to wait until it answers.")
def add(*, timeout: float, name: str, directory: Path | None) -> None:
    """Create and start one more node, which is not a member yet.

    It waits until `qsync member add` makes it one. The lab's proxy does not carry its links, so
    they cannot be cut.
    """
    found, one = labs.add_node(_load(name, directory))
    found.start(one)
    _wait_answers(one, timeout)
    _told(found, one, "added")
    say(f"make it a member with: qsync member add {one.address} --target {found.name}")


@lab.command(epilog="Example: qsync lab pause n1")
@click.argument("node")
def pause(*, node: str, name: str, directory: Path | None) -> None:
    """Pause the process of one node (SIGSTOP)."""
    found = _load(name, directory)
    found.pause(found.node(node))
    _told(found, found.node(node), "paused")


@lab.command(epilog="Example: qsync lab resume n1")
@click.argument("node")
def resume(*, node: str, name: str, directory: Path | None) -> None:
    """Resume a paused node."""
    found = _load(name, directory)
    found.resume(found.node(node))
    _told(found, found.node(node), "resumed")


@lab.command(epilog=examples("qsync lab kill n1", "qsync lab wipe n1", "qsync lab start n1"))
@click.argument("node")
def wipe(*, node: str, name: str, directory: Path | None) -> None:
    """Delete the data of a stopped node, as if its disk were new."""
    found = _load(name, directory)
    found.wipe(found.node(node))
    _told(found, found.node(node), "wiped")


_OF_LINKS = (cut, slow, heal, links, fault)
for _command in _OF_LINKS:
    lab.add_command(_command)
for _command in (up, down, ps, kill, start, add, pause, resume, wipe, *_OF_LINKS):
    _options(_command)


def _load(name: str, directory: Path | None) -> Lab:
    return targets.load_lab(lab_names.place(name, directory))


def _make_or_load(
    where: Path,
    label: str,
    nodes: int | None,
    settings: dict[str, str],
    *,
    direct: bool,
    secure: bool,
) -> Lab:
    if lab_names.exists(where):
        found = targets.load_lab(where)
        if secure and not is_secure(where):
            raise LabExists(
                f"the lab in {where} has no certificates ({where / 'certs'}), and gets none later",
                hint="leave --secure out to start it as it is; "
                f"`qsync lab down --remove --dir {shlex.quote(str(where))}` deletes it",
            )
        if nodes not in {None, len(found.nodes)} or settings:
            raise LabExists(
                f"there is a lab with {len(found.nodes)} nodes in {where}",
                hint="leave --nodes and --set out to start it; "
                f"`qsync lab down --remove --dir {shlex.quote(str(where))}` deletes it",
            )
        return found
    labs.create(
        where,
        name=label,
        nodes=nodes or _NODES,
        options=TAGGED | settings,
        first_port=DEFAULT_PORT if where.parent == lab_names.home() else None,
        links=not direct,
        secure=secure,
    )
    return targets.load_lab(where)


def _register(name: str, directory: Path) -> str:
    """Let a lab in a directory of its own be found by a name, so that it is never lost.

    By what --name says, or by the name of the directory if no other lab has that.
    """
    context = click.get_current_context()
    if context.get_parameter_source("name") is ParameterSource.COMMANDLINE:
        lab_names.register(name, directory)
        return name
    own = directory.absolute().name
    if lab_names.exists(directory) and not is_name(own):
        return own
    check_name(own, said="the directory's name")
    with contextlib.suppress(LabExists):
        lab_names.register(own, directory)
    return own


def _table(found: Lab) -> None:
    for node in found.nodes:
        text(line_of(found, node))
    say(f"in {found.dir}")


def _told(found: Lab, node: LabNode, what: str) -> None:
    if style().as_json:
        document("lab", name=found.name, did=what, node=row_of(node))
    else:
        say(f"{node.name} {what}; it is {state_of(node)} now")


def _wait_answers(node: LabNode, timeout: float) -> None:
    def lives() -> bool:
        return node.process is not None

    _wait([node], lambda: settling.wait_answers(node.address, timeout=timeout, lives=lives))


def _wait(started: Sequence[LabNode], until: Callable[[], ClusterSurvey]) -> ClusterSurvey:
    """Wait; when it was in vain, show what those of the started nodes that ended said last."""
    try:
        return until()
    except QsyncError:
        for node in started:
            if node.process is None and node.log.exists():
                said = node.log.read_text("utf-8", "replace").splitlines()[-5:]
                for line in (f"{node.name} ended:", *(f"  {each}" for each in said)):
                    say(line)
        raise
