"""Certificate, key and authorities as files: read, found right or wrong, and read again.

Everything here is TLS 1.3 and nothing older. No tickets are given out, so that every connection
shows its certificate again, and a withdrawn authority counts from the next one on.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from qsync.errors import ConfigError
from qsync.tls import names
from qsync.tls.errors import TlsFailed
from qsync.tls.names import CertifiedName

_NO_CHECK_TIME: Final = 0x200000
"""X509_V_FLAG_NO_CHECK_TIME of OpenSSL: to look at a certificate that has expired."""
_ENCRYPTED: Final = "is encrypted, and a node cannot ask for the password"
State = tuple[tuple[int, int, int] | None, ...]
"""Inode, size and time of change of each file; None for one that is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsFiles:
    """Where they are. `certificate`: PEM, with those between it and the authority behind it."""

    ca: Path
    certificate: Path | None = None
    key: Path | None = None

    def state(self) -> State:
        """What tells that one of them is another file than before."""
        return tuple(_state(path) for path in (self.ca, self.certificate, self.key))


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateFacts:
    """What is known of one certificate. Times are seconds since 1970."""

    name: CertifiedName | None
    serial: str
    begins: float
    expires: float


def acceptor(files: TlsFiles, *, demand: bool) -> ssl.SSLContext:
    """For the side that is dialled. `demand`: who shows no certificate is turned away.

    Raises ConfigError naming the file that is wrong.
    """
    context = _context(ssl.PROTOCOL_TLS_SERVER, files)
    context.num_tickets = 0
    context.verify_mode = ssl.CERT_REQUIRED if demand else ssl.CERT_OPTIONAL
    return context


def dialer(files: TlsFiles, *, check_host: bool) -> ssl.SSLContext:
    """For the side that dials. `check_host`: the certificate must name the host as well.

    Raises ConfigError naming the file that is wrong.
    """
    context = _context(ssl.PROTOCOL_TLS_CLIENT, files)
    context.check_hostname = check_host
    return context


def facts(files: TlsFiles) -> CertificateFacts:
    """Of our own certificate, which must be one that the authorities signed, whatever the time.

    Found by shaking hands with ourselves, so that it is judged as the others will judge it. Raises
    ConfigError.
    """
    mine = acceptor(files, demand=False)
    other = _context(ssl.PROTOCOL_TLS_CLIENT, TlsFiles(ca=files.ca))
    other.check_hostname = False
    other.verify_flags |= _NO_CHECK_TIME
    try:
        shown = _shown(mine, other)
    except ssl.SSLError as error:
        raise ConfigError(
            f"{files.certificate} would be refused by who trusts {files.ca}: {words(error)}",
            hint="`qsync cert check` says what is wrong with a chain",
            details={"file": str(files.certificate)},
        ) from None
    return facts_of(shown)


def authorities_expire(context: ssl.SSLContext) -> float:
    """When the first of the authorities that are trusted does, in seconds since 1970."""
    return min(
        float(ssl.cert_time_to_seconds(str(each["notAfter"]))) for each in context.get_ca_certs()
    )


def authorities(context: ssl.SSLContext) -> tuple[str, ...]:
    """Numbers of the certificates of those that are trusted, in order."""
    return tuple(sorted(str(each["serialNumber"]) for each in context.get_ca_certs()))


def facts_of(shown: Mapping[str, object]) -> CertificateFacts:
    """Of a certificate as `ssl` shows it."""
    return CertificateFacts(
        name=names.named_in(shown),
        serial=str(shown["serialNumber"]),
        begins=float(ssl.cert_time_to_seconds(str(shown["notBefore"]))),
        expires=float(ssl.cert_time_to_seconds(str(shown["notAfter"]))),
    )


def out_of_date(found: CertificateFacts, now: float) -> str | None:
    """In words, when it is not good at that time, in seconds since 1970; else None."""
    if now < found.begins:
        return f"is not good before {day(found.begins)}"
    return f"has expired on {day(found.expires)}" if now > found.expires else None


