"""The configuration of a node: a YAML file, then QSYNC_ variables, then flags."""

from qsync.config.kinds import Address
from qsync.config.node import NodeConfig
from qsync.config.sections import (
    ClusterSection,
    ElectionSection,
    LimitsSection,
    MetricsSection,
    NodeSection,
    PeerConfig,
    ReplicationSection,
    StoreSection,
    TlsSection,
)

__all__ = [
    "Address",
    "ClusterSection",
    "ElectionSection",
    "LimitsSection",
    "MetricsSection",
    "NodeConfig",
    "NodeSection",
    "PeerConfig",
    "ReplicationSection",
    "StoreSection",
    "TlsSection",
]
