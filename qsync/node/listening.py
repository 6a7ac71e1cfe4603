"""Listens at every address of a name, at one port."""

import errno
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from qsync.config import Address
from qsync.errors import ConfigError
from qsync.lookups import Door
from qsync.node.effects import Socket

BACKLOG: Final = 1024
FREE_PORT_TRIES_MAX: Final = 16
"""A port that is free at one address of a name may be taken at another."""
_NOT_OURS: Final = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
"""An address is another machine's, or of a family that this one does not have."""

AnySocket = TypeVar("AnySocket", bound=Socket)
Tell = Callable[[str, Mapping[str, object]], None]
"""Takes the name and the fields of an event."""


def listen_at(
    option: str,
    address: Address,
    doors: Sequence[Door],
    *,
    opened: Callable[[int], AnySocket],
    tell: Tell,
) -> list[AnySocket]:
    """Return a listening socket for each of the doors. `opened` gives a socket of a family.

    An address that this machine does not have is told and left out, as long as it has another of
    them. Raises ConfigError if it has none, or if one is taken: there somebody else would answer.
    """
    tries = 1 if address.port else FREE_PORT_TRIES_MAX
    while True:
        attempt, tries = _Attempt(opened, address.port), tries - 1
        attempt.listen_at(doors)
        taken = attempt.failed is not None and attempt.failed[1].errno == errno.EADDRINUSE
        if not (taken and tries):
            break
    failed = attempt.failed or (None if attempt.found else attempt.missed[0])
    if failed is not None:
        raise _not_listening(option, address, *failed, only=len(doors) == 1) from failed[1]
    for host, error in attempt.missed:
        told = {"option": option, "name": address.host, "address": host, "why": error.strerror}
        tell("own_address_missing", told)
    return attempt.found


@dataclass(slots=True)
class _Attempt(Generic[AnySocket]):
    """`port`: 0 becomes the one that the first address gets from the system."""

    opened: Callable[[int], AnySocket]
    port: int
    found: list[AnySocket] = field(default_factory=list)
    missed: list[tuple[str, OSError]] = field(default_factory=list)
    failed: tuple[str, OSError] | None = None

    def listen_at(self, doors: Sequence[Door]) -> None:
        """Close everything again if one fails."""
        both = len({family for family, _ in doors}) > 1
        for family, where in doors:
            try:
                self._listen(family, where, both=both)
            except OSError as error:
                if error.errno in _NOT_OURS:
                    self.missed.append((where[0], error))
                    continue
                self.failed = where[0], error
                for each in self.found:
                    each.close()
                return

    def _listen(self, family: int, where: tuple[str | int, ...], *, both: bool) -> None:
        """`both`: IPv6 leaves the addresses of IPv4 to the socket of theirs."""
        sock = self.opened(family)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if both and family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sock.bind((where[0], self.port, *where[2:]))
            sock.listen(BACKLOG)
        except OSError:
            sock.close()
            raise
        self.port = self.port or sock.getsockname()[1]
        self.found.append(sock)


def _not_listening(
    option: str, address: Address, host: str, error: OSError, *, only: bool
) -> ConfigError:
    """`only`: the name has no other address."""
    at = "" if only else f" at {host}"
    if error.errno == errno.EADDRINUSE:
        hint = "another process has the port (is this node running already?)"
    else:
        hint = "the address is not of this machine, or the port is not for its users"
    if not only:
        hint += f"; or write one address of {address.host} instead of the name"
    return ConfigError(
        f"{option} = {address}: cannot be listened on{at}: {error.strerror or error}", hint=hint
    )
