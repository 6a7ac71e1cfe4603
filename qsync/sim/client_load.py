"""The load of the clients of a simulated cluster."""

from dataclasses import dataclass
from typing import Final

SESSION_TTL_S: Final = 3600.0
SHORT_TTL_S: Final = 1.0
"""For runs in which sessions end often."""
BY_HABIT: Final = {
    "schema": "schema",
    "stranger": "stranger",
    "interactive": "leaving",
    "follow": "leaving",
}
"""Operations that only runs with that habit have."""
NAP_S: Final = 2.5
"""Longer than the session lifetime of these runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLoad:
    """The load of clients. `think` is the mean pause between two operations, in seconds.

    `hands`: the number of clients that share a program and its session. `naps`: how often one
    pauses for `nap` seconds. `session_ttl`: seconds without requests after which a session may end.
    """

    clients: int
    hands: int
    keys: int
    think: float
    timeout: float
    weights: tuple[tuple[str, int], ...]
    leased: float
    """How often a read uses the leader's lease instead of a quorum round."""
    impatience: float = 0.0
    """How often a client asks for the outcome of a write before it knows it."""
    resolves: float = 0.5
    """How often a program asks again for the outcome of an unknown write."""
    naps: float = 0.0
    nap: float = NAP_S
    session_ttl: float = SESSION_TTL_S
