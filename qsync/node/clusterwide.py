"""Settings of the whole cluster on one node: what they make of its own configuration."""

from collections.abc import Mapping
from dataclasses import fields, replace

from qsync.config import NodeConfig


def effective(own: NodeConfig, shared: Mapping[str, str]) -> NodeConfig:
    """The configuration that counts: what the cluster shares goes before a node's own."""
    config = own
    for key, text in shared.items():
        section, _, name = key.partition(".")
        old = getattr(config, section)
        option = next(each for each in fields(old) if each.name == name)
        try:
            value = option.metadata["option"].kind.parse(text)
        except ValueError:
            continue  # as in `qsync.core.settings`: whoever does not know it keeps its own
        config = replace(config, **{section: replace(old, **{name: value})})
    return config
