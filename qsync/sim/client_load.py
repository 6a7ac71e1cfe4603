"""What the clients of a simulated cluster do, and how often."""

from dataclasses import dataclass
from typing import Final

SESSION_TTL_S: Final = 3600.0
SHORT_TTL_S: Final = 1.0
"""Where sessions end often."""
NAP_S: Final = 2.5
"""Longer than sessions live then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLoad:
    """What clients do. `think` is the mean pause between two operations, in seconds.

    `hands`: so many clients share a program, and its session. `naps`: how often one rests for long,
    which is for `nap` seconds. `session_ttl`: after so many of silence a session may end.
    """

    clients: int
    hands: int
    keys: int
    think: float
    timeout: float
    weights: tuple[tuple[str, int], ...]
    leased: float
    """So often a read asks for no quorum round but for the leader's lease."""
    naps: float = 0.0
    nap: float = NAP_S
    session_ttl: float = SESSION_TTL_S
