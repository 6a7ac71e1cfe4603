"""The requests and answers of the clients of a simulated run, in order, for checkers."""

from dataclasses import dataclass

from qsync.sim.clockwork import VirtualClock
from qsync.sim.operations import OperationRecord, OperationResult
from qsync.sim.replies import CallRefused, ReadResult, Reply, WriteDone


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedLine:
    """One line of a history in Jepsen's vocabulary. `time` is in nanoseconds of virtual time.

    `name` is the client's operation, `f` the checker's name for it. `at`: log index of a write's
    receipt, or of the state that a read showed; `term` is its term. `consistency`, `floor` and
    `floor_term` (the minimum state of a read) are of reads, `session` and `seq` of writes that may
    be retried.
    """

    index: int
    time: int
    process: int
    type: str
    name: str
    f: str
    space: str
    key: int | None
    value: object
    node: int | None = None
    term: int | None = None
    at: int | None = None
    error: str | None = None
    session: str = ""
    seq: int = 0
    consistency: str = ""
    floor: int = 0
    floor_term: int = 0


class SimHistory:
    """All lines of all clients."""

    def __init__(self, clockwork: VirtualClock) -> None:
        self.lines: list[RecordedLine] = []
        self._clockwork = clockwork

    def invoke(self, process: int, operation: OperationRecord) -> None:
        """A client is about to send a request."""
        self._add(process, "invoke", operation, OperationResult(type="invoke"))

    def complete(self, process: int, operation: OperationRecord, told: OperationResult) -> None:
        """It has the outcome, or gave up."""
        self._add(process, told.type, operation, told)

    def _add(
        self, process: int, type_: str, operation: OperationRecord, told: OperationResult
    ) -> None:
        reply = told.reply
        self.lines.append(
            RecordedLine(
                index=len(self.lines),
                time=int(self._clockwork.now * 1e9),
                process=process,
                type=type_,
                name=operation.name,
                f=operation.f,
                space=operation.space,
                key=operation.key,
                value=operation.value,
                node=reply.node if reply is not None else None,
                error=reply.code if isinstance(reply, CallRefused) else None,
                session=told.session.hex(),
                seq=told.seq,
                consistency=told.consistency,
                floor=told.floor.index,
                floor_term=told.floor.term,
                **_place(reply),
            )
        )


def _place(reply: Reply | None) -> dict[str, int]:
    return (
        {"term": reply.term, "at": reply.index} if isinstance(reply, WriteDone | ReadResult) else {}
    )
