"""Which hosts count as one where a limit goes by address."""

import ipaddress
from typing import Final

NETWORK_BITS: Final = 64
"""Of IPv6: the owner of one address has all of such a network."""


def origin_of(host: str) -> str:
    """Return the address of IPv4, the network of IPv6; names and local addresses as they are."""
    if ":" not in host:
        return host
    try:
        found = ipaddress.IPv6Address(host)
    except ValueError:
        return host
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    if found.is_loopback or found.is_link_local:
        return host
    whole = int(found) >> NETWORK_BITS << NETWORK_BITS
    return f"{ipaddress.IPv6Address(whole)}/{NETWORK_BITS}"
