"""The numbered rules of protocol.md and membership.md, and why some of them have no mutant here."""

from collections.abc import Mapping, Sequence
from typing import Final

_NOT_BUILT: Final = "not implemented yet"

RULES: Final[Mapping[str, str]] = {
    "protocol.md 1": "an entry is named by term and index",
    "protocol.md 2": "elections, votes, fencing, leader transfer",
    "protocol.md 3.1": "a leader writes after its own PROMOTE is confirmed",
    "protocol.md 3.2": "transactions are executed, and conditions checked, on the head state",
    "protocol.md 3.3": "which transactions are synchronous",
    "protocol.md 3.4": "one batch, sent in parallel with the leader's own write",
    "protocol.md 3.5": "which entries an ack covers",
    "protocol.md 3.6": "a leader confirms by an entry of its own term",
    "protocol.md 3.7": "clients are answered before the CONFIRM is durable",
    "protocol.md 3.8": "the confirmed index and rolled-back stretches",
    "protocol.md 3.9": "when asynchronous writes are visible",
    "protocol.md 4": "fate is a function of the log; pending data is not readable",
    "protocol.md 5": "rollback, outcomes for clients, exactly once",
    "protocol.md 6": "take-over",
    "protocol.md 7": "replication, divergence, folding, reads",
    "protocol.md 8": "supervised mode",
    "membership.md M1 a": "one entry adds or removes one voter",
    "membership.md M1 b": "a configuration is in force when it is appended",
    "membership.md M1 c": "an empty log has no configuration",
    "membership.md M1 d": "votes and acks count by pair of replica id and instance",
    "membership.md M2 a": "a change waits for the leader's own PROMOTE",
    "membership.md M2 b": "a change waits for the previous one",
    "membership.md M2 c": "a change is one step from the configuration at the head",
    "membership.md M3 a": "a ROLLBACK undoes a change",
    "membership.md M3 b": "a ROLLBACK of a change is a change itself",
    "membership.md M3 c": "a ROLLBACK of a change is in force when it is appended",
    "membership.md M3 d": "a configuration that was rolled back no longer counts",
    "membership.md M3 e": "an inherited change is not rolled back",
    "membership.md M3 f": "a leader rolls a change back before it fences itself",
    "membership.md M4 a": "a new voter has the log",
    "membership.md M4 b": "a leader that leaves does not count itself",
    "membership.md M4 c": "a leader that leaves hands over",
    "membership.md M4 d": (
        "a removed voter may campaign until it knows that its removal is confirmed"
    ),
    "membership.md M4 e": "a node votes although its own log does not name it as a voter",
    "membership.md M4 f": "a removed node gets its removal, and nothing after it",
    "membership.md M5": "a lost disk is a stranger; a damaged log is repaired",
    "membership.md M6 a": "a snapshot has the configuration in force at its entry",
    "membership.md M6 b": "a snapshot comes from the leader and is ahead of the confirmed index",
    "membership.md M6 c": "the log behind the entry of a snapshot is kept",
    "membership.md M6 d": "the entry of a snapshot counts as part of the log",
    "membership.md M6 e": "installing a snapshot equals receiving the log up to its index",
    "membership.md M6 f": "replay starts at the folded index",
    "membership.md M6 g": "only entries that are durably folded are trimmed",
    "membership.md M7": "an old copy of a directory",
    "membership.md M8 a": "a forced recovery keeps the survivor's whole log, in a cluster of one",
    "membership.md M8 b": "a generation is an id, not a number",
    "membership.md M8 c": "configurations of older generations do not count",
    "membership.md M8 d": "nodes of different generations exchange no messages",
    "membership.md M8 e": "a node that meets a newer generation is superseded",
    "membership.md M8 f": "a generation has terms of its own",
    "membership.md M8 g": "sessions end with their generation",
    "membership.md M8 h": "no lease of the old generation is alive when the new one begins",
    "membership.md M8 i": "a restore is a recovery whose log ends at the chosen index",
    "membership.md M9": "supervised elections",
    "membership.md M10": "the quorum expression is part of the configuration",
    "membership.md M11": "a voter gives a promise to its leader",
    "membership.md M11 a": "a lease runs from the start of its round",
    "membership.md M11 b": "a lease is shorter than the promise behind it",
    "membership.md M11 c": "a restarted voter waits one promise before it votes",
    "membership.md M11 d": "a candidate keeps its own promise",
    "membership.md M11 e": "NewTerm waits like a vote",
    "membership.md M11 f": (
        "a leader that released voters from their promises gets no lease in that term"
    ),
    "membership.md M11 g": "a lease is checked by the configuration in force",
    "membership.md M11 h": "no lease before the leader's own PROMOTE is confirmed",
    "membership.md M11 i": "a promise is never shortened",
    "membership.md M11 j": "promises and leases use a clock that is read after the message arrived",
    "membership.md M11 k": "the promise and the election timeout are two values",
    "security.md": "no effect in the log without a right that was confirmed before",
}
"""The subject of each rule, by number."""

UNBROKEN: Final[Mapping[str, str]] = {
    "protocol.md 8": _NOT_BUILT,
    "membership.md M2 c": (
        "the previous change is decided first (M2 b), so both configurations are the same"
    ),
    "membership.md M3 a": (
        "its two broken forms are under M3 c (undone too late) and M3 d (never undone)"
    ),
    "membership.md M3 e": (
        "the same rule as for any transaction: protocol.md 5, `rollback_inherited`"
    ),
    "membership.md M6 e": "it follows from M6 a to d",
    "membership.md M6 f": "asserted when a replica starts",
    "membership.md M6 g": "asserted where a log is trimmed",
    "membership.md M7": (
        "part of the handshake, outside a replica: `tests/seeds/test_old_copies.py`"
    ),
    "membership.md M8 h": (
        "a wait of `qsync recover`, `recovers_at_once` above: a simulated recovery stops all nodes "
        "of the old cluster first, so no lease is left"
    ),
    "membership.md M9": _NOT_BUILT,
    "membership.md M11 e": _NOT_BUILT,
    "membership.md M11 j": "part of the node around a replica: `stale_clock` above",
    "membership.md M11 k": "for fast failover; it carries no guarantee",
}
"""Rules without a mutant of a replica, and why."""


def by_rule(mutants: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
    """The mutants of each rule, by name and rule."""
    return {rule: [name for name, of in mutants.items() if of == rule] for rule in RULES}
