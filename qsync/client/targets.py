"""Where a cluster is: `host:port`, several of them, or `qsync://user@h1,h2/`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from qsync.errors import ConfigError

PORT: Final = 3301
_SCHEME: Final = "qsync://"
_PORT_MAX: Final = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedAddresses:
    """The addresses to begin with; one is enough, the others are learnt from it."""

    addresses: tuple[str, ...]
    user: str | None = None


def parse(target: str | Iterable[str]) -> SeedAddresses:
    """Read a target. Raises ConfigError."""
    user: str | None = None
    if isinstance(target, str):
        text = target.strip()
        if text.startswith(_SCHEME):
            text = text.removeprefix(_SCHEME).split("/", 1)[0]
            name, at, text = text.rpartition("@")
            user = name if at else None
        parts = text.split(",")
    else:
        parts = list(target)
    addresses = tuple(dict.fromkeys(normal(part) for part in parts if part.strip()))
    if addresses:
        return SeedAddresses(addresses=addresses, user=user)
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
