"""Directed links as data: what may be wrong with one, and on which ports they are."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import permutations
from typing import NamedTuple

from qsync.errors import ConfigError

DELAY_S_MAX = 60.0
RATE_BYTES_MIN = 1024


class DirectedLink(NamedTuple):
    """Messages of `source` to `target`, and the answers on the same connection."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source}>{self.target}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRule:
    """All of these may hold together. Seconds, and bytes a second; 0 means not at all.

    `cut`: nothing passes, and nobody is told, as when packets are dropped. `delay` and `jitter`
    hold each piece back and keep the order. `stall`: chance (0..1) that a piece waits 0.2 s or a
    multiple of it, as a lost packet waits to be sent again. `flap`: cut and whole in turn, each
    for so long. `refuse`: connections are reset, and new ones too. `half_open`: what comes over
    connections that stand is swallowed for good, also after it is healed, and new ones are whole.
    `flip`: chance (0..1) that one bit of a piece arrives as the other.
    """

    cut: bool = False
    delay: float = 0.0
    jitter: float = 0.0
    stall: float = 0.0
    rate: float = 0.0
    flap: float = 0.0
    refuse: bool = False
    half_open: bool = False
    flip: float = 0.0

    def __post_init__(self) -> None:
        for name in ("delay", "jitter", "flap"):
            _within(name, getattr(self, name), 0.0, DELAY_S_MAX, "seconds")
        for name in ("stall", "flip"):
            _within(name, getattr(self, name), 0.0, 1.0, "chance")
        if self.rate:
            _within("rate", self.rate, RATE_BYTES_MIN, float("inf"), "bytes a second")

    @property
    def whole(self) -> bool:
        """Nothing is wrong."""
        return self == WHOLE

    def cut_at(self, seconds: float) -> bool:
        """Does nothing pass, `seconds` after the rule came into force?"""
        return self.cut or (self.flap > 0.0 and int(seconds / self.flap) % 2 == 0)

    def as_json(self) -> dict[str, object]:
        """Only what is not as usual."""
        usual = asdict(WHOLE)
        return {name: value for name, value in asdict(self).items() if value != usual[name]}

    def describe(self) -> str:
        """For people: `cut`, `delay 0.2 s, jitter 0.05 s`, `whole`."""
        units = {
            "delay": " s",
            "jitter": " s",
            "flap": " s",
            "rate": " B/s",
            "stall": "",
            "flip": "",
        }
        said = [
            name.replace("_", "-") if value is True else f"{name} {value:g}{units[name]}"
            for name, value in self.as_json().items()
            if isinstance(value, bool | int | float)
        ]
        return ", ".join(said) or "whole"


def rule_from(found: Mapping[str, object]) -> LinkRule:
    """From JSON. Raises ConfigError naming what is wrong."""
    known = {each.name: each.type for each in fields(LinkRule)}
    given: dict[str, float | bool] = {}
    for name, value in found.items():
        if name not in known:
            raise ConfigError(f"a link has no {name!r}; it has {', '.join(known)}")
        wanted = bool if known[name] is bool else float
        right = isinstance(value, bool) if wanted is bool else isinstance(value, int | float)
        if not right or not isinstance(value, bool | int | float):
            raise ConfigError(f"{name} of a link is no {wanted.__name__}: {value!r}")
        given[name] = value
    return LinkRule(**given)  # type: ignore[arg-type]  # each was looked at above


def links_between(
    nodes: Iterable[str], one: str, other: str | None = None, *, one_way: bool = False
) -> list[DirectedLink]:
    """The links of a pair, both ways by default; of one node with all without `other`.

    Raises ConfigError for nodes that are not there.
    """
    names = list(nodes)
    for name in (one, one if other is None else other):
        if name not in names:
            raise ConfigError(f"there is no node {name!r}; there are {', '.join(names)}")
    others = [name for name in names if name != one] if other is None else [other]
    if one in others:
        raise ConfigError(f"a node has no link to itself, {one!r}")
    return across(names, [one], others, "out" if one_way else "both")


def across(
    names: Sequence[str], inside: Collection[str], outside: Collection[str], way: str
) -> list[DirectedLink]:
    """Between two groups, or between one and everybody else; `way` as seen from `inside`.

    Both directed links are meant by `both`. A link carries the answers on its connections, too, so
    that one cut link makes one node unable to reach the other, and not the other way round.
    """
    others = outside or [name for name in names if name not in inside]
    out = [DirectedLink(here, there) for here in inside for there in others if here != there]
    back = [DirectedLink(there, here) for here in inside for there in others if here != there]
    both = dict.fromkeys(out + back)  # each once, also where the groups overlap
    return {"out": out, "in": back, "both": list(both)}[way]


def ring(names: Sequence[str]) -> list[DirectedLink]:
    """The cuts after which every node reaches only its neighbours; of three, two are apart."""
    size = len(names)
    if size == 3:  # noqa: PLR2004 - in a ring of three all are neighbours
        return _pairs([(names[0], names[1])])
    return _pairs(
        [
            (one, two)
            for at, one in enumerate(names)
            for to, two in enumerate(names)
            if at < to and min(to - at, size - to + at) > 1
        ]
    )


def bridge(names: Sequence[str], middle: str) -> list[DirectedLink]:
    """The cuts after which two halves reach each other only through one node."""
    rest = [name for name in names if name != middle]
    half = len(rest) // 2
    return _pairs([(one, two) for one in rest[:half] for two in rest[half:]])


def _pairs(pairs: list[tuple[str, str]]) -> list[DirectedLink]:
    return [link for one, two in pairs for link in (DirectedLink(one, two), DirectedLink(two, one))]


def _within(name: str, value: float, low: float, high: float, unit: str) -> None:
    if not low <= value <= high:
        raise ConfigError(f"{name} {value:g} of a link is not within {low:g}..{high:g} {unit}")


WHOLE = LinkRule()


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
