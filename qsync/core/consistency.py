"""How fresh a read must be, by name."""

from enum import StrEnum


class Consistency(StrEnum):
    """The condition that a read waits for (protocol.md section 7, Reads)."""

    LINEARIZABLE = "linearizable"
    LEASE = "lease"
    AT_LEAST = "at_least"
    LOCAL = "local"
