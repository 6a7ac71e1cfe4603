"""Targets: `host:port`, several of them, or `qsync://user@h1,h2/`; `qsyncs://`: TLS.

`unix:PATH`: by the socket in a node's directory (`local_sockets`).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final, Self
from urllib.parse import unquote

from qsync import ipv6
from qsync.client import local_sockets, login, security
from qsync.client.arguments import each_of, text_of
from qsync.client.login import Credentials
from qsync.client.security import ClientTls
from qsync.default_port import DEFAULT_PORT
from qsync.errors import ConfigError

_TARGETS: Final = "host:port, or a list of them"
_SCHEME: Final = "qsync://"
_SECURE: Final = "qsyncs://"
_PORT_MAX: Final = 65_535
_PORT_DIGITS_MAX: Final = 5
_HOST_CHARS_MAX: Final = 255
"""A name of a host has fewer (RFC 1035), and an IPv6 address with a zone as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedAddresses:
    """The addresses to begin with; one is enough, the others are learnt from it.

    `tls`: how they are spoken to over TLS; None: they are not.
    """

    addresses: tuple[str, ...]
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    credentials: Credentials | None = None
    """The user to log in as; None: no login."""
    tls: ClientTls | None = None

    def logged_in(self, user: str | None, password: str | None) -> Self:
        """Return the same with credentials: given, else of the URL, else of the environment.

        Raises ConfigError for a user without a password, or where there are sockets only: nobody
        logs in there.
        """
        if all(local_sockets.path_of(each) is not None for each in self.addresses):
            if user or self.user:
                raise ConfigError(
                    "a client of a node's own socket is always admin there",
                    hint="leave the user away, or name an address of the network",
                )
            if not login.is_password_there():
                return self
        who = login.of(user or self.user, password or self.password)
        return replace(self, credentials=who)


def parse(target: str | Iterable[str], *, tls: ClientTls | None = None) -> SeedAddresses:
    """Read a target. `tls` counts where it says nothing of TLS. Raises ConfigError."""
    user = password = None
    tls = tls or security.of_environment()
    if isinstance(target, str):
        text = target.strip()
        if text.startswith((_SCHEME, _SECURE)):
            scheme, _, text = text.partition("://")
            text, _, path = text.partition("/")
            if f"{scheme}://" == _SECURE:
                tls = security.of_url(path.partition("?")[2])
            name, _, text = text.rpartition("@")
            name, _, word = name.partition(":")
            user, password = unquote(name) or None, unquote(word) or None
            parts = [_plain_zone(part) for part in text.split(",")]
        else:
            parts = text.split(",")
    else:
        parts = [text_of("an address", one) for one in each_of("target", target, _TARGETS)]
    addresses = tuple(dict.fromkeys(normal(part) for part in parts if part.strip()))
    if addresses:
        return SeedAddresses(addresses=addresses, user=user, password=password, tls=tls)
    raise ConfigError("no address to connect to", hint="give host:port")


def normal(address: str) -> str:
    """Return `host:port`, the port filled in; a socket by its whole path. Raises ConfigError."""
    if address.strip().startswith(local_sockets.SCHEME):
        return local_sockets.normal(address)
    host, port = split(address)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def split(address: str) -> tuple[str, int]:
    """Split into host and port. Raises ConfigError."""
    text = address.strip()
    if "@" in text:  # perhaps of a URL with a mistake in it: it is neither looked up nor shown
        raise ConfigError(
            "an address has no user and no password in it",
            hint="in a program qsync://USER:PASSWORD@HOST/, else QSYNC_USER and QSYNC_PASSWORD",
        )
    host, port = _parted(text)
    if (
        0 < len(host) <= _HOST_CHARS_MAX
        and "/" not in host
        and "\0" not in host
        and (not port or _is_port(port))
    ):
        return host, int(port) if port else DEFAULT_PORT
    meant = ipv6.bracketed(text)
    hint = "write host:port" if meant is None else f"write {meant}"
    raise ConfigError(
        f"{address!r:.80} is not an address", hint=f"{hint}; a port is a number from 1 to 65535"
    )


def of_network(address: str) -> str:
    """Return the address as `normal` does, if it is one of the network. Raises ConfigError.

    What a node says names no sockets and other files of this machine: whoever enters by a socket is
    admin there.
    """
    if address.strip().startswith(local_sockets.SCHEME):
        raise ConfigError(f"{address!r:.80} is not an address of the network")
    return normal(address)


def _plain_zone(part: str) -> str:
    """The address in a URL, where the sign before a zone is written %25 (RFC 6874)."""
    address, sign, zone = part.partition("%25")
    return f"{address}%{zone}" if sign and zone[:1] not in {"", "]"} else part


def _is_port(text: str) -> bool:
    short = len(text) <= _PORT_DIGITS_MAX  # Python takes no number of thousands of digits
    return short and text.isascii() and text.isdigit() and 0 < int(text) <= _PORT_MAX


def _parted(text: str) -> tuple[str, str]:
    """Host and port, empty if there is none. An empty host: it is not an address."""
    if text.startswith("["):
        inner, closed, rest = text[1:].partition("]")
        host = (ipv6.written(inner) or "") if closed else ""
        return (host, rest[1:]) if not rest or rest.startswith(":") else ("", "")
    if text.count(":") > 1:
        return ipv6.written(text) or "", ""
    host, _, port = text.partition(":")
    return host, port
