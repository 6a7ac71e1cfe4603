"""Isolation levels, weakest first, and the anomalies that each prohibits."""

from enum import StrEnum


class IsolationLevel(StrEnum):
    """What a database guarantees about transactions."""

    READ_UNCOMMITTED = "read-uncommitted"
    READ_COMMITTED = "read-committed"
    SNAPSHOT_ISOLATION = "snapshot-isolation"
    SERIALIZABLE = "serializable"
    STRONG_SESSION_SNAPSHOT_ISOLATION = "strong-session-snapshot-isolation"
    STRONG_SNAPSHOT_ISOLATION = "strong-snapshot-isolation"
    STRONG_SESSION_SERIALIZABLE = "strong-session-serializable"
    STRICT_SERIALIZABLE = "strict-serializable"


_ALWAYS = frozenset(
    {
        "G0",
        "duplicate-elements",
        "future-read",
        "garbage",
        "incompatible-order",
        "own-append-missing",
        "own-order",
    }
)
# A transaction that committed on top of a failed value read it first: Elle's dirty-update implies
# G1a.
_COMMITTED = _ALWAYS | {"G1a", "G1b", "G1c", "dirty-update"}
# From this level on, reads of a transaction are repeatable.
_SNAPSHOT = _COMMITTED | {"G-single", "G-nonadjacent", "internal", "lost-update"}
_SERIALIZABLE = _SNAPSHOT | {"G2-item"}
_PROCESS = ("", "-process")
_REALTIME = ("", "-process", "-realtime")


def _with(names: frozenset[str], suffixes: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name + suffix for name in names for suffix in suffixes)


PROHIBITED: dict[IsolationLevel, frozenset[str]] = {
    IsolationLevel.READ_UNCOMMITTED: _ALWAYS,
    IsolationLevel.READ_COMMITTED: _COMMITTED,
    IsolationLevel.SNAPSHOT_ISOLATION: _SNAPSHOT,
    IsolationLevel.SERIALIZABLE: _SERIALIZABLE,
    IsolationLevel.STRONG_SESSION_SNAPSHOT_ISOLATION: _with(_SNAPSHOT, _PROCESS),
    IsolationLevel.STRONG_SNAPSHOT_ISOLATION: _with(_SNAPSHOT, _REALTIME),
    IsolationLevel.STRONG_SESSION_SERIALIZABLE: _with(_SERIALIZABLE, _PROCESS),
    IsolationLevel.STRICT_SERIALIZABLE: _with(_SERIALIZABLE, _REALTIME),
}
"""Names of anomalies, by the level that they violate."""
