"""`qsync init`, `qsync node` and `qsync start`: one node, in the foreground."""

import shlex
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.examples import examples
from cli.options import DIRECTORY_PATH, TargetOption, json_option, settings_option
from cli.output import document, say, style
from qsync.config import NodeConfig
from qsync.config.sections import ClusterUsers
from qsync.directory_files import CONFIG_FILE, UNREADY
from qsync.errors import ConfigError
from qsync.store import unfinished
from qsync.wire import replies
from qsync.wire.verbs import RightsRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from admin.lab.founding import FoundingMember, Layout


@click.command(
    epilog=examples(
        "# one node",
        "qsync init ./n1 && qsync start ./n1",
        "# three members; copy c/n1 to the first host, c/n2 to the second, c/n3 to the third",
        "qsync init --cluster ./c 10.0.0.1 10.0.0.2 10.0.0.3 --secure",
        "# on the first host",
        "qsync start n1",
    )
)
@click.argument("directory", type=DIRECTORY_PATH)
@click.argument("hosts", nargs=-1, metavar="[HOST[:PORT]]...")
@click.option(
    "--cluster",
    is_flag=True,
    help="Create one directory per HOST (DIRECTORY/n1 ...), all of one cluster.",
)
@click.option(
    "--join",
    type=TargetOption(),
    metavar="TARGET",
    help="Do not found a cluster: prepare one more node for the one at TARGET.",
)
@click.option(
    "--anonymous",
    is_flag=True,
    help="With --join: a replica that serves reads and is not a member.",
)
@click.option("--listen", metavar="HOST:PORT", help="With --join: the address of the new node.")
@click.option(
    "--secure",
    is_flag=True,
    help="With TLS: an authority and certificates in DIRECTORY/certs; with --join one more "
    "certificate of the cluster's authority.",
)
@click.option(
    "--ca-dir",
    type=DIRECTORY_PATH,
    help="With --join --secure: where ca.crt and ca.key are.  [default: certs beside DIRECTORY]",
)
@settings_option()
@json_option
def init(
    *,
    directory: Path,
    hosts: tuple[str, ...],
    cluster: bool,
    join: list[str] | None,
    anonymous: bool,
    listen: str | None,
    secure: bool,
    ca_dir: Path | None,
    settings: dict[str, str],
) -> None:
    """Found a cluster: write the directory of its one node, or of each of its members.

    The configuration is written to DIRECTORY/node.yaml, or with --cluster to DIRECTORY/n1/node.yaml
    and so on. With --join the node is prepared for a cluster that runs already: start it, then
    `qsync member add` makes it a member. With --anonymous it follows without being a member: it
    serves reads and counts in no quorum.

    Without TLS the nodes of a cluster prove to each other that they know its secret. It is made
    here, and is the file `secret` in the directory of each node: keep it private. A node that joins
    needs it: --set cluster.secret_file=FILE copies FILE into its directory. With --secure nodes and
    clients use TLS and certificates; keep DIRECTORY/certs private.

    An interrupted `qsync init` can be repeated: what it left is removed first, and until then no
    node starts there.
    """
    _check_hosts(hosts, cluster=cluster)
    if join is None:
        _check_founding(ca_dir, anonymous=anonymous)
    elif ca_dir is not None and not secure:
        raise click.UsageError("--ca-dir goes with --join --secure")
    if join is not None:
        authority = (ca_dir or directory.absolute().parent / "certs") if secure else None
        if cluster or listen is None:
            raise click.UsageError("--join wants --listen HOST:PORT, and no --cluster")
        made = _joining(directory, settings, join, listen, authority=authority, anonymous=anonymous)
    else:
        made = _founding(directory, hosts, settings, cluster=cluster, secure=secure, listen=listen)
    if style().as_json:
        document(
            "init",
            cluster=made.cluster,
            founded=made.founded,
            nodes=[_row(m) for m in made.members],
        )
        return
    for each in made.members:
        say(f"wrote {each.file}: {each.name} listens on {each.address}")
    first = made.members[0]
    for line in _next_steps(directory, made, cluster=cluster, secure=secure and join is None):
        say(line)
    if not made.founded:
        _say_next(first, join, anonymous=anonymous)


def _next_steps(directory: Path, made: "Layout", *, cluster: bool, secure: bool) -> "Iterator[str]":
    from admin.lab import next_steps  # noqa: PLC0415 - with what lays the directories out

    if cluster:
        yield from next_steps.starting(made.members)
    else:
        yield f"run it with: {next_steps.start_command(directory)}"
    if made.has_secret:
        yield next_steps.sharing(next_steps.IN_EACH if cluster else f"{directory}/secret")
    if secure:
        yield from next_steps.watching(directory, made.members[0].address)
    if cluster:
        yield f"this is in {directory / next_steps.README}, too"


