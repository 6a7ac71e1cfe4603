"""A node is there, and TLS with it fails: what to look at, other than whether it runs."""

from collections.abc import Mapping
from typing import Final

from qsync.tls.errors import TlsFailed

_CODED: Final = f"{TlsFailed.code}: "
_FIX: Final = (
    "`qsync cert check` judges your certificate and a node's; TLS is spoken to targets of "
    "`qsyncs://`, and to all while QSYNC_CA is set"
)


def is_met(why: str) -> bool:
    """Return whether TLS failed with a node. `why`: what happened at its address."""
    return _CODED in why


def hint(met: Mapping[str, str]) -> str:
    """Return what to do if TLS failed with a node of these; empty if it did with none.

    `met`: what happened at each address.
    """
    return _FIX if any(is_met(why) for why in met.values()) else ""
