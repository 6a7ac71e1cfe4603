"""Makes an authority and certificates of nodes and users: P-256 keys, and files that stay private.

P-256 and not Ed25519, since everything that speaks TLS 1.3 knows it: browsers and the agents that
read metrics, too.
"""

import ipaddress
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from qsync import ipv6
from qsync.errors import ConfigError
from qsync.store.private import write_private
from qsync.tls.names import Bearer, CertifiedName

AUTHORITY_DAYS: Final = 3650
LEAF_DAYS: Final = 90
EARLIER: Final = timedelta(minutes=5)
"""Certificates begin before now, for machines whose clocks are behind."""
CA_CERTIFICATE, CA_KEY = "ca.crt", "ca.key"
LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
"""Hosts that every certificate of a node names, for clients on the same machine."""
_PUBLIC = 0o644
_COMMON_NAME_CHARS_MAX: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPair:
    """A certificate and its key, in their files."""

    certificate: Path
    key: Path

    @classmethod
    def named(cls, directory: Path, name: str) -> "KeyPair":
        """`NAME.crt` and `NAME.key` in a directory."""
        return cls(certificate=directory / f"{name}.crt", key=directory / f"{name}.key")


def make_authority(
    directory: Path,
    *,
    name: str,
    days: int = AUTHORITY_DAYS,
    overwrite: bool = False,
    now: datetime | None = None,
) -> KeyPair:
    """Make an authority, in `ca.crt` and `ca.key`. Its `days` count from `now`.

    Raises ConfigError where there is one, unless told to overwrite, or what writing raises.
    """
    made = KeyPair(certificate=directory / CA_CERTIFICATE, key=directory / CA_KEY)
    _refuse_existing(made, overwrite=overwrite)
    key = ec.generate_private_key(ec.SECP256R1())
    # The number tells authorities of one name apart, in chains and for people.
    subject = _subject(f"{name} {uuid.uuid4().hex[:8]}")
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    builder = (
        _begun(subject, subject, key, days, now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
    )
    _write(made, [builder.sign(key, hashes.SHA256())], key)
    return made


def make_node(
    authority: KeyPair,
    into: KeyPair,
    *,
    cluster: str,
    name: str,
    hosts: Sequence[str],
    days: int = LEAF_DAYS,
    overwrite: bool = False,
    now: datetime | None = None,
) -> KeyPair:
    """Make a node's certificate, for both ends of a connection. `hosts`: where clients dial it.

    Raises ConfigError.
    """
    named = CertifiedName(cluster, Bearer.NODE, name)
    purposes = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    alternatives = [_host(host) for host in dict.fromkeys([*LOOPBACK, *hosts])]
    return _make_leaf(
        authority,
        into,
        named,
        x509.ExtendedKeyUsage(purposes),
        alternatives=alternatives,
        days=days,
        overwrite=overwrite,
        now=now,
    )


def make_user(
    authority: KeyPair,
    into: KeyPair,
    *,
    cluster: str,
    name: str,
    days: int = LEAF_DAYS,
    overwrite: bool = False,
    now: datetime | None = None,
) -> KeyPair:
    """Make a user's certificate, for the end that dials. Raises ConfigError."""
    named = CertifiedName(cluster, Bearer.USER, name)
    purpose = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
    return _make_leaf(
        authority, into, named, purpose, alternatives=[], days=days, overwrite=overwrite, now=now
    )


def _make_leaf(
    authority: KeyPair,
    into: KeyPair,
    named: CertifiedName,
    purpose: x509.ExtendedKeyUsage,
    *,
    alternatives: list[x509.GeneralName],
    days: int,
    overwrite: bool,
    now: datetime | None,
) -> KeyPair:
    try:
        cluster = str(uuid.UUID(named.cluster))
    except ValueError:
        raise ConfigError(
            f"{named.cluster!r} is no cluster's id",
            hint="`qsync info replicaset.uuid --target TARGET`",
        ) from None
    _refuse_existing(into, overwrite=overwrite)
    issuer, signer = _authority(authority)
    key = ec.generate_private_key(ec.SECP256R1())
    uri = x509.UniformResourceIdentifier(CertifiedName(cluster, named.bearer, named.name).uri)
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=False,
        crl_sign=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    identifier = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    builder = (
        _begun(_subject(named.name), issuer.subject, key, days, now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(purpose, critical=False)
        .add_extension(x509.SubjectAlternativeName([uri, *alternatives]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier),
            critical=False,
        )
    )
    _write(into, [builder.sign(signer, hashes.SHA256())], key)
    return into


def _begun(
    subject: x509.Name,
    issuer: x509.Name,
    key: EllipticCurvePrivateKey,
    days: int,
    now: datetime | None,
) -> x509.CertificateBuilder:
    if days < 1:
        raise ConfigError(f"a certificate that is good for {days} days is good for nothing")
    now = now or datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - EARLIER)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _authority(pair: KeyPair) -> tuple[x509.Certificate, EllipticCurvePrivateKey]:
    try:
        certificate = x509.load_pem_x509_certificate(pair.certificate.read_bytes())
        key = serialization.load_pem_private_key(pair.key.read_bytes(), password=None)
    except OSError as error:
        raise ConfigError(
            f"{error.filename} cannot be read: {error.strerror}",
            hint="`qsync cert ca` makes an authority, --ca-dir says where it is",
        ) from None
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{pair.certificate} and {pair.key} are no authority: {error}") from None
    if not isinstance(key, EllipticCurvePrivateKey):
        raise ConfigError(f"{pair.key} is no key of a curve, such as `qsync cert ca` makes")
    if key.public_key() != certificate.public_key():
        raise ConfigError(f"{pair.key} is not the key of {pair.certificate}")
    return certificate, key


def _subject(name: str) -> x509.Name:
    return x509.Name(
        [x509.NameAttribute(NameOID.COMMON_NAME, name[:_COMMON_NAME_CHARS_MAX] or "qsync")]
    )


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(ipv6.without_zone(host.strip("[]"))))
    except ValueError:
        pass
    try:
        return x509.DNSName(host)
    except ValueError:
        raise ConfigError(f"{host!r} is neither a name nor an address of a host") from None


def _refuse_existing(pair: KeyPair, *, overwrite: bool) -> None:
    for path in (pair.certificate, pair.key):
        if path.exists() and not overwrite:
            raise ConfigError(f"{path} exists already", hint="--overwrite replaces it")


def _write(pair: KeyPair, chain: Sequence[x509.Certificate], key: EllipticCurvePrivateKey) -> None:
    """Write the key first: a node that reads in between finds no pair and keeps the old one."""
    text = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    pem = b"".join(each.public_bytes(serialization.Encoding.PEM) for each in chain)
    try:
        pair.key.parent.mkdir(parents=True, exist_ok=True)
        pair.certificate.parent.mkdir(parents=True, exist_ok=True)
        write_private(pair.key, text)
        write_private(pair.certificate, pem, mode=_PUBLIC)
    except OSError as error:
        raise ConfigError(f"{error.filename} cannot be written: {error.strerror}") from None
