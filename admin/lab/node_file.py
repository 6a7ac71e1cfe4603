"""The configuration file of a lab's node."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from admin.lab.ports import LOOPBACK
from admin.lab.tags import ALLOWED_TAGS
from admin.links.rules import DirectedLink, LinkPlan
from election.messages import Replica

METRICS = "metrics.listen"
_OWN = ("node.id", "node.name", "node.dir", "cluster.id", "cluster.name", "listen", "peers")
"""Options that differ between nodes, or follow from the lab."""
DEFAULTS = {
    "election.timeout": "1s",
    "replication.timeout": "250ms",
    "node.events": "true",
}
"""Settings of a lab that differ from the defaults: fast loopback, short waits, full checks.
"""


class LabPlace(Protocol):
    """A node of a lab: its id and name, its address and its directory."""

    @property
    def id(self) -> int:
        """Its replica id."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def address(self) -> str:
        """Its address."""

    @property
    def dir(self) -> Path:
        """Its directory."""

    @property
    def metrics(self) -> str | None:
        """The address of its metrics, if any."""


class LabPlan(Protocol):
    """A lab: its name and its nodes."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def cluster(self) -> str:
        """Its cluster's uuid."""

    @property
    def nodes(self) -> Sequence[LabPlace]:
        """Its nodes."""

    @property
    def links(self) -> LinkPlan | None:
        """How the nodes reach each other, where a proxy carries their links."""


def config_text(lab: LabPlan, node: LabPlace, options: Mapping[str, str]) -> str:
    """The configuration file of one node. `options` are dotted, such as `election.timeout`."""
    sections: dict[str, list[str]] = {
        "node": [f"id: {node.id}", f"name: {node.name}", f"dir: {json.dumps(str(node.dir))}"],
        "cluster": [f"id: {lab.cluster}", f"name: {lab.name}"],
    }
    own = {} if node.metrics is None else {METRICS: node.metrics}
    for key, value in (DEFAULTS | _breakable(options) | dict(options) | own).items():
        section, _, option = key.partition(".")
        sections.setdefault(section, []).append(f"{option}: {json.dumps(value)}")
    lines = [f"# Node {node.name} of the lab {lab.name}; `qsync config check` explains it."]
    for section, settings in sections.items():
        lines += [f"{section}:", *(f"  {setting}" for setting in settings)]
    lines += [f"listen: {node.address}", "peers:"]
    lines += [_peer_line(lab, node, peer) for peer in lab.nodes]
    return "\n".join(lines) + "\n"


def _breakable(options: Mapping[str, str]) -> dict[str, str]:
    """Allow fault points on the nodes if the tag of the lab allows drills."""
    return {"node.faults": "true"} if options.get("cluster.tag") in ALLOWED_TAGS else {}


def _peer_line(lab: LabPlan, node: LabPlace, peer: LabPlace) -> str:
    via = ""
    if lab.links is not None and peer != node:
        port = lab.links.ports.get(DirectedLink(node.name, peer.name))
        if port is not None:  # a node that was added later is dialled directly
            via = f", via: {json.dumps(f'{LOOPBACK}:{port}')}"
    return f"  - {{id: {peer.id}, name: {peer.name}, address: {json.dumps(peer.address)}{via}}}"


def check_options(options: Mapping[str, str], *, nodes: int) -> None:
    """Check options that all nodes of a lab get, of so many. Raises ConfigError."""
    from qsync.config import (  # noqa: PLC0415 - reads YAML, which others of a lab do not
        Address,
        NodeConfig,
        PeerConfig,
    )

    peers = [
        PeerConfig(
            id=Replica(number), name=f"n{number}", address=Address.parse(f"{LOOPBACK}:{number}")
        )
        for number in range(1, nodes + 1)
    ]
    NodeConfig.draft({"node.id": "1", "node.name": "n1", **options}, peers=peers)


def options_of(path: Path) -> dict[str, str]:
    """Return the options of a file that all nodes of the lab share, by dotted key."""
    from qsync.config import NodeConfig  # noqa: PLC0415 - reads YAML, which others of a lab do not

    config = NodeConfig.load(path, {})
    values = config.values() | {"cluster.secret": config.cluster.secret.text}
    return {
        key: values[key]
        for key in config.places
        if key in values and not key.startswith(("peers.", *_OWN))
    }
