"""The limits of what a cluster keeps of a password: salt, iterations and keys."""

from typing import Final

KEY_BYTES: Final = 32
SALT_BYTES_MAX: Final = 64
ITERATIONS_MIN: Final = 4096
ITERATIONS_MAX: Final = 1_000_000
"""Of the derivation of a password's keys. RFC 7677 wants the lower one at least; the upper one is
what a node can make a client do."""
