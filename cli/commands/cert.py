"""`qsync cert`: an authority, certificates of nodes and users; looked at, judged, read again."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.examples import examples
from cli.exits import CheckFailed
from cli.options import (
    DIRECTORY_PATH,
    FILE_PATH,
    json_option,
    target_argument,
    timeout_option,
)
from cli.output import document, say, style, text
from qsync.errors import ConfigError
from qsync.rights import RESERVED
from qsync.tls.names import Bearer, CertifiedName

if TYPE_CHECKING:
    from admin.certs.looking import ShownCertificate
    from admin.certs.making import KeyPair


@click.group(
    epilog=examples(
        "qsync cert ca",
        "qsync cert node n1 --cluster UUID --host db1.example",
        "qsync cert check certs/n1.crt --key certs/n1.key",
    )
)
def cert() -> None:
    """Create, show and check certificates for TLS.

    An authority signs the certificates of the nodes and users of one cluster. They carry its id
    (`qsync info replicaset.uuid --target TARGET`). Keys are P-256, in files that only you can read.
    No node needs the key of the authority: keep it elsewhere.
    """


def _shared(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--dir`, `--days` of a leaf, `--ca-dir`, `--overwrite`, `--cluster`."""
    for option in (
        click.option("--cluster", required=True, metavar="UUID", help="The id of its cluster."),
        click.option(
            "--days", type=click.IntRange(1, 3650), default=90, show_default=True,
            help="How long the certificate is good.",
        ),
        click.option(
            "--dir", "directory", type=DIRECTORY_PATH, default="certs", show_default=True,
            help="Where certificate and key are written.",
        ),
        click.option(
            "--ca-dir", type=DIRECTORY_PATH, help="Where ca.crt and ca.key are, if not in --dir."
        ),
        click.option("--overwrite", is_flag=True, help="Replace existing files."),
    ):  # fmt: skip
        command = option(command)
    return json_option(command)


@cert.command(epilog="Example: qsync cert ca --dir certs --name 'orders, production'")
@click.option(
    "--dir",
    "directory",
    type=DIRECTORY_PATH,
    default="certs",
    show_default=True,
    help="Where ca.crt and ca.key are written.",
)
@click.option(
    "--name", default="qsync CA", show_default=True, help="Display name of the authority."
)
@click.option(
    "--days",
    type=click.IntRange(1, 36500),
    default=3650,
    show_default=True,
    help="How long the authority is good.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing authority.")
@json_option
def ca(*, directory: Path, name: str, days: int, overwrite: bool) -> None:
    """Create an authority: ca.crt, to distribute, and ca.key, to keep private."""
    from admin.certs import making  # noqa: PLC0415 - slow to import

    _made(making.make_authority(directory, name=name, days=days, overwrite=overwrite))


@cert.command(epilog="Example: qsync cert node n1 --cluster UUID --host db1.example,10.0.0.1")
@click.argument("name")
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="HOST,...",
    help="Host names at which it is dialled; localhost is always included. Repeatable.",
)
@_shared
def node(
    *,
    name: str,
    hosts: tuple[str, ...],
    cluster: str,
    days: int,
    directory: Path,
    ca_dir: Path | None,
    overwrite: bool,
) -> None:
    """Create the certificate of the node NAME: NAME.crt and NAME.key."""
    from admin.certs import making  # noqa: PLC0415 - slow to import

    found = making.make_node(
        _authority(ca_dir or directory),
        making.KeyPair.named(directory, _checked(name)),
        cluster=cluster,
        name=name,
        hosts=[host.strip() for given in hosts for host in given.split(",") if host.strip()],
        days=days,
        overwrite=overwrite,
    )
    _made(found)


@cert.command(epilog="Example: qsync cert client ann --cluster UUID --days 30")
@click.argument("name")
@_shared
def client(
    *, name: str, cluster: str, days: int, directory: Path, ca_dir: Path | None, overwrite: bool
) -> None:
    """Create the certificate of the user NAME: NAME.crt and NAME.key."""
    from admin.certs import making  # noqa: PLC0415 - slow to import

    if name in RESERVED:
        raise ConfigError(f"{name!r} has a meaning of its own: no user can be called so")
    found = making.make_user(
        _authority(ca_dir or directory),
        making.KeyPair.named(directory, _checked(name)),
        cluster=cluster,
        name=name,
        days=days,
        overwrite=overwrite,
    )
    _made(found)


@cert.command(epilog="Example: qsync cert show certs/n1.crt --json")
@click.argument("files", nargs=-1, required=True, type=FILE_PATH)
@json_option
def show(*, files: tuple[Path, ...]) -> None:
    """Print the subject, the issuer and the expiry of the certificates in FILES."""
    from admin.certs import looking  # noqa: PLC0415 - slow to import

    found = [(path, each) for path in files for each in looking.look(path)]
    if style().as_json:
        document("cert.show", certificates=[_row(path, each) for path, each in found])
        return
    for path, each in found:
        text(f"{path}: {_of(each)}")
        text(f"  signed by  {each.issuer}")
        text(f"  good       {_day(each.begins)} to {_day(each.expires)}")
        for label, values in (("hosts", each.hosts), ("for", each.purposes)):
            if values:
                text(f"  {label:<9}  {', '.join(values)}")
        text(f"  serial     {each.serial}")


