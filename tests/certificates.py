"""Certificates for tests: one authority of a cluster, one that nobody knows, good ones and bad."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

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

    def other(self, name: str) -> KeyPair:
        """One that names nobody of a cluster: the same authority signs for other ends, too."""
        pair = KeyPair.named(self.path, name)
        issuer = x509.load_pem_x509_certificate(self.pair.certificate.read_bytes())
        signer = serialization.load_pem_private_key(self.pair.key.read_bytes(), None)
        assert isinstance(signer, ec.EllipticCurvePrivateKey)
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.now(UTC)
        made = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(issuer.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(minutes=5))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .sign(signer, hashes.SHA256())
        )
        pair.certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        pair.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return pair

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
