"""`qsync config`: what holds, where each value comes from, and options that a cluster shares."""

from pathlib import Path

import click

from admin.cluster import shared_settings
from admin.cluster.shared_settings import SettingChange, SharedSettings
from cli.agreeing import check_agreed, yes_option
from cli.examples import examples
from cli.exits import CheckFailed
from cli.options import (
    FILE_PATH,
    dry_run_option,
    json_option,
    set_options,
    settings_option,
    target_argument,
    target_option,
    timeout_option,
)
from cli.output import document, json_schema, say, style, text
from cli.time_limit import TimeLimit
from cli.under_way import change_under_way
from qsync.config import NodeConfig
from qsync.directory_files import CONFIG_FILE
from qsync.errors import ConfigError


@click.command(
    name="set",
    epilog=examples(
        "qsync config set replication.synchro_quorum=3 replication.synchro_timeout=10s"
    ),
)
@click.argument("settings", nargs=-1, required=True, metavar="OPTION=VALUE...")
@target_option
@yes_option
@dry_run_option("the difference")
@timeout_option("10s")
@json_option
def set_(
    *, settings: tuple[str, ...], target: list[str], yes: bool, dry_run: bool, timeout: float
) -> None:
    """Set options for the whole cluster: all of them, or none if one is wrong.

    The change is an entry of the log, so nodes cannot disagree. It applies from its place in the
    log on, also to pending transactions and before it is confirmed, and overrides the files of the
    nodes. Options may go by Tarantool's names.
    """
    given: dict[str, str | None] = dict(set_options(settings))
    _change(given, target, yes=yes, dry_run=dry_run, timeout=timeout)


@click.command(epilog="Example: qsync config unset replication.synchro_quorum")
@click.argument("options", nargs=-1, required=True, metavar="OPTION...")
@target_option
@yes_option
@dry_run_option("the difference")
@timeout_option("10s")
@json_option
def unset(
    *, options: tuple[str, ...], target: list[str], yes: bool, dry_run: bool, timeout: float
) -> None:
    """Remove options from the settings of the cluster: each node's own file applies again."""
    _change(dict.fromkeys(options), target, yes=yes, dry_run=dry_run, timeout=timeout)


@click.command(epilog="Example: qsync config cluster 127.0.0.1:3301")
@target_argument
@timeout_option("2s")
@json_option
def cluster(*, target: list[str], timeout: float) -> None:
    """Print the options that the cluster shares or could share, as the leader applies them."""
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
    limit = TimeLimit(timeout)
    found = shared_settings.look(target, timeout=limit.to_look)
    left = limit.left  # it is not used up while the user reads what would change
    changes = shared_settings.plan(found, given)
    if not style().as_json:
        _show(found, changes)
    if changes and not dry_run:
        check_agreed("Set this for the whole cluster?", yes=yes or style().as_json)
        with change_under_way("config cluster"):
            made = shared_settings.change(found, changes, timeout=left)
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


DEFAULTS = "default"
"""The word for a node with all defaults."""

_PATH = click.argument("path", type=click.Path(path_type=Path, exists=True))


@click.group(
    epilog=examples(
        "qsync config check n1/node.yaml",
        "# for the whole cluster",
        "qsync config set replication.synchro_quorum=3",
    )
)
def config() -> None:
    """Write, check, show and compare configurations; set what the whole cluster shares.

    A PATH is the YAML file, or the directory that has it as node.yaml.
    """


config.add_command(cluster)
config.add_command(set_)
config.add_command(unset)


@config.command(epilog="Example: qsync config init --set node.id=2 --set node.name=n2 > n2.yaml")
@click.argument("path", type=FILE_PATH, required=False)
@settings_option()
@json_option
def init(*, path: Path | None, settings: dict[str, str]) -> None:
    """Write a commented file with every option and its default.

    To PATH, which must not exist yet, or to stdout. Options may go by Tarantool's names.
    """
    template = NodeConfig.template(settings)
    if path is not None:
        _write_new(path, template)
    if style().as_json:
        document("config.init", path=path, text=template)
    elif path is None:
        click.echo(template, nl=False)
    else:
        say(f"wrote {path}; look at it with: qsync config show {path} --origin")


