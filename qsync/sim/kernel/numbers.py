"""The numbers under which a client sent one write: it may take effect under one of them only."""

from qsync.client.pending_request import PendingRequest
from qsync.sim.operations import Token
from qsync.wire.verbs import Request, WriteRequest


class SentNumbers:
    """Observes one write of a client; see `qsync.client.pending_request.RequestObserver`."""

    def __init__(self) -> None:
        self.numbers: set[Token] = set()

    def observe(self, request: Request) -> "SentNumbers | None":
        """Only writes have numbers."""
        return self if isinstance(request, WriteRequest) else None

    def sent(self, ask: PendingRequest, address: str) -> None:
        """An attempt goes out, to whichever node."""
        del address
        write = ask.request
        if isinstance(write, WriteRequest) and write.seq:
            self.numbers.add((write.session, write.seq))

    def settled(self, ask: PendingRequest) -> None:
        """Its numbers are judged with the answer."""
