"""A lab whose nodes speak TLS: its certificates, and what its clients show."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from admin.lab.node_file import LabPlace, LabPlan
from admin.lab.ports import LOOPBACK
from qsync.client.security import ClientTls

_CERTS: Final = "certs"


def is_secure(directory: Path) -> bool:
    """Has the lab in that directory certificates?"""
    return (directory / _CERTS).is_dir()


def client_tls(directory: Path) -> ClientTls | None:
    """How the administrator of a lab speaks to it; None where it speaks no TLS."""
    if not is_secure(directory):
        return None
    where = directory.absolute() / _CERTS
    return ClientTls(
        ca=str(where / "ca.crt"),
        certificate=str(where / "admin.crt"),
        key=str(where / "admin.key"),
    )


def lay_out(directory: Path, lab: LabPlan) -> dict[str, str]:
    """Make everybody's certificates; the options that name them in a node's file."""
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
