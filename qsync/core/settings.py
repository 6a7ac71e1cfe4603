"""What the shared settings make of a node's own configuration, and when the two do not fit."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from election.fencing import Fencing
from election.quorum import Quorum
from qsync import settings
from qsync.core.config import CoreConfig


def overlaid(own: CoreConfig, shared: Mapping[str, str]) -> CoreConfig:
    """What a node follows: its own configuration where the cluster says nothing."""
    config = own
    for key, text in shared.items():
        try:
            config = _with(config, key, settings.parse(key, text))
        except ValueError:
            # A leader of another release knew what it meant; whoever does not keeps its own.
            continue
    return config


def misfits(config: CoreConfig, *, changed: Collection[str] = settings.SETTINGS) -> Iterator[str]:
    """Why a configuration that is right in every part cannot work as a whole.

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


def _with(config: CoreConfig, key: str, value: object) -> CoreConfig:
    match key, value:
        case "election.timeout", float():
            return replace(config, election_timeout=value)
        case "election.fencing", Fencing():
            return replace(config, fencing=value)
        case "replication.timeout", float():
            return replace(config, replication_timeout=value)
        case "replication.synchro_quorum", Quorum():
            return replace(config, synchro_quorum=value)
        case "replication.synchro_timeout", float():
            return replace(config, synchro_timeout=value)
        case "replication.synchro_policy", str():
            return replace(config, synchro_policy=value)
        case "replication.queue_entries_max", int():
            return replace(config, queue_entries_max=value)
        case "replication.queue_bytes_max", int():
            return replace(config, queue_bytes_max=value)
        case _:
            raise AssertionError(key)
