"""What clients of a simulated run were told."""

from dataclasses import dataclass, field

from election.messages import Index, Replica, Term
from qsync.core.ready import TransactionFate


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteDone:
    """The fate of a write, definite."""

    node: Replica
    verdict: TransactionFate
    index: Index
    term: Term


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResult:
    """What a read saw, and the place that names all of it."""

    node: Replica
    value: object
    index: Index
    term: Term


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRefused:
    """An error. `unknown`: it says nothing about what became of the write.

    `recorded`: it is committed in the log under the number of the write.
    """

    node: Replica
    code: str
    unknown: bool = False
    recorded: bool = False
    leader: Replica | None = None
    details: dict[str, object] = field(default_factory=dict)


Reply = WriteDone | ReadResult | CallRefused
