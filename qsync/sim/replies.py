"""The answers to clients of a simulated run."""

from dataclasses import dataclass, field

from election.messages import Index, Replica, Term
from qsync.core.ready import TransactionFate


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteDone:
    """The definite outcome of a write."""

    node: Replica
    verdict: TransactionFate
    index: Index
    term: Term


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResult:
    """The result of a read, and the position of its state."""

    node: Replica
    value: object
    index: Index
    term: Term


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRefused:
    """An error. `unknown`: the outcome of the write is unknown.

    `recorded`: it is committed in the log under the number of the write.
    """

    node: Replica
    code: str
    unknown: bool = False
    recorded: bool = False
    leader: Replica | None = None
    details: dict[str, object] = field(default_factory=dict)


Reply = WriteDone | ReadResult | CallRefused
