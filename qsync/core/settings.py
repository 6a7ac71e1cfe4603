"""Combines the shared settings with a node's own configuration, and finds misfits."""

from collections.abc import Collection, Iterator, Mapping

from qsync import features, settings
from qsync.core.config import CoreConfig


def overlaid(own: CoreConfig, shared: Mapping[str, str]) -> CoreConfig:
    """Return the settings that a node follows: its own where the cluster has none."""
    config = own
    for key, text in shared.items():
        if key == features.SETTING:
            continue  # what the log is written in, no option of a node
        try:
            config = config.with_options({key: settings.parse(key, text)})
        except ValueError:
            # A leader of another release knew this value; a node that does not keeps its own.
            continue
    return config


def misfits(config: CoreConfig, *, changed: Collection[str] = settings.SETTINGS) -> Iterator[str]:
    """Return why a configuration whose parts are all valid cannot work as a whole.

    A quorum is judged when it is `changed`: a number that was right for fewer voters is lifted.
    """
    why = config.synchro_quorum.misfit(len(config.voters))
    if why is not None and "replication.synchro_quorum" in changed:
        yield f"replication.synchro_quorum {config.synchro_quorum} {why}"
    if 2 * config.replication_timeout > config.election_timeout:
        yield (
            f"election.timeout {config.election_timeout:g} s is less than two heartbeats "
            f"(replication.timeout {config.replication_timeout:g} s)"
        )
