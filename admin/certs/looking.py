"""Shows and verifies certificates in files: names, issuer, dates, and what is wrong."""

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from admin.cluster import short
from qsync import ipv6
from qsync.errors import ConfigError
from qsync.tls import names
from qsync.tls.names import Bearer, CertifiedName

SOON_DAYS: Final = 30
"""The number of days before its end from which a certificate should be replaced."""
_PRIVATE_MASK: Final = 0o077


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCertificate:
    """One certificate of a file. Times are in UTC."""

    subject: str
    issuer: str
    serial: str
    begins: datetime
    expires: datetime
    authority: bool
    names: tuple[CertifiedName, ...]
    hosts: tuple[str, ...]
    purposes: tuple[str, ...]
    fingerprint: str


@dataclass(frozen=True, slots=True)
class CertificateFault:
    """One thing that is wrong, and the fix. `grave`: the certificate will not work."""

    file: Path
    what: str
    fix: str
    grave: bool = True


def look(path: Path) -> list[ShownCertificate]:
    """Return the certificates in a file, in its order. Raises ConfigError."""
    return [_shown(each) for each in _read(path)]


def judge(
    certificate: Path,
    *,
    ca: Path,
    key: Path | None = None,
    wanted: CertifiedName | None = None,
    hosts: Sequence[str] = (),
    now: datetime | None = None,
) -> list[CertificateFault]:
    """Verify a certificate: chain, dates, names, key. Raises ConfigError."""
    chain, trusted, at = _read(certificate), _read(ca), now or datetime.now(UTC)
    found = [
        *_dates(certificate, chain, at),
        *_dates(ca, trusted, at),
        *_chain(certificate, chain, ca, trusted),
        *_names(certificate, _shown(chain[0]), wanted, hosts),
    ]
    return [*found, *(() if key is None else _key(certificate, chain[0], key))]


def _read(path: Path) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise ConfigError(f"{path} holds no certificate in PEM") from None


def _shown(found: x509.Certificate) -> ShownCertificate:
    alternatives = _extension(found, x509.SubjectAlternativeName)
    constraints = _extension(found, x509.BasicConstraints)
    purposes = _extension(found, x509.ExtendedKeyUsage)
    uris: list[str] = []
    hosts: list[str] = []
    if alternatives is not None:
        uris = alternatives.get_values_for_type(x509.UniformResourceIdentifier)
        hosts = alternatives.get_values_for_type(x509.DNSName)
        hosts += [str(each) for each in alternatives.get_values_for_type(x509.IPAddress)]
    return ShownCertificate(
        subject=_common_name(found.subject),
        issuer=_common_name(found.issuer),
        serial=f"{found.serial_number:X}",
        begins=found.not_valid_before_utc,
        expires=found.not_valid_after_utc,
        authority=constraints is not None and constraints.ca,
        names=tuple(name for uri in uris if (name := names.parse(uri)) is not None),
        hosts=tuple(hosts),
        purposes=tuple(_PURPOSES.get(each, each.dotted_string) for each in purposes or ()),
        fingerprint=found.fingerprint(hashes.SHA256()).hex(),
    )


_PURPOSES: Final = {
    ExtendedKeyUsageOID.SERVER_AUTH: "server",
    ExtendedKeyUsageOID.CLIENT_AUTH: "client",
}


def _dates(
    path: Path, found: Sequence[x509.Certificate], now: datetime
) -> Iterator[CertificateFault]:
    for each in found:
        whose, fix = _common_name(each.subject), "make another one: `qsync cert --help`"
        begins, ends = each.not_valid_before_utc, each.not_valid_after_utc
        if now < begins:
            fix = "wait, or set the clock of the machine that is wrong"
            yield CertificateFault(path, f"{whose} is not good before {begins:%F %R} UTC", fix)
        elif now > ends:
            yield CertificateFault(path, f"{whose} has expired on {ends:%F %R} UTC", fix)
        elif ends - now < timedelta(days=SOON_DAYS):
            left = short.days((ends - now).total_seconds())
            what = f"{whose} expires on {ends:%F %R} UTC, in {left}"
            yield CertificateFault(path, what, fix, grave=False)


def _chain(
    path: Path, chain: Sequence[x509.Certificate], ca: Path, trusted: Sequence[x509.Certificate]
) -> Iterator[CertificateFault]:
    """Check that each is signed by the next, and the last by a trusted authority."""
    for below, above in pairwise(chain):
        if not _signed(below, above):
            yield CertificateFault(
                path,
                f"{_common_name(below.subject)} is not signed by the next in the file, "
                f"{_common_name(above.subject)}",
                "put each certificate before the one that signed it",
            )
    last = chain[-1]
    if not any(_signed(last, each) or last == each for each in trusted):
        known = ", ".join(_common_name(each.subject) for each in trusted)
        yield CertificateFault(
            path,
            f"{_common_name(last.subject)} is signed by {_common_name(last.issuer)}, and {ca} has "
            f"{known}",
            "name the file of the authority that signed it, or have it signed by one of these",
        )


def _signed(below: x509.Certificate, above: x509.Certificate) -> bool:
    try:
        below.verify_directly_issued_by(above)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _names(
    path: Path, shown: ShownCertificate, wanted: CertifiedName | None, hosts: Sequence[str]
) -> Iterator[CertificateFault]:
    another = "make one that does: `qsync cert node` or `qsync cert client`"
    if len(shown.names) != 1:
        count = len(shown.names) or "no"
        yield CertificateFault(path, f"names {count} nodes or users of a cluster, not one", another)
    elif wanted is not None and shown.names[0] != wanted:
        told = f"is of {shown.names[0].uri}, not of {wanted.uri}"
        yield CertificateFault(path, told, another)
    if shown.names and shown.names[0].bearer is Bearer.NODE and "server" not in shown.purposes:
        yield CertificateFault(path, "is of a node and not for servers", another)
    if shown.names and "client" not in shown.purposes:
        yield CertificateFault(path, "is not for the end that dials", another)
    for host in hosts:
        if _plain(host) not in shown.hosts:
            told = f"does not name the host {host}, only {', '.join(shown.hosts) or 'none'}"
            yield CertificateFault(path, told, "make one with --host for it")


def _key(path: Path, leaf: x509.Certificate, key: Path) -> Iterator[CertificateFault]:
    try:
        mode = key.stat().st_mode
        found = serialization.load_pem_private_key(key.read_bytes(), password=None)
    except OSError as error:
        raise ConfigError(f"{key} cannot be read: {error.strerror}") from None
    except (ValueError, TypeError) as error:
        yield CertificateFault(key, f"is no key that can be used: {error}", "write it as PEM")
        return
    if found.public_key() != leaf.public_key():
        yield CertificateFault(key, f"is not the key of {path}", "name the key it was made with")
    if mode & _PRIVATE_MASK:
        fix = f"chmod 600 {key}; who may have read it can pretend to be its holder"
        yield CertificateFault(key, "can be read by others on this machine", fix)


def _plain(host: str) -> str:
    try:
        return str(ipaddress.ip_address(ipv6.without_zone(host.strip("[]"))))
    except ValueError:
        return host


E = TypeVar("E", bound=x509.ExtensionType)


def _extension(found: x509.Certificate, kind: type[E]) -> E | None:
    try:
        return found.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def _common_name(name: x509.Name) -> str:
    found = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[0].value) if found else name.rfc4514_string()
