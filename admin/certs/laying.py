"""Lays out the certificates of a new cluster: one authority, each node its own, one administrator.

The key of the authority stays in `certs`, which goes to no host: what a node needs is in its own
directory.
"""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from admin.certs import ADMINISTRATOR, NODE_DIRECTORY, making
from admin.certs.making import CA_CERTIFICATE, CA_KEY, KeyPair
from qsync.errors import ConfigError

DIRECTORY: Final = "certs"
"""Below the directory of a cluster: the authority, and the certificates of people."""
OPTIONS: Final = {
    "tls.certificate": f"{NODE_DIRECTORY}/node.crt",
    "tls.key": f"{NODE_DIRECTORY}/node.key",
    "tls.ca": f"{NODE_DIRECTORY}/{CA_CERTIFICATE}",
}
"""What is set in a node's file, beside which its directory is."""


def lay_out(directory: Path, cluster: str, *, name: str) -> None:
    """An authority in `directory/certs`, and an administrator's certificate. Raises ConfigError."""
    where = directory / DIRECTORY
    making.make_authority(where, name=name)
    where.chmod(0o700)
    certify_administrator(directory, cluster)


def certify_administrator(directory: Path, cluster: str) -> None:
    """A certificate of the administrator, to replace the present one. Raises ConfigError."""
    where = directory / DIRECTORY
    making.make_user(
        KeyPair(certificate=where / CA_CERTIFICATE, key=where / CA_KEY),
        KeyPair.named(where, ADMINISTRATOR),
        cluster=cluster,
        name=ADMINISTRATOR,
        overwrite=True,
    )


def add_node(directory: Path, node: Path, *, cluster: str, name: str, hosts: Iterable[str]) -> None:
    """What a node of that cluster needs, into its directory. Raises ConfigError."""
    certify_node(directory / DIRECTORY, node, cluster=cluster, name=name, hosts=hosts)


def check_authority(where: Path) -> None:
    """Has that directory an authority that can sign? Raises ConfigError."""
    for path in (where / CA_CERTIFICATE, where / CA_KEY):
        if not path.is_file():
            raise ConfigError(
                f"{path} is not there, and a certificate has to be signed by it",
                hint="--ca-dir names the directory of the cluster's authority, ca.crt and ca.key",
            )


def certify_node(where: Path, node: Path, *, cluster: str, name: str, hosts: Iterable[str]) -> None:
    """The same, by the authority in the directory `where`. Raises ConfigError."""
    into = node / NODE_DIRECTORY
    authority = KeyPair(certificate=where / CA_CERTIFICATE, key=where / CA_KEY)
    pair = KeyPair.named(into, "node")
    making.make_node(authority, pair, cluster=cluster, name=name, hosts=list(hosts))
    shutil.copyfile(authority.certificate, into / CA_CERTIFICATE)


def certify_alone(
    where: Path, node: Path, *, cluster: str, name: str, hosts: Iterable[str]
) -> None:
    """The same, of the only node of a new cluster; and an administrator's beside it."""
    certify_node(where, node, cluster=cluster, name=name, hosts=hosts)
    making.make_user(
        KeyPair(certificate=where / CA_CERTIFICATE, key=where / CA_KEY),
        KeyPair.named(node / NODE_DIRECTORY, ADMINISTRATOR),
        cluster=cluster,
        name=ADMINISTRATOR,
    )
