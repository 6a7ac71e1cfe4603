"""Limits below the minimum of a file, so that a short run reaches them."""

from dataclasses import replace
from typing import Final

from qsync import features
from qsync.core.config import CoreConfig
from qsync.sim.swarm import Swarm

UNKNOWN_YET: Final = frozenset({features.CONSUMER_OWNERS})
"""Features that nodes of most runs do not know, as those of a former release: a greeting that names
one more is longer, and so is the log, and no recorded seed would reach what it reached. They know
them in runs with `slow_names`, which is younger. Empty it when the corpus is drawn again.
"""


def limited(swarm: Swarm, config: CoreConfig) -> CoreConfig:
    """A node's configuration with the limits of the run."""
    unknown = frozenset() if "slow_names" in swarm.variety.habits else UNKNOWN_YET
    config = replace(
        config,
        append_entries_max=swarm.limits.append_entries_max,
        append_bytes_max=swarm.limits.append_bytes_max,
        confirm_delay=swarm.timing.confirm_delay,
        features=config.features - unknown,
    )
    retention = swarm.variety.retention
    if retention is None:
        return config
    return replace(
        config,
        checkpoint_interval=retention.interval,
        checkpoint_wal_threshold=retention.threshold,
        checkpoint_count=retention.count,
        wal_cleanup_delay=retention.cleanup_delay,
        wal_retention_size=retention.size,
    )