def _write_new(path: Path, template: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(template)
    except FileExistsError:
        raise ConfigError(f"{path} exists already", hint="edit it, or delete it first") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from None


@config.command(epilog="Example: qsync config check n1/node.yaml")
@_PATH
@settings_option()
@json_option
def check(*, path: Path, settings: dict[str, str]) -> None:
    """Validate PATH as a node would read it, variables included; report every problem."""
    found = _load(path, settings)
    members = [{"id": m.id, "name": m.name, "address": str(m.address)} for m in found.peers]
    if style().as_json:
        document("config.check", path=path, node=found.node.name, members=members)
    else:
        count = f"1 of {len(members)} members" if len(members) > 1 else "the only member"
        say(f"{path} is valid: {found.node.name}, {count}, listens on {found.address}")


@config.command(epilog="Example: qsync config show n1/node.yaml --origin --changed")
@_PATH
@settings_option()
@click.option("--origin", is_flag=True, help="Print where each value comes from.")
@click.option("--changed", is_flag=True, help="Print only options that differ from their default.")
@json_option
def show(*, path: Path, settings: dict[str, str], origin: bool, changed: bool) -> None:
    """Print every option and its value as the node would use it."""
    found = _load(path, settings)
    everything = found.values().items()
    values = {key: value for key, value in everything if not changed or key in found.places}
    origins = {key: found.origin(key) for key in values}
    if style().as_json:
        document("config", values=values, origins=origins)
        return
    widest = max(map(len, values), default=0)
    for key, value in values.items():
        text(f"{key:<{widest}}  {value}" + (f"  # {origins[key]}" if origin else ""))


@config.command(epilog="Example: qsync config diff n1/node.yaml n2/node.yaml --fail")
@click.argument("left", type=click.Path(path_type=Path, exists=True))
@click.argument("right", type=click.Path(path_type=Path), default=DEFAULTS)
@click.option("--fail", is_flag=True, help="Exit with 6 if they differ.")
@json_option
def diff(*, left: Path, right: Path, fail: bool) -> None:
    """Print the options in which two configurations differ, defaults included.

    RIGHT is another file; without it the defaults.
    """
    ours = _load(left, {}).values()
    theirs = (NodeConfig.load(None, {}) if str(right) == DEFAULTS else _load(right, {})).values()
    keys = [*ours, *(key for key in theirs if key not in ours)]
    changes = {
        key: (ours.get(key), theirs.get(key)) for key in keys if ours.get(key) != theirs.get(key)
    }
    if style().as_json:
        pairs = {key: {"left": ours, "right": theirs} for key, (ours, theirs) in changes.items()}
        document("config.diff", left=left, right=right, differences=pairs)
    else:
        _print_changes(changes, str(left), str(right))
    if changes and fail:
        raise CheckFailed(f"{left} and {right} differ in {len(changes)} options")


@config.command(epilog="Example: qsync config schema > node.schema.json")
@json_option
def schema() -> None:
    """Print the JSON Schema of the file, for editors."""
    json_schema("config.schema", NodeConfig.schema())


def _load(path: Path, settings: dict[str, str]) -> NodeConfig:
    file = path / CONFIG_FILE if path.is_dir() else path
    if not file.exists():
        raise ConfigError(f"there is no {file}", hint=f"`qsync config init {file}` writes one")
    return NodeConfig.load(file, flags=settings)


def _print_changes(
    changes: dict[str, tuple[str | None, str | None]], left: str, right: str
) -> None:
    if not changes:
        say(f"{left} and {right} say the same")
        return
    text(f"--- {left}")
    text(f"+++ {right}")
    for key, (ours, theirs) in changes.items():
        if ours is not None:
            text(f"-{key}: {ours}")
        if theirs is not None:
            text(f"+{key}: {theirs}")
