"""A lab with TLS and users: its certificates, and the login of its clients."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from admin.certs import ADMINISTRATOR
from admin.lab.node_file import LabPlace, LabPlan
from admin.lab.ports import LOOPBACK
from qsync.client.security import ClientTls
from qsync.errors import ConfigError

_CERTS: Final = "certs"
_TIMEOUT_S: Final = 20.0


def is_secure(directory: Path) -> bool:
    """Return whether the lab in that directory has certificates."""
    return (directory / _CERTS).is_dir()


def check_authority(directory: Path, options: Mapping[str, str]) -> None:
    """Check that a certificate can be made for one more node, if the nodes of the lab have any.

    `options`: of their files. Raises ConfigError.
    """
    if "tls.certificate" not in options and not is_secure(directory):
        return
    from admin.certs import laying  # noqa: PLC0415 - slow to import, only where it is used

    where = directory / _CERTS
    try:
        laying.check_authority(where)
    except ConfigError as error:
        error.message = f"the nodes of this lab speak TLS: {error.message}"
        error.hint = (
            f"put {where} back from a copy, or make the lab anew: `qsync lab down --remove`, then "
            "`qsync lab up --secure`; nothing was changed"
        )
        raise


def client_tls(directory: Path) -> ClientTls | None:
    """Return the TLS settings of the lab's administrator; None in a lab without TLS."""
    if not is_secure(directory):
        return None
    where = directory.absolute() / _CERTS
    return ClientTls(
        ca=str(where / "ca.crt"),
        certificate=str(where / f"{ADMINISTRATOR}.crt"),
        key=str(where / f"{ADMINISTRATOR}.key"),
    )


def tls_options() -> dict[str, str]:
    """Return the options of every node that name its certificates."""
    from admin.certs import laying  # noqa: PLC0415 - slow to import, only where it is used

    return laying.OPTIONS


def lay_out(directory: Path, lab: LabPlan) -> dict[str, str]:
    """Make all certificates. Returns the options that name them in a node's file."""
    from admin.certs import laying  # noqa: PLC0415 - slow to import, only where it is used

    laying.lay_out(directory, lab.cluster, name=f"qsync lab {lab.name}")
    add_nodes(directory, lab, lab.nodes)
    return laying.OPTIONS


def add_nodes(directory: Path, lab: LabPlan, nodes: Iterable[LabPlace]) -> dict[str, str]:
    """Make the certificates of these nodes of a secure lab; the options, as above."""
    from admin.certs import laying  # noqa: PLC0415 - slow to import, only where it is used

    for node in nodes:
        laying.add_node(directory, node.dir, cluster=lab.cluster, name=node.name, hosts=[LOOPBACK])
    return laying.OPTIONS


def certify_administrator(directory: Path, lab: LabPlan) -> None:
    """Make a new certificate for the administrator, of the present cluster of the lab."""
    from admin.certs import laying  # noqa: PLC0415 - slow to import, only where it is used

    laying.certify_administrator(directory, lab.cluster)


def have_users(directory: Path, addresses: Sequence[str]) -> bool:
    """Make the administrator the first user of a lab that takes writes, unless it has users.

    He logs in with his certificate alone. True if he was made now. Raises what a write raises.
    """
    from qsync.client.blocking import connect  # noqa: PLC0415 - slow to import, as above

    with connect(addresses, timeout=_TIMEOUT_S, tls=client_tls(directory)) as db:
        if db.users.info().get("users"):
            return False
        db.users.create(ADMINISTRATOR, if_not_exists=True)
    return True
