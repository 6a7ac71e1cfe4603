"""Certificates for tests: one authority of a cluster, one that nobody knows, good ones and bad."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from admin.certs import making
from admin.certs.making import KeyPair
from qsync.client.security import ClientTls
from qsync.tls.files import TlsFiles

CLUSTER = "8c2f6b1e-0c5a-4f62-9d0e-3a7d1b9c4e55"
AGO = datetime.now(UTC) - timedelta(days=200)
AHEAD = datetime.now(UTC) + timedelta(days=200)


class Authority:
    """An authority in a directory of its own, and what it signs, in files of the asked names."""

    def __init__(self, path: Path, *, cluster: str = CLUSTER) -> None:
        self.path = path
        self.cluster = cluster
        self.pair = making.make_authority(path, name="tests")

    @property
    def ca(self) -> Path:
        """Its certificate."""
        return self.pair.certificate

    def node(
        self,
        name: str,
        *,
        file: str | None = None,
        cluster: str | None = None,
        now: datetime | None = None,
    ) -> KeyPair:
        """A node's, at loopback."""
        return making.make_node(
            self.pair,
            KeyPair.named(self.path, file or name),
            cluster=cluster or self.cluster,
            name=name,
            hosts=[],
            now=now,
            overwrite=True,
        )

    def user(
        self,
        name: str,
        *,
        file: str | None = None,
        cluster: str | None = None,
        now: datetime | None = None,
    ) -> KeyPair:
        """A user's."""
        return making.make_user(
            self.pair,
            KeyPair.named(self.path, file or name),
            cluster=cluster or self.cluster,
            name=name,
            now=now,
            overwrite=True,
        )

    def files(self, pair: KeyPair) -> TlsFiles:
        """That pair, and this authority as the one that is trusted."""
        return TlsFiles(ca=self.ca, certificate=pair.certificate, key=pair.key)

    def client(self, pair: KeyPair | None) -> ClientTls:
        """A client with that certificate, or with none."""
        return ClientTls(
            ca=str(self.ca),
            certificate=None if pair is None else str(pair.certificate),
            key=None if pair is None else str(pair.key),
        )

    def flags(self, pair: KeyPair) -> dict[str, str]:
        """Options of a node with that certificate."""
        return {
            "tls.ca": str(self.ca),
            "tls.certificate": str(pair.certificate),
            "tls.key": str(pair.key),
        }