@cert.command(epilog="Example: qsync cert check certs/n1.crt --key certs/n1.key --host db1.example")
@click.argument("file", type=FILE_PATH)
@click.option(
    "--ca", "authority", type=FILE_PATH, help="The authorities.  [default: ca.crt beside it]"
)
@click.option("--key", type=FILE_PATH, help="Its private key.")
@click.option("--node", "node_name", metavar="NAME", help="Require the certificate of this node.")
@click.option("--user", "user_name", metavar="NAME", help="Require the certificate of this user.")
@click.option("--cluster", metavar="UUID", help="Require this cluster, with --node or --user.")
@click.option("--host", "hosts", multiple=True, help="Require this host name. Repeatable.")
@json_option
def check(
    *,
    file: Path,
    authority: Path | None,
    key: Path | None,
    node_name: str | None,
    user_name: str | None,
    cluster: str | None,
    hosts: tuple[str, ...],
) -> None:
    """Check the certificate in FILE: chain, dates, names, key.

    Exits with 6 if it would be refused.
    """
    from admin.certs import looking  # noqa: PLC0415 - slow to import

    trusted = authority or file.parent / "ca.crt"
    wanted = _wanted(node_name, user_name, cluster)
    found = looking.judge(file, ca=trusted, key=key, wanted=wanted, hosts=hosts)
    grave = [each for each in found if each.grave]
    if style().as_json:
        faults = [
            {"file": each.file, "what": each.what, "fix": each.fix, "grave": each.grave}
            for each in found
        ]
        document("cert.check", file=file, ca=trusted, good=not grave, faults=faults)
    else:
        for each in found:
            text(f"{each.file}: {each.what}\n  {each.fix}")
        if not found:
            say(f"{file} is valid")
    if grave:
        raise CheckFailed(f"{file} would be refused: {grave[0].what}")


@cert.command("reload", epilog="Example: qsync cert reload qsyncs://db1/?ca=certs/ca.crt")
@target_argument
@timeout_option("5s")
@json_option
def reload_certificates(*, target: list[str], timeout: float) -> None:
    """Make every node of TARGET reload its certificates, and print which are in use.

    Nodes also check their files every second by themselves. Running connections are kept. Exits
    with 6 if a node does not use what its files hold. Needs the right `settings`.
    """
    from admin.certs import reloading  # noqa: PLC0415 - slow to import

    found = reloading.reload_all(target, timeout=timeout)
    if style().as_json:
        document("cert.reload", nodes=[asdict(each) for each in found])
    else:
        for each in found:
            text(f"{each.node:<12} {each.error or f'uses {each.serial}, {_until(each.expires)}'}")
    wrong = [each for each in found if each.error is not None]
    if wrong:
        raise CheckFailed(f"{wrong[0].node}: {wrong[0].error}")


def _until(expires: float | None) -> str:
    good = datetime.fromtimestamp(expires, UTC) if expires is not None else None
    return "good" if good is None else f"good until {_day(good)}"


def _wanted(node: str | None, user: str | None, cluster: str | None) -> CertifiedName | None:
    if node is not None and user is not None:
        raise click.UsageError("--node and --user: a certificate is of one of them")
    name = node or user
    if name is None and cluster is None:
        return None
    if name is None or cluster is None:
        raise click.UsageError("--cluster goes with --node or --user, and the reverse")
    return CertifiedName(cluster, Bearer.USER if node is None else Bearer.NODE, name)


def _authority(directory: Path) -> "KeyPair":
    from admin.certs.making import CA_CERTIFICATE, CA_KEY, KeyPair  # noqa: PLC0415 - slow to import

    return KeyPair(certificate=directory / CA_CERTIFICATE, key=directory / CA_KEY)


def _checked(name: str) -> str:
    """Return a name that can name a file, and is not the authority's. Raises ConfigError."""
    from qsync.options.value_kinds import member_name  # noqa: PLC0415 - only where one is made

    try:
        member_name(name)
    except ValueError as error:
        raise ConfigError(f"{name!r} {error}") from None
    if name == "ca":
        raise ConfigError("'ca' is the name of the authority's files", hint="take another name")
    return name


def _made(pair: "KeyPair") -> None:
    from admin.certs import looking  # noqa: PLC0415 - slow to import

    shown = looking.look(pair.certificate)[0]
    if style().as_json:
        document("cert", **_row(pair.certificate, shown), key=pair.key)
        return
    say(f"wrote {pair.certificate}: {_of(shown)}, good until {_day(shown.expires)}")
    say(f"wrote {pair.key}, which only you can read")


def _of(shown: "ShownCertificate") -> str:
    whose = ", ".join(f"{each} of cluster {each.cluster}" for each in shown.names)
    return whose or f"{'authority ' if shown.authority else ''}{shown.subject}"


def _row(path: Path, shown: "ShownCertificate") -> dict[str, object]:
    return {
        "file": path,
        "subject": shown.subject,
        "issuer": shown.issuer,
        "authority": shown.authority,
        "names": [each.uri for each in shown.names],
        "hosts": shown.hosts,
        "purposes": shown.purposes,
        "begins": shown.begins.isoformat(),
        "expires": shown.expires.isoformat(),
        "serial": shown.serial,
        "fingerprint": shown.fingerprint,
    }


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
