"""IPv6 addresses in text: which text is one, and how it is written with a port."""

import ipaddress

from qsync.default_port import DEFAULT_PORT


def written(host: str) -> str | None:
    """Return the address in its shortest form, its zone kept; None for what is none of IPv6."""
    address, percent, zone = host.partition("%")
    if percent and (not zone or ":" in zone):
        return None
    try:
        found = ipaddress.IPv6Address(address)
    except ValueError:
        return None
    short = str(found) if found.ipv4_mapped is None else f"::ffff:{found.ipv4_mapped}"
    return short + percent + zone


def without_zone(host: str) -> str:
    """Return what a certificate calls a host: a zone is the name of a link on one machine only."""
    return host if written(host) is None else host.partition("%")[0]


def bracketed(text: str) -> str | None:
    """Return how an address without brackets is meant, perhaps, with a port behind it or without.

    None: it is not an address of IPv6 either way.
    """
    host, _, port = text.rpartition(":")
    if written(host) is not None and port.isdecimal():
        return f"[{host}]:{port}"
    return None if written(text) is None else f"[{text}]:{DEFAULT_PORT}"
