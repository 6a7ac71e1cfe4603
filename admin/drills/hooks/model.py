"""A file of hooks as plain objects: the cluster, its nodes, a command for each action."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from admin.drills.hooks.scopes import CLUSTER_FIELD, RECEIVER, SENDER
from admin.drills.hooks.templates import CommandTemplate

TIMEOUT_S = 30.0
"""The default time limit of a command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookedNode:
    """A node that hooks reach. `fields`: the values that commands may use, by name."""

    name: str
    address: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillHook:
    """The hook of one action. `timeout`: the time limit of the command in seconds."""

    action: str
    command: CommandTemplate
    timeout: float = TIMEOUT_S


@dataclass(frozen=True, slots=True, kw_only=True)
class HookFile:
    """A whole file. `cluster`: the required value of `cluster.name` on its nodes."""

    path: Path
    cluster: str
    nodes: tuple[HookedNode, ...]
    hooks: Mapping[str, DrillHook] = field(default_factory=dict)

    def of_node(self, node: HookedNode) -> dict[str, str]:
        """Return the fields of a command that is run for a node."""
        return {CLUSTER_FIELD: self.cluster, **node.fields}

    def of_link(self, sender: HookedNode, receiver: HookedNode) -> dict[str, str]:
        """Return the fields of a command that is run for the link from one node to another."""
        ends = ((SENDER, sender), (RECEIVER, receiver))
        found = {f"{end}.{name}": value for end, one in ends for name, value in one.fields.items()}
        return {CLUSTER_FIELD: self.cluster, **found}
