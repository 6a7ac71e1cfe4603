"""The metrics addresses of the nodes of a lab: each keeps its own port."""

from collections.abc import Collection, Mapping

from admin.lab.node_file import METRICS
from admin.lab.ports import free_ports
from qsync.errors import ConfigError


def metrics_places(
    options: Mapping[str, str], nodes: int, used: Collection[int]
) -> list[str | None]:
    """Return the address of each of these nodes; port 0 becomes a free port that is not `used`.

    Raises ConfigError for one port for several nodes.
    """
    wanted = options.get(METRICS)
    if not wanted:
        return [None] * nodes
    from qsync.config import Address  # noqa: PLC0415 - reads YAML, which others of a lab do not

    try:
        address = Address.parse(wanted)
    except ValueError as error:
        raise ConfigError(f"{METRICS} = {wanted!r}: {error}") from None
    if not address.port:
        return [_at(address, port) for port in free_ports(nodes, others=used)]
    if nodes > 1:
        raise ConfigError(
            f"{METRICS} = {wanted}: {nodes} nodes of one machine cannot share a port",
            hint=f"with {METRICS}={_at(address, 0)} each node gets a free one",
        )
    return [str(address)]


def metrics_beside(other: str | None, used: Collection[int]) -> str | None:
    """Return a place for one more node, at the host of another one that has a place."""
    if other is None:
        return None
    return metrics_places({METRICS: _at(other, 0)}, 1, used)[0]


def _at(place: str, port: int) -> str:
    return f"{place.rpartition(':')[0]}:{port}"
