"""A drill as plain objects: targets, guards, load, steps, expectations."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from admin.lab.tags import ALLOWED_TAGS
from admin.workload.load_names import LoadKind

Value = str | float | bool
"""The value of an option of a step. Durations are in seconds."""

LEADER, ALL = "leader", "all"
"""Keywords for nodes in a step: the current leader, and every node."""
CRASH = "crash"
"""The option that names the node that dies during a step."""
CHECKS = {
    "linearizable": "every key is linearizable",
    "replicas_identical": "all replicas have the same rows",
    "total_conserved": "every transfer was executed exactly once",
    "rolled_back_invisible": "no rolled-back write is visible",
    "one_leader_per_term": "no term had two leaders",
    "restored_exactly": "the cluster has every write up to the restored point, and none after it",
}


class TargetRole(StrEnum):
    """The nodes that a target may select."""

    LEADER = "leader"
    FOLLOWER = "follower"
    ANY = "any"


class Pick(StrEnum):
    """Which of several nodes are selected, or how many."""

    FIRST = "first"
    RANDOM = "random"
    MINORITY = "minority"
    MAJORITY = "majority"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillTarget:
    """Nodes by role, selected when the drill begins; no node is in two targets. `node`: by name."""

    role: TargetRole = TargetRole.ANY
    pick: Pick = Pick.FIRST
    node: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition of the cluster that can be tested at any moment. `node` and `other` are targets.

    `holds` is for boolean probes, `above` and `below` are for measures.
    """

    probe: str
    node: str | None = None
    other: str | None = None
    holds: bool = True
    above: float | None = None
    below: float | None = None
    run: str | None = None

    def describe(self) -> str:
        """Describe it: `write_gap above 30`."""
        said = [self.probe if self.holds else f"not {self.probe}"]
        said += [f"on {self.node}"] if self.node else []
        said += [f"on a node other than {self.other}"] if self.other else []
        said += [f"above {self.above:g}"] if self.above is not None else []
        said += [f"below {self.below:g}"] if self.below is not None else []
        said += [repr(self.run)] if self.run else []
        return " ".join(said)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One line of the method. `on` are targets, nodes, `leader` or `all`."""

    verb: str
    on: tuple[str, ...] = ()
    options: Mapping[str, Value] = field(default_factory=dict)
    condition: Condition | None = None
    label: str | None = None

    def number(self, name: str, usual: float = 0.0) -> float:
        """Return an option that is a number, or a duration in seconds."""
        found = self.options.get(name, usual)
        assert isinstance(found, float), (name, found)
        return found

    def describe(self) -> str:
        """Describe it: `slow victim delay 0.2`, `wait 2 s`, `wait until writable (up to 10 s)`."""
        if self.verb == "wait" and "for" in self.options:
            return f"wait {self.number('for'):g} s"
        if self.verb == "until" and self.condition is not None:
            limit = f" (up to {self.number('within'):g} s)" if "within" in self.options else ""
            return f"wait until {self.condition.describe()}{limit}"
        said = [self.verb, *self.on]
        said += [f"{name} {_short(value)}" for name, value in self.options.items()]
        said += [self.condition.describe()] if self.condition else []
        return " ".join(said)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """Conditions for starting, and limits of the damage."""

    cluster_tags: tuple[str, ...] = ALLOWED_TAGS
    min_voters: int = 3
    healthy: bool = True
    max_nodes_down: int | None = None
    never_touch: tuple[str, ...] = ()
    time_limit: float = 120.0


CLIENTS_MAX = 100
"""The number of clients, one thread each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSpec:
    """The load: how many clients, which kind of work, and the pause between two operations."""

    kind: LoadKind = LoadKind.MIXED
    clients: int = 6
    think: float = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """`limits`: measures (or labels of steps) and the maximum of each."""

    limits: Mapping[str, float] = field(default_factory=dict)
    checks: tuple[str, ...] = tuple(CHECKS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drill:
    """A whole drill as data, read from a file or made in Python."""

    name: str
    title: str
    hypothesis: str
    method: tuple[Step, ...]
    targets: Mapping[str, DrillTarget] = field(default_factory=dict)
    guards: Guards = field(default_factory=Guards)
    stop_when: tuple[Condition, ...] = ()
    load: LoadSpec = field(default_factory=LoadSpec)
    steady_state: tuple[Condition, ...] = ()
    expect: Expectations = field(default_factory=Expectations)
    options: Mapping[str, str] = field(default_factory=dict)
    """Settings of the nodes in a lab made for the drill, such as `election.timeout`."""
    seed: int = 1
    catches: str | None = None
    """A mutant that it catches within a few seeds from its default one on.
    """


def _short(value: Value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
