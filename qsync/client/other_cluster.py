"""Another cluster answers at addresses of this one, as after a recovery or a restore."""

from collections.abc import Mapping
from typing import Final

from qsync.errors import ForeignCluster

CONNECT_ANEW: Final = (
    "after `qsync recover` or a restore connect anew: a client stays with the cluster that it met "
    "first, and certificates are of one cluster"
)


def where(met: Mapping[str, str]) -> str:
    """Return at which addresses another cluster answers, in words; empty where none does.

    `met`: what happened at each address.
    """
    there = [address for address, why in met.items() if why.startswith(ForeignCluster.code)]
    return f"another cluster answers at {', '.join(there)}" if there else ""


def hint(met: Mapping[str, str]) -> str:
    """Return what to do then; empty where none does."""
    there = where(met)
    return f"{there}; {CONNECT_ANEW}" if there else ""
