"""Tarantool's names of our options; values still need units."""

from collections.abc import Mapping

from qsync.options.core_options import CORE_OPTIONS

_SECTION = "replication"
"""The section of Tarantool's YAML files whose names are also accepted without it."""

ALIASES: Mapping[str, str] = {
    # box.cfg, flat
    **{each.tarantool: each.name for each in CORE_OPTIONS if each.tarantool},
    "instance_name": "node.name",
    "work_dir": "node.dir",
    "replication_anon": "replication.anon",
    "replication_anon_ttl": "replication.anon_ttl",
    "replicaset_uuid": "cluster.id",
    "replicaset_name": "cluster.name",
    # The sections of its YAML files; those that are called the same here need no line.
    **{
        in_section: each.name
        for each in CORE_OPTIONS
        if each.tarantool
        and not each.name.startswith("store.")
        and (in_section := f"{_SECTION}.{each.tarantool.removeprefix(f'{_SECTION}_')}") != each.name
    },
}
"""Tarantool's name to ours. Values are ours: durations and sizes have units."""


def canonical(key: str) -> str:
    """Return our name of an option, whichever of the two was used."""
    return ALIASES.get(key, key)
