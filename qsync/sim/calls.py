"""What simulated clients and nodes say to each other."""

from collections.abc import Callable
from dataclasses import dataclass, field

from election.messages import Index, Position, Replica, Term
from qsync.core.inputs import Consistency
from qsync.core.ready import TransactionFate
from qsync.data.request import Request
from qsync.data.state import DataState


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteCall:
    """A transaction, or a retry of it with the same number."""

    client: int
    attempt: int
    request: Request


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCall:
    """Look at the state. `floor`: an entry that a linearizable answer must have seen."""

    client: int
    attempt: int
    consistency: Consistency
    read: Callable[[DataState], object]
    keys: tuple[tuple[int, int], ...]
    floor: Position
    term: Term = Term(0)
    index: Index = Index(0)


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


Call = WriteCall | ReadCall
Reply = WriteDone | ReadResult | CallRefused
Answer = Callable[[int, Reply], None]
"""Takes the attempt that is answered, and the reply."""
