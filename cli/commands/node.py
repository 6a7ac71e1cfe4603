"""`qsync init`, `qsync node` and `qsync start`: one node, in the foreground."""

from contextlib import nullcontext
from pathlib import Path

import click

from cli.options import set_options
from cli.output import say
from qsync.config import NodeConfig
from qsync.errors import ConfigError

FILE = "node.yaml"


@click.command(
    epilog="Example: qsync init ./n1 --set listen=127.0.0.1:3301 && qsync start ./n1; a member of "
    "three: qsync init ./n1 --set node.id=1 --set node.name=n1 --set cluster.id=$(uuidgen) "
    "--set peers=1:n1@127.0.0.1:3301,2:n2@127.0.0.1:3302,3:n3@127.0.0.1:3303"
)
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--set", "settings", multiple=True, metavar="OPTION=VALUE", help="Set an option. Repeatable."
)
def init(*, directory: Path, settings: tuple[str, ...]) -> None:
    """Write a commented configuration to DIRECTORY/node.yaml, and found a cluster of one node.

    A node with other peers is no cluster yet: all members are founded together.
    """
    from qsync.node.assembly import found_cluster  # noqa: PLC0415 - LMDB is slow to import

    path = directory / FILE
    if path.exists():
        raise ConfigError(f"{path} exists already", hint="edit it, or delete it first")
    text = NodeConfig.template(set_options(settings))
    directory.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    config = NodeConfig.load(path)
    if len(config.peers) == 1:
        found_cluster([config])
        say(f"wrote {path} and founded a cluster; run it with: qsync start {directory}")
    else:
        say(
            f"wrote {path}; a node that joins a cluster starts with: qsync start {directory}\n"
            "until a leader names it, it is a stranger, which neither votes nor counts"
        )


@click.command(epilog="Example: qsync node --config n1/node.yaml --set election.timeout=2s")
@click.option(
    "--config",
    "path",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="The YAML file; without it, variables, --set and defaults alone.",
)
@click.option(
    "--set", "settings", multiple=True, metavar="OPTION=VALUE", help="Set an option. Repeatable."
)
def node(*, path: Path | None, settings: tuple[str, ...]) -> int:
    """Run one node in the foreground until SIGTERM or Ctrl-C."""
    return _run(NodeConfig.load(path, flags=set_options(settings)))


@click.command(epilog="Example: qsync start ./n1")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False, exists=True))
def start(*, directory: Path) -> int:
    """Run the node of a directory that `qsync init` made."""
    path = directory / FILE
    if not path.exists():
        raise ConfigError(f"there is no {path}", hint=f"`qsync init {directory}` writes one")
    return _run(NodeConfig.load(path))


def _run(config: NodeConfig) -> int:
    # Trio and LMDB are slow to import, and only a node needs them; HTTP, if it serves any
    from qsync.node.run import run  # noqa: PLC0415 - see above

    if config.metrics.listen is None:
        return run(config, lambda _: nullcontext())
    from admin.metrics.server import open_metrics  # noqa: PLC0415 - see above

    return run(config, open_metrics)
