"""Connections before their hello: how many, from which hosts, since when."""

from collections import Counter
from typing import Final, Self

from qsync.config import LimitsSection
from qsync.error_details import RETRY_AFTER
from qsync.errors import Overloaded
from qsync.node.connection import Connection
from qsync.node.origins import origin_of
from qsync.wire.session import Acceptor

HANDSHAKE_TIMEOUT: Final = 5.0
"""Seconds a stranger may take to say who it is, unless the configuration says otherwise."""
PER_ADDRESS_MAX: Final = 512
"""Strangers from one address, unless the configuration says otherwise."""


class Strangers:
    """Connections before their hello, each with its greeting; the oldest is in front.

    `timeout`: seconds that one may take. `per_address_max`: so many of one host at a time, so that
    one host alone cannot keep the others out.
    """

    def __init__(
        self, *, timeout: float = HANDSHAKE_TIMEOUT, per_address_max: int = PER_ADDRESS_MAX
    ) -> None:
        self.timeout = timeout
        self.per_address_max = per_address_max
        self._acceptors: dict[Connection, Acceptor] = {}
        self._hosts: dict[Connection, str] = {}
        self._counts: Counter[str] = Counter()

    @classmethod
    def of(cls, limits: LimitsSection) -> Self:
        """Make one from the configuration."""
        return cls(
            timeout=limits.handshake_timeout, per_address_max=limits.handshakes_per_address_max
        )

    def __len__(self) -> int:
        return len(self._acceptors)

    def __getitem__(self, connection: Connection) -> Acceptor:
        return self._acceptors[connection]

    def add(self, connection: Connection, acceptor: Acceptor, host: str) -> None:
        """Add a connection; its host may be unknown. Raises Overloaded for one too many."""
        host = origin_of(host)
        if host and self._counts[host] >= self.per_address_max:
            raise Overloaded(
                f"{self.per_address_max} connections from {host} have not said yet who they are "
                "(limits.handshakes_per_address_max)",
                details={RETRY_AFTER: 1.0},
            )
        self._acceptors[connection] = acceptor
        if host:
            self._hosts[connection] = host
            self._counts[host] += 1

    def remove(self, connection: Connection) -> None:
        """Remove a connection that has said who it is, or is gone."""
        self._acceptors.pop(connection, None)
        host = self._hosts.pop(connection, None)
        if host is not None:
            self._counts[host] -= 1
            if not self._counts[host]:
                del self._counts[host]

    def oldest(self) -> Connection:
        """The oldest connection."""
        return next(iter(self._acceptors))

    def late(self, now: float) -> list[Connection]:
        """Return those whose time is over."""
        begun = now - self.timeout
        return [each for each in self._acceptors if each.opened_at < begun]
