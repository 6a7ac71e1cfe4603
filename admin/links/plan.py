"""Where the links of a lab go: a port for each directed link, and one to tell the proxy."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from admin.links.rules import DirectedLink


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPlan:
    """Loopback ports. `ports[link]`: where its source dials its target."""

    control: int
    ports: Mapping[DirectedLink, int]

    def as_json(self) -> dict[str, object]:
        """As it stands in the state file of the lab."""
        return {
            "control": self.control,
            "ports": [[*link, port] for link, port in self.ports.items()],
        }

    @staticmethod
    def from_json(found: Mapping[str, object]) -> "LinkPlan":
        """Raises KeyError, TypeError or ValueError for what is no plan."""
        control, ports = found["control"], found["ports"]
        if not isinstance(control, int) or not isinstance(ports, list):
            raise TypeError("links: a control port and a list of ports are wanted")
        return LinkPlan(
            control=control,
            ports={
                DirectedLink(str(source), str(target)): int(port) for source, target, port in ports
            },
        )


def ports_needed(nodes: int) -> int:
    """For every ordered pair, and to tell the proxy."""
    return nodes * (nodes - 1) + 1


def lay_out(names: Sequence[str], ports: Iterator[int]) -> LinkPlan:
    """Give every ordered pair of nodes a port."""
    control = next(ports)
    return LinkPlan(
        control=control,
        ports={DirectedLink(*pair): next(ports) for pair in permutations(names, 2)},
    )
