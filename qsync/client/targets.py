"""Where a cluster is: `host:port`, several of them, or `qsync://user@h1,h2/`; `qsyncs://`: TLS."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from qsync.client import security
from qsync.client.security import ClientTls
from qsync.errors import ConfigError

PORT: Final = 3301
_SCHEME: Final = "qsync://"
_SECURE: Final = "qsyncs://"
_PORT_MAX: Final = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedAddresses:
    """The addresses to begin with; one is enough, the others are learnt from it.

    `tls`: how they are spoken to over TLS; None: they are not.
    """

    addresses: tuple[str, ...]
    user: str | None = None
    tls: ClientTls | None = None


def parse(target: str | Iterable[str], *, tls: ClientTls | None = None) -> SeedAddresses:
    """Read a target. `tls` counts where it says nothing of TLS. Raises ConfigError."""
    user: str | None = None
    tls = tls or security.of_environment()
    if isinstance(target, str):
        text = target.strip()
        if text.startswith((_SCHEME, _SECURE)):
            scheme, _, text = text.partition("://")
            text, _, path = text.partition("/")
            if f"{scheme}://" == _SECURE:
                tls = security.of_url(path.partition("?")[2])
            name, at, text = text.rpartition("@")
            user = name if at else None
        parts = text.split(",")
    else:
        parts = list(target)
    addresses = tuple(dict.fromkeys(normal(part) for part in parts if part.strip()))
    if addresses:
        return SeedAddresses(addresses=addresses, user=user, tls=tls)
    raise ConfigError("no address to connect to", hint="give host:port")


def normal(address: str) -> str:
    """`host:port`, with the port filled in. Raises ConfigError."""
    host, port = split(address)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def split(address: str) -> tuple[str, int]:
    """Host and port. Raises ConfigError."""
    text = address.strip()
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
    elif text.count(":") > 1:
        host, port = text, ""
    else:
        host, _, port = text.partition(":")
    if host and (not port or (port.isascii() and port.isdigit() and 0 < int(port) <= _PORT_MAX)):
        return host, int(port) if port else PORT
    raise ConfigError(f"{address!r} is no address", hint="write host:port")
