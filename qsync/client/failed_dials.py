"""What to do where no node could be asked, by what happened at the addresses."""

from collections.abc import Mapping

from qsync.client import other_cluster, refused_tls


def hint(met: Mapping[str, str]) -> str:
    """Return what to do next; empty if nothing special happened. `met`: what did, by address."""
    return other_cluster.hint(met) or refused_tls.hint(met)
