"""`qsync config`: is the file right, what holds in the end, and where did each value come from?"""

import json
from pathlib import Path

import click

from cli.commands import shared
from cli.exits import CheckFailed
from cli.options import json_option, set_options
from cli.output import document, say, style, text
from qsync.config import NodeConfig
from qsync.errors import ConfigError

FILE = "node.yaml"
DEFAULTS = "default"
"""The word for a node that is told nothing."""

_PATH = click.argument("path", type=click.Path(path_type=Path, exists=True))
_set_option = click.option(
    "--set", "settings", multiple=True, metavar="OPTION=VALUE", help="Set an option. Repeatable."
)


@click.group(
    epilog="Example: qsync config check n1/node.yaml; for the whole cluster: "
    "qsync config set replication.synchro_quorum=3"
)
def config() -> None:
    """Write, check, show and compare configurations; set what the whole cluster shares.

    A PATH is the YAML file, or the directory that has it as node.yaml.
    """


config.add_command(shared.cluster)
config.add_command(shared.set_)
config.add_command(shared.unset)


@config.command(epilog="Example: qsync config init --set node.id=2 --set node.name=n2 > n2.yaml")
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False), required=False)
@_set_option
def init(*, path: Path | None, settings: tuple[str, ...]) -> None:
    """Write a commented file in which every option stands with its default.

    To PATH, which must not exist yet, or to stdout. Options may go by Tarantool's names.
    """
    template = NodeConfig.template(set_options(settings))
    if path is None:
        click.echo(template, nl=False)
        return
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(template)
    except FileExistsError:
        raise ConfigError(f"{path} exists already", hint="edit it, or delete it first") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from None
    say(f"wrote {path}; look at it with: qsync config show {path} --origin")


@config.command(epilog="Example: qsync config check n1/node.yaml")
@_PATH
@_set_option
@json_option
def check(*, path: Path, settings: tuple[str, ...]) -> None:
    """Read PATH as a node would, variables included; name everything that is wrong."""
    found = _load(path, settings)
    members = [{"id": m.id, "name": m.name, "address": str(m.address)} for m in found.peers]
    if style().as_json:
        document("config.check", path=path, node=found.node.name, members=members)
    else:
        say(f"{path} is right: {found.node.name}, one of {len(members)}, at {found.address}")


@config.command(epilog="Example: qsync config show n1/node.yaml --origin --changed")
@_PATH
@_set_option
@click.option("--origin", is_flag=True, help="Say where each value came from.")
@click.option("--changed", is_flag=True, help="Leave out what has its default.")
@json_option
def show(*, path: Path, settings: tuple[str, ...], origin: bool, changed: bool) -> None:
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
@click.option("--fail", is_flag=True, help="Exit with 6 when there is a difference.")
@json_option
def diff(*, left: Path, right: Path, fail: bool) -> None:
    """Print the options in which two configurations differ, after all is read.

    RIGHT is another file; without it the defaults.
    """
    ours = _load(left, ()).values()
    theirs = (NodeConfig.load(None, {}) if str(right) == DEFAULTS else _load(right, ())).values()
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
def schema() -> None:
    """Print the JSON schema of the file, for editors."""
    text(json.dumps(NodeConfig.schema(), indent=2))


def _load(path: Path, settings: tuple[str, ...]) -> NodeConfig:
    file = path / FILE if path.is_dir() else path
    if not file.exists():
        raise ConfigError(f"there is no {file}", hint=f"`qsync config init {file}` writes one")
    return NodeConfig.load(file, flags=set_options(settings))


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
