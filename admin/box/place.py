"""The connections of a session: to the leader for data, and to one node."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar

from qsync.client import local_sockets, targets
from qsync.client.async_.database import AsyncDatabase
from qsync.errors import ConfigError, ProtocolError

if TYPE_CHECKING:
    from admin.cluster.surveys import ClusterSurvey
    from qsync.faults import Fault


P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class OpenConnection:
    """An open connection; `close` may be called at any time, in any order."""

    client: AsyncDatabase
    close: Callable[[], None]


class Pool(Protocol):
    """Opens connections, and runs blocking functions without stopping other tasks."""

    async def open(self, addresses: tuple[str, ...], *, direct: bool) -> OpenConnection:
        """Connect. Raises Unavailable or what the handshake refuses."""

    async def aside(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a function that blocks without stopping the others; its result."""


class NodeConnections:
    """A connection for data, one to the node `name`, and the known members."""

    def __init__(self, pool: Pool, data: OpenConnection) -> None:
        self.name = ""
        self._members: dict[str, str] = {}
        self._pool = pool
        self._data = data
        self._node: OpenConnection | None = None
        self._pinned: str | None = None

    @property
    def data(self) -> AsyncDatabase:
        """The connection for data: it finds the leader by itself."""
        return self._data.client

    @property
    def node(self) -> AsyncDatabase:
        """The connection to the one node that is spoken to."""
        assert self._node is not None
        return self._node.client

    @property
    def addresses(self) -> tuple[str, ...]:
        """Every member's address."""
        return tuple(self._members.values())

    @property
    def members(self) -> Mapping[str, str]:
        """Name and address of every member."""
        return self._members

    @property
    def pinned(self) -> bool:
        """Whether a node was named, so that the session stays with it."""
        return self._pinned is not None

    async def use(self, node: str | None) -> None:
        """Use this node from now on: a name, an id or an address; None follows the leader."""
        status = await self.data.status()
        self._learn(status)
        if node is None:
            self._pinned = None
            address = status.get("leader_address") or status.get("address")
        else:
            address = self._pinned = self._address_of(node, status)
        await self._speak_to(str(address))

    async def follow(self) -> str | None:
        """Switch to the leader, unless a node was named. Returns its name if it changed."""
        if self._pinned is not None:
            return None
        status = await self.data.status()
        self._learn(status)
        leader, name = status.get("leader_address"), status.get("leader_name")
        if not isinstance(leader, str) or name == self.name:
            return None
        await self._speak_to(leader)
        return self.name

    async def ask(self, address: str) -> Mapping[str, object]:
        """The whole `box.info` of any member."""
        held = await self._pool.open((address,), direct=True)
        try:
            return map_of(await held.client.info())
        finally:
            held.close()

    async def another(self, addresses: tuple[str, ...]) -> "NodeConnections":
        """Return separate connections to another cluster, or to this one again."""
        found = await by_network(self._pool, addresses)
        return NodeConnections(self._pool, await self._pool.open(found, direct=False))

    async def reopen(self) -> None:
        """Other connections to the same cluster, as whoever is meant by now; the old ones end.

        Raises what the handshake refuses; then they stay.
        """
        fresh = await self._pool.open(self.addresses, direct=False)
        self._data.close()
        self._data = fresh
        await self.use(self._pinned)

    async def beside(self, node: str) -> "NodeConnections":
        """Return separate connections to this cluster and that node."""
        made = await self.another(self.addresses)
        await made.use(node)
        return made

    def close(self) -> None:
        """Hang up; the session cannot be used any more."""
        self._data.close()
        if self._node is not None:
            self._node.close()

    async def traced(self, address: str, index: int, *, arm: float = 0.0) -> dict[str, object]:
        """Return what a member knows of a log entry; it records entries for `arm` seconds."""
        held = await self._pool.open((address,), direct=True)
        try:
            return await held.client.trace(index, arm=arm)
        finally:
            held.close()

    async def break_at(self, point: "Fault", *, armed: bool, seconds: float = 0.0) -> None:
        """Arm or disarm a fault point of the node. Raises AccessDenied where it is not allowed."""
        from admin.cluster import fault_points  # noqa: PLC0415 - blocking, and seldom asked for

        address = self._members[self.name]
        if armed:
            await self._pool.aside(fault_points.arm, address, point, seconds=seconds)
        else:
            await self._pool.aside(fault_points.disarm, address, point)

    async def aside(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a function that blocks without stopping the others; its result."""
        return await self._pool.aside(function, *args, **kwargs)

    async def survey(self) -> "ClusterSurvey":
        """Return the status of every member, requested in parallel."""
        from admin.cluster import surveys  # noqa: PLC0415 - threads and all, for questions that few ask

        return await self._pool.aside(surveys.survey, self.addresses)

    async def _speak_to(self, address: str) -> None:
        former = self._node
        self._node = await self._pool.open((address,), direct=True)
        if former is not None:
            former.close()
        self.name = str(await self.node.info("name"))

    def _learn(self, status: Mapping[str, object]) -> None:
        nodes = status.get("nodes")
        found = nodes if isinstance(nodes, list) else []
        self._members = {str(name): str(address) for _, name, address in found}

    def _address_of(self, node: str, status: Mapping[str, object]) -> str:
        nodes = status.get("nodes")
        for id_, name, address in nodes if isinstance(nodes, list) else []:
            if node in {str(id_), name, address}:
                return str(address)
        if ":" in node:
            return targets.normal(node)
        raise ConfigError(f"there is no node {node!r}; there are {', '.join(self._members)}")


async def by_network(pool: Pool, addresses: tuple[str, ...]) -> tuple[str, ...]:
    """The same addresses, those of nodes in the place of sockets; see `ask.by_network`."""
    if not any(each.startswith(local_sockets.SCHEME) for each in addresses):
        return addresses
    from admin.cluster import ask  # noqa: PLC0415 - only where there is a socket

    return tuple([await pool.aside(ask.by_network, each) for each in addresses])


def map_of(value: object) -> dict[str, object]:
    """The map that an answer must be. Raises ProtocolError."""
    if isinstance(value, dict):
        return value
    raise ProtocolError(f"not a map: {value!r}")
