"""Replaces the authority and all certificates of a secure lab while it runs.

In three steps, and a stop behind each of them leaves a working lab: every node trusts both
authorities; all show a certificate of the new one; nobody trusts the old one. Files are
replaced whole, and nodes and clients read them again when they have changed.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Final

from admin.certs import ADMINISTRATOR, NODE_DIRECTORY, looking, making
from admin.certs.laying import DIRECTORY
from admin.certs.making import CA_CERTIFICATE, CA_KEY, KeyPair
from admin.lab.lab import Lab, LabNode
from admin.lab.ports import LOOPBACK

_NEW: Final = "new"
"""The directory of the new authority meanwhile, below that of the certificates."""


class CertificateRotation:
    """One rotation. `former` and `new`: numbers of the authorities' certificates."""

    def __init__(self, lab: Lab) -> None:
        """Make the new authority. Raises ConfigError."""
        self._lab = lab
        self._certs = lab.dir / DIRECTORY
        old = self._certs / CA_CERTIFICATE
        self._authority = making.make_authority(
            self._certs / _NEW, name=f"qsync lab {lab.name}", overwrite=True
        )
        self._both = old.read_bytes() + self._authority.certificate.read_bytes()
        self.new = _numbers(self._authority.certificate)
        self.both = _numbers(old) | self.new

    def trust_both(self) -> None:
        """Let nodes and clients trust both authorities."""
        self._trust(self._both)

    def certify(self, node: LabNode) -> str:
        """Give the node a certificate of the new authority, and return its serial number."""
        pair = making.make_node(
            self._authority,
            KeyPair.named(node.dir / NODE_DIRECTORY, "node"),
            cluster=self._lab.cluster,
            name=node.name,
            hosts=[LOOPBACK],
            overwrite=True,
        )
        return looking.look(pair.certificate)[0].serial

    def certify_clients(self) -> None:
        """Give the clients certificates of the new authority."""
        making.make_user(
            self._authority,
            KeyPair.named(self._certs, ADMINISTRATOR),
            cluster=self._lab.cluster,
            name=ADMINISTRATOR,
            overwrite=True,
        )

    def trust_new(self) -> None:
        """Remove the old authority everywhere; the new one replaces it."""
        self._trust(self._authority.certificate.read_bytes())
        self._authority.key.replace(self._certs / CA_KEY)

    def _trust(self, authorities: bytes) -> None:
        for place in (self._certs, *(node.dir / NODE_DIRECTORY for node in self._lab.nodes)):
            fresh = place / f"{CA_CERTIFICATE}.fresh"
            fresh.write_bytes(authorities)
            fresh.replace(place / CA_CERTIFICATE)


def same(told: Collection[str], wanted: Collection[str]) -> bool:
    """Return whether serial numbers of certificates are the same, without leading zeros."""
    return {each.lstrip("0") for each in told} == {each.lstrip("0") for each in wanted}


def _numbers(path: Path) -> set[str]:
    return {each.serial for each in looking.look(path)}