def _check_founding(ca_dir: Path | None, *, anonymous: bool) -> None:
    """Options that only go with --join."""
    if ca_dir is not None:
        raise click.UsageError("--ca-dir goes with --join --secure")
    if anonymous:
        raise click.UsageError("--anonymous goes with --join: it follows a cluster that runs")


def _say_next(first: "FoundingMember", join: list[str] | None, *, anonymous: bool) -> None:
    if anonymous:
        say("it follows as soon as it runs; `qsync member add` would make it a member")
    elif join is not None:
        address, target = shlex.quote(first.address), shlex.quote(join[0])
        say(f"then make it a member: qsync member add {address} --target {target}")
    else:
        say("it is not a member until a leader adds it: until then it neither votes nor counts")


def _check_hosts(hosts: tuple[str, ...], *, cluster: bool) -> None:
    if hosts and not cluster:
        raise click.UsageError("several hosts make a cluster: qsync init --cluster DIR HOST...")
    if cluster and not hosts:
        raise click.UsageError("--cluster wants the hosts of its members: HOST or HOST:PORT")


def _founding(
    directory: Path,
    hosts: tuple[str, ...],
    options: dict[str, str],
    *,
    cluster: bool,
    secure: bool,
    listen: str | None,
) -> "Layout":
    from admin.lab import founding  # noqa: PLC0415 - reads and writes more than most commands

    if listen is not None:
        raise click.UsageError("--listen goes with --join; else it is --set listen=HOST:PORT")
    if cluster:
        return founding.several(directory, hosts, options, secure=secure)
    return founding.single(directory, options, secure=secure)


def _joining(
    directory: Path,
    options: dict[str, str],
    join: list[str],
    listen: str,
    *,
    authority: Path | None,
    anonymous: bool,
) -> "Layout":
    from admin.cluster import ask, surveys  # noqa: PLC0415 - asks a cluster, which others need not
    from admin.lab import cluster_secret, founding  # noqa: PLC0415 - reads and writes files

    found = surveys.survey(join)
    cluster_secret.check_joining(options, ask.greeting(found.samples[0].address))
    about = replies.read_map(ask.value(found.samples[0].address, RightsRequest(1)))
    if about.get("users"):  # until it has their rows it does not know of them
        options = {"cluster.users": ClusterUsers.REQUIRED.value, **options}
    return founding.joining(
        directory, found, listen, options, authority=authority, anonymous=anonymous
    )


def _row(member: "FoundingMember") -> dict[str, object]:
    return {"name": member.name, "id": member.id, "address": member.address, "dir": member.dir}


@click.command(epilog="Example: qsync node --config n1/node.yaml --set election.timeout=2s")
@click.option(
    "--config",
    "path",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="The YAML file; without it, variables, --set and defaults alone.",
)
@settings_option()
def node(*, path: Path | None, settings: dict[str, str]) -> int:
    """Run one node in the foreground until SIGTERM or Ctrl-C."""
    if path is not None:
        unfinished.check(path.parent)
    return _run(NodeConfig.load(path, flags=settings))


@click.command(epilog="Example: qsync start ./n1")
@click.argument("directory", type=DIRECTORY_PATH)
@click.option(
    "--moved",
    "files",
    flag_value="moved",
    help="The directory was copied here, and nothing ran on the original since.",
)
@click.option(
    "--new-instance",
    "files",
    flag_value="copied",
    help="The directory may be an old copy: set its log aside and take all from the leader.",
)
def start(*, directory: Path, files: str | None) -> int:
    """Run the node of a directory that `qsync init` made."""
    unfinished.check(directory)
    path = directory / CONFIG_FILE
    if not path.exists():
        raise _not_there(directory)
    return _run(NodeConfig.load(path), files)


def _not_there(directory: Path) -> ConfigError:
    if (directory / UNREADY).exists():
        return ConfigError(
            f"{directory} is not whole: a restore or a recovery was interrupted",
            hint="repeat that command, which starts again there",
        )
    return ConfigError(
        f"there is no {directory / CONFIG_FILE}", hint=f"`qsync init {directory}` writes one"
    )


def _run(config: NodeConfig, files: str | None = None) -> int:
    # Trio and LMDB are slow to import, and only a node needs them; HTTP, if it serves any
    from qsync.node.assembly import WhoseFiles  # noqa: PLC0415 - see above
    from qsync.node.run import run  # noqa: PLC0415 - see above

    said = WhoseFiles(files or "unsaid")
    if config.metrics.listen is None:
        return run(config, lambda _: nullcontext(), files=said)
    from admin.metrics.server import open_metrics  # noqa: PLC0415 - see above

    return run(config, open_metrics, files=said)
