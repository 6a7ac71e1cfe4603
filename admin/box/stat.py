"""`box.stat`: what the node has done since it was started."""

from dataclasses import dataclass, field

from admin.box.base import BoxSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Counts since the start. `requests` by what became of them, `net` of connections."""

    requests: dict[str, object] = field(default_factory=dict)
    latency: dict[str, object] = field(default_factory=dict)
    net: dict[str, object] = field(default_factory=dict)
    disk: dict[str, object] = field(default_factory=dict)


class Stat:
    """Questions about counts."""

    def __init__(self, box: BoxSession) -> None:
        self._box = box

    async def all(self) -> Statistics:
        """Everything that is counted."""
        status = await self._box.node.status()
        net = {
            "clients": status.get("clients"),
            "waiting": status.get("waiters"),
            "refused": status.get("refused"),
        }
        return Statistics(
            requests=_map(status.get("counters")),
            latency=_map(status.get("latency")),
            net=net,
            disk=_map(status.get("disk")),
        )


def _map(value: object) -> dict[str, object]:
    return {str(key): one for key, one in value.items()} if isinstance(value, dict) else {}
