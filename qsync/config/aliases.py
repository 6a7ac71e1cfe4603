"""Tarantool's names of our options: its files and habits carry over, units excepted."""

from collections.abc import Mapping

ALIASES: Mapping[str, str] = {
    # box.cfg, flat
    "election_mode": "election.mode",
    "election_timeout": "election.timeout",
    "election_fencing_mode": "election.fencing",
    "replication_timeout": "replication.timeout",
    "replication_synchro_quorum": "replication.synchro_quorum",
    "replication_synchro_timeout": "replication.synchro_timeout",
    "replication_synchro_queue_max_size": "replication.queue_bytes_max",
    "instance_name": "node.name",
    "work_dir": "node.dir",
    "replicaset_uuid": "cluster.id",
    "replicaset_name": "cluster.name",
    # The sections of its YAML files; those that are called the same here need no line.
    "replication.election_mode": "election.mode",
    "replication.election_timeout": "election.timeout",
    "replication.election_fencing_mode": "election.fencing",
    "replication.synchro_queue_max_size": "replication.queue_bytes_max",
}
"""Their name to ours. Values are ours: durations and sizes have units."""


def canonical(key: str) -> str:
    """Our name of an option, whichever of the two was used."""
    return ALIASES.get(key, key)
