"""The lab or cluster that a drill's options name, and whether the drill may run on it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admin.drills.model import Drill
from admin.lab import names as lab_names
from admin.lab.lab import Lab
from cli import targets
from cli.exits import StoppedByGuard
from cli.output import say
from qsync.errors import ConfigError

if TYPE_CHECKING:
    from admin.drills.hooks.cluster import HookedCluster
    from admin.drills.place import DrillPlace


def find_place(target: str | None, hooks: Path | None) -> "DrillPlace | None":
    """The lab or the cluster that is meant; None: a lab is made. Raises ConfigError."""
    if hooks is None:
        return None if target is None else find_lab(target)
    from admin.drills.hooks import reader as hook_reader  # noqa: PLC0415 - only here
    from admin.drills.hooks.cluster import HookedCluster  # noqa: PLC0415 - the same

    found = HookedCluster(file=hook_reader.load(hooks))
    if target is not None:
        try:
            addresses = targets.resolve(target)
        except ValueError as error:
            raise ConfigError(str(error)) from None
        if strange := sorted(set(addresses) - set(found.addresses)):
            raise ConfigError(
                f"{', '.join(strange)} is not an address in {hooks}",
                hint="both have to name the same cluster; the file alone is enough, unless its "
                "nodes speak TLS",
            )
    return found


def confirm_cluster(found: Drill, place: "HookedCluster", name: str | None) -> None:
    """A user who breaks a cluster has to name it. Raises StoppedByGuard."""
    if name is None and sys.stdin.isatty():
        say(f"{found.name} breaks the cluster {place.name} on purpose: {found.title}")
        name = click.prompt("The name of that cluster", err=True)
    if name != place.name:
        said = "was not named" if name is None else f"was called {name!r}"
        raise StoppedByGuard(
            f"{place.name} {said}, so nothing was done",
            hint=f"--confirm {place.name} says that this cluster is meant; --dry-run shows what "
            "would be run",
        )


def find_lab(target: str) -> Lab:
    """The lab of that name, in that directory, or in the directory of a run. Raises ConfigError."""
    for place in (Path(target) / "lab", Path(target)):
        if lab_names.exists(place):
            return targets.load_lab(place.absolute())
    if ":" in target or "," in target:
        raise ConfigError(
            f"{target} is an address: what a drill breaks are processes and links, and without "
            "hooks it reaches only those of a lab of this machine",
            hint="--hooks FILE names the commands that reach them elsewhere (`qsync drill hooks` "
            "prints one to begin with); `qsync lab list` names the labs",
        )
    return targets.load_lab(lab_names.place(target))
