"""Synchronous replication in a node's status: quorum, queue, and what the oldest one waits for.

The text beside a type says what the field is, with its unit; reference pages are made of it.
"""

from typing import Annotated

from msgspec import Struct, field


class MissingAck(Struct, frozen=True, kw_only=True):
    """A voter that has not acked the oldest pending transaction."""

    id: Annotated[int, "replica id of the voter"] = 0
    name: Annotated[str | None, "its name"] = None
    acked: Annotated[int, "index up to which it has acked"] = 0
    behind: Annotated[int, "entries of the leader's log that it has not acked"] = 0
    idle: Annotated[float | None, "seconds since the leader heard it; null: not yet"] = None
    connected: Annotated[bool, "whether the leader has a connection to it"] = True
    why: Annotated[str, "why its ack is missing, in words"] = ""

    @property
    def label(self) -> str:
        """What to call it."""
        return self.name or str(self.id)


class OldestPending(Struct, frozen=True, kw_only=True):
    """The oldest pending transaction."""

    index: Annotated[int, "where it is in the log"] = 0
    term: Annotated[int, "the term that it was written in"] = 0
    lsn: Annotated[int, "its number among those of its origin"] = 0
    origin: Annotated[int, "replica id of the node that made it"] = 0
    since: Annotated[float, "when it was made, in seconds since 1970"] = 0.0
    age: Annotated[float, "seconds that it has waited"] = 0.0
    quorum: Annotated[int, "voters that must have it"] = 0
    acks: Annotated[
        int | None, "voters that have it; null: only who leads or led the term knows"
    ] = None
    acked_by: Annotated[tuple[str | None, ...], "their names"] = ()
    missing: Annotated[tuple[MissingAck, ...], "the other voters, if `acks` is known"] = ()


class QueueStatus(Struct, frozen=True, kw_only=True):
    """The limbo: transactions that are in the log and whose fate is open."""

    len: Annotated[int, "pending transactions"] = 0
    size: Annotated[int, "their bytes"] = 0
    owner: Annotated[int, "replica id of the node whose transactions it takes"] = 0
    term: Annotated[int, "the term that it is owned in"] = 0
    age: Annotated[float, "seconds that the oldest one has waited"] = 0.0
    stalled: Annotated[
        float, "seconds for which nothing has been confirmed although something waits"
    ] = 0.0
    busy: Annotated[bool, "whether its leader is about to stop, so that it takes no more"] = False
    confirm_lag: Annotated[float, "seconds that the newest write waited to be decided"] = 0.0
    unconfirmed: Annotated[
        int, "entries of the log that are not confirmed, also those that wait for nothing"
    ] = 0
    entries_max: Annotated[int, "pending transactions beyond which writers wait"] = 0
    bytes_max: Annotated[int, "pending bytes beyond which writers wait"] = 0
    waiting: Annotated[OldestPending | None, "the oldest one; null: nothing is pending"] = None

    @property
    def missing(self) -> tuple[MissingAck, ...]:
        """Whose acks the oldest one lacks, as far as the node knows."""
        return self.waiting.missing if self.waiting is not None else ()


class SynchroStatus(Struct, frozen=True, kw_only=True):
    """Synchronous replication: the quorum in force, and the queue."""

    quorum: Annotated[int, "voters that must have a transaction"] = 0
    quorum_expression: Annotated[str, "the rule that gives this number"] = ""
    unsafe: Annotated[bool, "whether the quorum is below a majority"] = False
    timeout: Annotated[float, "seconds that a transaction may wait for its quorum"] = 0.0
    policy: Annotated[str, "what becomes of it then"] = ""
    queue: Annotated[QueueStatus, "the limbo"] = field(default_factory=QueueStatus)
