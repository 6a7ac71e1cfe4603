"""Makes the certificates of a new cluster: of the authority, each node, and an administrator.

The key of the authority stays in `certs`, which goes to no host: what a node needs is in its own
directory.
"""

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from admin.certs import ADMINISTRATOR, NODE_DIRECTORY, making
from admin.certs.making import CA_CERTIFICATE, CA_KEY, KeyPair
from qsync.config import NodeConfig
from qsync.errors import ConfigError

DIRECTORY: Final = "certs"
"""The directory of the authority and of users' certificates, below the cluster's."""
OPTIONS: Final = {
    "tls.certificate": f"{NODE_DIRECTORY}/node.crt",
    "tls.key": f"{NODE_DIRECTORY}/node.key",
    "tls.ca": f"{NODE_DIRECTORY}/{CA_CERTIFICATE}",
}
"""The options of a node's file; paths are relative to that file."""


def check_no_authority(directory: Path) -> None:
    """Check that no authority is in `directory/certs`. Raises ConfigError."""
    for path in (directory / DIRECTORY / CA_CERTIFICATE, directory / DIRECTORY / CA_KEY):
        if path.exists():
            raise ConfigError(
                f"{path} exists already, and a new cluster gets an authority of its own",
                hint="name a new directory; nothing was written",
            )


def lay_out(directory: Path, cluster: str, *, name: str) -> None:
    """Make an authority in `directory/certs` and an administrator. Raises ConfigError."""
    where = directory / DIRECTORY
    making.make_authority(where, name=name)
    where.chmod(0o700)
    certify_administrator(directory, cluster)


def certify_administrator(directory: Path, cluster: str) -> None:
    """Make a new certificate of the administrator. Raises ConfigError."""
    where = directory / DIRECTORY
    making.make_user(
        KeyPair(certificate=where / CA_CERTIFICATE, key=where / CA_KEY),
        KeyPair.named(where, ADMINISTRATOR),
        cluster=cluster,
        name=ADMINISTRATOR,
        overwrite=True,
    )


def add_node(directory: Path, node: Path, *, cluster: str, name: str, hosts: Iterable[str]) -> None:
    """Make the certificate of a node, in the node's directory. Raises ConfigError."""
    certify_node(directory / DIRECTORY, node, cluster=cluster, name=name, hosts=hosts)


def check_authority(where: Path) -> None:
    """Check that the directory has an authority that can sign. Raises ConfigError."""
    for path in (where / CA_CERTIFICATE, where / CA_KEY):
        if not path.is_file():
            raise ConfigError(
                f"{path} is not there, and a certificate has to be signed by it",
                hint="--ca-dir names the directory of the cluster's authority, ca.crt and ca.key",
            )


def certified_options(where: Path, options: Mapping[str, str]) -> dict[str, str]:
    """The options of a new node that the authority there will certify. Raises ConfigError."""
    check_authority(where)
    return {**OPTIONS, **options}


def certify_node(where: Path, node: Path, *, cluster: str, name: str, hosts: Iterable[str]) -> None:
    """Make a node's certificate with the authority in `where`. Raises ConfigError."""
    into = node / NODE_DIRECTORY
    authority = KeyPair(certificate=where / CA_CERTIFICATE, key=where / CA_KEY)
    pair = KeyPair.named(into, "node")
    making.make_node(authority, pair, cluster=cluster, name=name, hosts=list(hosts))
    shutil.copyfile(authority.certificate, into / CA_CERTIFICATE)


def certify_alone(where: Path, node: Path, config: NodeConfig) -> None:
    """Make the certificates of the only node of a new cluster and of an administrator."""
    cluster, hosts = config.cluster.id, sorted({config.address.host, config.listen.host})
    certify_node(where, node, cluster=cluster, name=config.node.name, hosts=hosts)
    making.make_user(
        KeyPair(certificate=where / CA_CERTIFICATE, key=where / CA_KEY),
        KeyPair.named(node / NODE_DIRECTORY, ADMINISTRATOR),
        cluster=cluster,
        name=ADMINISTRATOR,
    )