def day(seconds: float) -> str:
    """A time since 1970, for people."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def words(error: ssl.SSLError) -> str:
    """What OpenSSL says, without where in its sources it says so."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _VERIFIED.get(error.verify_code, error.verify_message)
    reason = (error.reason or str(error)).lower().replace("_", " ")
    return _WORDS.get(reason, reason)


def said_by_tls(error: Exception) -> Exception:
    """What TLS said where a stream broke; the error itself where none was spoken."""
    cause = error if isinstance(error, ssl.SSLError) else error.__cause__
    return TlsFailed(words(cause)) if isinstance(cause, ssl.SSLError) else error


_UNSIGNED: Final = "no authority that is trusted here signed the other side's certificate"
_VERIFIED: Final = {
    9: "the other side's certificate is not good yet",  # X509_V_ERR_CERT_NOT_YET_VALID
    10: "the other side's certificate has expired",  # ..._CERT_HAS_EXPIRED
    18: _UNSIGNED,  # ..._DEPTH_ZERO_SELF_SIGNED_CERT
    19: _UNSIGNED,  # ..._SELF_SIGNED_CERT_IN_CHAIN
    20: _UNSIGNED,  # ..._UNABLE_TO_GET_ISSUER_CERT_LOCALLY
    26: "the other side's certificate is not for its end",  # ..._INVALID_PURPOSE
}
"""What is wrong with a certificate, by OpenSSL's number: its own words change with its version."""
_WORDS: Final = {
    "wrong version number": "the other side does not speak TLS",
    "http request": "the other side speaks HTTP",
    "unsupported protocol": "the other side does not speak TLS 1.3",
    "tlsv1 alert protocol version": "the other side does not speak TLS 1.3",
    "peer did not return a certificate": "the other side shows no certificate",
    "tlsv13 alert certificate required": "the other side wants a certificate of ours "
    "(of a client: QSYNC_CERTIFICATE and QSYNC_KEY)",
    "tlsv1 alert unknown ca": "the other side does not know who signed our certificate",
    "sslv3 alert certificate expired": "the other side says that our certificate has expired",
    "sslv3 alert bad certificate": "the other side refuses our certificate",
    "sslv3 alert unsupported certificate": "the other side says our certificate is of another kind",
}
"""OpenSSL's reasons that need saying better."""


def _shown(mine: ssl.SSLContext, other: ssl.SSLContext) -> Mapping[str, object]:
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = mine.wrap_bio(there, back, server_side=True)
    far = other.wrap_bio(back, there, server_side=False)
    for side in (far, near, far, near):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    return far.getpeercert() or {}


def _context(protocol: int, files: TlsFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_verify_locations(files.ca)
    except (OSError, ValueError) as error:
        raise _unreadable(files.ca, error, "holds no certificate of an authority") from None
    if files.certificate is not None:
        _load_own(context, files.certificate, files.key)
    return context


def _load_own(context: ssl.SSLContext, certificate: Path, key: Path | None) -> None:
    for path in (certificate, key or certificate):
        try:
            path.open("rb").close()
        except OSError as error:
            raise _unreadable(path, error, "") from None

    def no_password() -> str:
        raise _wrong(key or certificate, _ENCRYPTED)

    try:
        context.load_cert_chain(certificate, key, no_password)
    except ssl.SSLError as error:
        if key is None:
            why = "is no certificate with its key, and no file of a key is named"
        else:
            why = f"and {key} are no certificate and its key: {words(error)}"
        raise _wrong(certificate, why) from None


def _unreadable(path: Path, error: Exception, otherwise: str) -> ConfigError:
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
        return _wrong(path, f"cannot be read: {error.strerror}")
    return _wrong(path, otherwise)


def _wrong(path: Path, why: str) -> ConfigError:
    return ConfigError(f"{path} {why}", details={"file": str(path)})


def _state(path: Path | None) -> tuple[int, int, int] | None:
    if path is None:
        return None
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
