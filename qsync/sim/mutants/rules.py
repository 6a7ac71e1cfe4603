"""The numbered rules of protocol.md and membership.md, and why some of them have no mutant here."""

from collections.abc import Mapping, Sequence
from typing import Final

_NOT_BUILT: Final = "there is nothing of it yet"

RULES: Final[Mapping[str, str]] = {
    "protocol.md 1": "an entry is named by term and index",
    "protocol.md 2": "elections, votes, fencing, leader transfer",
    "protocol.md 3.1": "writes wait for the own PROMOTE",
    "protocol.md 3.2": "executed on the head, conditions held against it",
    "protocol.md 3.3": "what is synchronous",
    "protocol.md 3.4": "one batch, sent beside the own write",
    "protocol.md 3.5": "what an ack counts",
    "protocol.md 3.6": "confirmed by an entry of the own term",
    "protocol.md 3.7": "answered before the CONFIRM is durable",
    "protocol.md 3.8": "the confirmed index and rolled-back stretches",
    "protocol.md 3.9": "when asynchronous writes are visible",
    "protocol.md 4": "fate is a function of the log; pending data is not read",
    "protocol.md 5": "rolling back, what clients hear, exactly once",
    "protocol.md 6": "taking over",
    "protocol.md 7": "replicating, diverging, folding, reads",
    "protocol.md 8": "supervised mode",
    "membership.md M1 a": "one voter in or out by one entry",
    "membership.md M1 b": "in force from where it is appended",
    "membership.md M1 c": "an empty log has no configuration",
    "membership.md M1 d": "votes and acks by pair",
    "membership.md M2 a": "a change waits for the own PROMOTE",
    "membership.md M2 b": "a change waits for the former one",
    "membership.md M2 c": "one step from the configuration at the head",
    "membership.md M3 a": "a ROLLBACK takes a change back",
    "membership.md M3 b": "and is a change itself",
    "membership.md M3 c": "from where it is appended",
    "membership.md M3 d": "what was rolled back counts no more",
    "membership.md M3 e": "what was inherited is not rolled back",
    "membership.md M3 f": "taken back before the leader is fenced",
    "membership.md M4 a": "who becomes a voter has the log",
    "membership.md M4 b": "a leader that leaves does not count itself",
    "membership.md M4 c": "and hands over",
    "membership.md M4 d": "who is removed may campaign until it knows",
    "membership.md M4 e": "a vote is given to whoever asks",
    "membership.md M4 f": "who is removed is told",
    "membership.md M5": "a lost disk is a stranger; a damaged log is repaired",
    "membership.md M6 a": "a snapshot has the configuration in force at its entry",
    "membership.md M6 b": "it comes from the leader, and is ahead of what is confirmed",
    "membership.md M6 c": "the log behind its entry is kept",
    "membership.md M6 d": "its entry counts as in the log",
    "membership.md M6 e": "installing it is as having received the log up to there",
    "membership.md M6 f": "replay starts at the folded index",
    "membership.md M6 g": "what is not folded for good is not trimmed",
    "membership.md M7": "an old copy of a directory",
    "membership.md M8": "forced recovery",
    "membership.md M8 e": "who meets a newer generation is superseded",
    "membership.md M9": "supervised elections",
    "membership.md M10": "the quorum expression is part of the configuration",
    "membership.md M11": "a promise is given",
    "membership.md M11 a": "a lease runs from the sending of the round",
    "membership.md M11 b": "a lease is shorter than the promise",
    "membership.md M11 c": "who restarts has promised",
    "membership.md M11 d": "a candidate keeps its own promise",
    "membership.md M11 e": "NewTerm waits like a vote",
    "membership.md M11 f": "no lease after a permit",
    "membership.md M11 g": "judged by the configuration in force",
    "membership.md M11 h": "no lease before the own PROMOTE is confirmed",
    "membership.md M11 i": "a promise is never shortened",
    "membership.md M11 j": "a clock read after the message",
    "membership.md M11 k": "promise and patience are two values",
    "security.md": "no effect in the log without a right that was confirmed before it",
}
"""By number, what it is about."""

UNBROKEN: Final[Mapping[str, str]] = {
    "protocol.md 8": _NOT_BUILT,
    "membership.md M2 c": "the one change under way is decided first (M2 b), so both are the same",
    "membership.md M3 a": "the rule that it takes nothing back is M3 d, later M3 c",
    "membership.md M3 e": "as of any transaction: protocol.md 5, `rollback_inherited`",
    "membership.md M4 f": "for people: the terms of who missed it are harmless",
    "membership.md M6 e": "it follows from M6 a to d",
    "membership.md M6 f": "asserted when a replica starts",
    "membership.md M6 g": "asserted where a log is trimmed",
    "membership.md M7": "of handshakes, around a replica: `tests/seeds/test_old_copies.py`",
    "membership.md M8": _NOT_BUILT,
    "membership.md M9": _NOT_BUILT,
    "membership.md M11 e": _NOT_BUILT,
    "membership.md M11 j": "of the code around a replica: `stale_clock` below",
    "membership.md M11 k": "for fast failover; nothing is promised by it",
}
"""Rules without a mutant of a replica, and why."""


def by_rule(mutants: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
    """The mutants of each rule, by name and rule."""
    return {rule: [name for name, of in mutants.items() if of == rule] for rule in RULES}
