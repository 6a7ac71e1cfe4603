"""`qsync config set`, `unset` and `cluster`: what the whole cluster shares."""

import sys

import click

from admin.cluster import shared_settings
from admin.cluster.shared_settings import SettingChange, SharedSettings
from cli.exits import StoppedByGuard
from cli.options import json_option, set_options, target_argument, target_option, timeout_option
from cli.output import document, say, style, text

yes_option = click.option("--yes", is_flag=True, help="Do not ask.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Only show the difference.")


@click.command(
    name="set",
    epilog="Example: qsync config set replication.synchro_quorum=3 replication.synchro_timeout=10s",
)
@click.argument("settings", nargs=-1, required=True, metavar="OPTION=VALUE...")
@target_option
@yes_option
@dry_run_option
@timeout_option("10s")
@json_option
def set_(
    *, settings: tuple[str, ...], target: list[str], yes: bool, dry_run: bool, timeout: float
) -> None:
    """Set options for the whole cluster: all of them, or none if one is wrong.

    They go through the log, so nodes cannot disagree, and they count from their place in it on:
    also for what is pending, also before they are confirmed. They go before the nodes' own files.
    Options may go by Tarantool's names.
    """
    given: dict[str, str | None] = dict(set_options(settings))
    _change(given, target, yes=yes, dry_run=dry_run, timeout=timeout)


@click.command(epilog="Example: qsync config unset replication.synchro_quorum")
@click.argument("options", nargs=-1, required=True, metavar="OPTION...")
@target_option
@yes_option
@dry_run_option
@timeout_option("10s")
@json_option
def unset(
    *, options: tuple[str, ...], target: list[str], yes: bool, dry_run: bool, timeout: float
) -> None:
    """Take options back from the cluster: each node's own file counts again."""
    _change(dict.fromkeys(options), target, yes=yes, dry_run=dry_run, timeout=timeout)


@click.command(epilog="Example: qsync config cluster 127.0.0.1:3301")
@target_argument
@timeout_option("2s")
@json_option
def cluster(*, target: list[str], timeout: float) -> None:
    """Print what the cluster shares or could share, as the leader follows it."""
    found = shared_settings.look(target, timeout=timeout)
    if style().as_json:
        document("config.cluster", values=found.values, shared=found.shared)
        return
    widest = max(map(len, found.values))
    for key, value in found.values.items():
        whose = "shared by the cluster" if key in found.shared else f"as {found.leader.name} is set"
        text(f"{key:<{widest}}  {value}  # {whose}")


def _change(
    given: dict[str, str | None], target: list[str], *, yes: bool, dry_run: bool, timeout: float
) -> None:
    found = shared_settings.look(target, timeout=timeout)
    changes = shared_settings.plan(found, given)
    if not style().as_json:
        _show(found, changes)
    if changes and not dry_run:
        if not yes and not style().as_json and not _agreed():
            raise StoppedByGuard("not confirmed", hint="nothing was changed")
        made = shared_settings.change(found, changes, timeout=timeout)
        say(f"done: term {made.term} index {made.index}, {made.acks} voters have it")
    if style().as_json:
        members = [
            {"option": each.key, "now": each.now, "shared": each.shared, "then": each.then}
            for each in changes
        ]
        document("config.set", changes=members, changed=bool(changes) and not dry_run)


def _show(found: SharedSettings, changes: list[SettingChange]) -> None:
    if not changes:
        say("nothing would be another than now")
        return
    for each in changes:
        whose = "shared" if each.shared else f"as {found.leader.name} is set"
        text(f"-{each.key}: {each.now}  # {whose}")
        then = "# each node's own" if each.then is None else f"{each.then}  # shared"
        text(f"+{each.key}: {then}")
    consequence = shared_settings.consequence(found, changes)
    if consequence is not None:
        say(consequence)


def _agreed() -> bool:
    """Asked only where somebody can answer: a script says --yes."""
    return sys.stdin.isatty() and click.confirm("Set this for the whole cluster?", err=True)
