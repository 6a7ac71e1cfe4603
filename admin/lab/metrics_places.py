"""Where the nodes of a lab serve their figures: each has a port of its own, which it keeps."""

from collections.abc import Collection, Mapping

from admin.lab.node_file import METRICS
from admin.lab.ports import more_free_ports
from qsync.config.kinds import Address
from qsync.errors import ConfigError


def metrics_places(
    options: Mapping[str, str], nodes: int, used: Collection[int]
) -> list[str | None]:
    """Return the place of each of so many nodes; port 0 becomes a free port that is not `used`.

    Raises ConfigError for one port for several nodes.
    """
    wanted = options.get(METRICS)
    if not wanted:
        return [None] * nodes
    try:
        address = Address.parse(wanted)
    except ValueError as error:
        raise ConfigError(f"{METRICS} = {wanted!r}: {error}") from None
    if not address.port:
        return [_at(address, port) for port in more_free_ports(nodes, used)]
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
    return metrics_places({METRICS: _at(Address.parse(other), 0)}, 1, used)[0]


def _at(address: Address, port: int) -> str:
    return f"{address.rpartition(':')[0]}:{port}"
