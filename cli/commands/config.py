"""`qsync config`: is the file right, what holds in the end, and where did each value come from?"""

import json
from pathlib import Path

import click

from cli.options import json_option
from cli.output import document, say, style, text
from qsync.config import NodeConfig

_FILE = click.argument("path", type=click.Path(path_type=Path, dir_okay=False, exists=True))


@click.group(epilog="Example: qsync config check n1/node.yaml")
def config() -> None:
    """Check, show and explain the configuration of a node."""


@config.command(epilog="Example: qsync config check n1/node.yaml")
@_FILE
@json_option
def check(*, path: Path) -> None:
    """Read PATH as a node would, variables included; name everything that is wrong."""
    found = NodeConfig.load(path)
    members = [{"id": m.id, "name": m.name, "address": str(m.address)} for m in found.peers]
    if style().as_json:
        document("config.check", path=path, node=found.node.name, members=members)
    else:
        say(f"{path} is right: {found.node.name}, one of {len(members)}, at {found.address}")


@config.command(epilog="Example: qsync config show n1/node.yaml --origin")
@_FILE
@click.option("--origin", is_flag=True, help="Say where each value came from.")
@json_option
def show(*, path: Path, origin: bool) -> None:
    """Print every option and its value as the node would use it."""
    found = NodeConfig.load(path)
    values = found.values()
    origins = {key: str(found.places.get(key, "default")) for key in values}
    if style().as_json:
        document("config", values=values, origins=origins)
        return
    widest = max(len(key) for key in values)
    for key, value in values.items():
        text(f"{key:<{widest}}  {value}" + (f"  # {origins[key]}" if origin else ""))


@config.command(epilog="Example: qsync config schema > node.schema.json")
def schema() -> None:
    """Print the JSON schema of the file, for editors."""
    text(json.dumps(NodeConfig.schema(), indent=2))
