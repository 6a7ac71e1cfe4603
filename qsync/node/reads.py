"""Reads of clients: the core says when they may be served, and they are served in turns."""

from collections.abc import Callable
from typing import Final, NamedTuple

from election.messages import Position
from qsync import errors
from qsync.core.inputs import Consistency, Input, ReadAsked
from qsync.core.ready import ReadSettled
from qsync.node.answers import VisibleReads
from qsync.node.connection import Connection
from qsync.node.tickets import ReadTicket, Tickets
from qsync.wire import verbs

READ_TIMEOUT: Final = 5.0
"""Seconds a read may wait for its quorum round or its index."""


class ReadOutputs(NamedTuple):
    """Where a read goes: to the core, and its answer to the client."""

    step: Callable[[Input], None]
    send: Callable[[Connection, bytes], None]
    fail: Callable[[Connection, int, errors.QsyncError], None]


class ClientReads:
    """One per node. `ask` takes a read, `may_be_served` what the core says of it."""

    def __init__(
        self,
        answers: VisibleReads,
        tickets: Tickets,
        *,
        out: ReadOutputs,
        now: Callable[[], float],
    ) -> None:
        self.count = 0
        """Reads that were asked since the process began."""
        self._answers = answers
        self._tickets = tickets
        self._out = out
        self._now = now
        self._place: Position | None = None
        """What can be read, as a place; None: to be looked at again."""

    def ask(self, connection: Connection, request: verbs.RowsRequest) -> None:
        """A client wants to read."""
        self.count += 1
        level = request.level
        if level.consistency is Consistency.LOCAL:
            self._place = None
            self._serve(connection, (request, None))
            return
        number = self._tickets.number()
        ticket = ReadTicket(connection, request)
        self._tickets.put_read(number, ticket, deadline=self._now() + READ_TIMEOUT)
        self._out.step(ReadAsked(number, level.consistency, level.term, level.at))

    def may_be_served(self, ticket: ReadTicket, settled: ReadSettled) -> None:
        """Answer it when it is the turn of its connection; at once if it is refused."""
        connection, request = ticket
        if settled.refused is None:
            self._tickets.due.add(connection, self._serve, (request, settled.place))
        else:
            self._out.fail(connection, request.id, errors.NotLeader(settled.refused))

    def serve(self) -> None:
        """Answer in turns. Nothing is decided meanwhile, so all these answers show one place."""
        self._place = None
        self._tickets.due.work()

    def look_again(self) -> None:
        """Something was submitted between two answers."""
        self._place = None

    def _serve(
        self, connection: Connection, question: tuple[verbs.RowsRequest, Position | None]
    ) -> None:
        request, asked = question
        answers, place = self._answers, self._place
        if place is None:
            place = self._place = answers.place
        only = None if asked is None else answers.place_to_read(asked)
        try:
            if only is None:
                frame = answers.read(request, place)
            else:
                frame = answers.read(request, only, only.index)
        except errors.QsyncError as error:
            self._out.fail(connection, request.id, error)
        else:
            self._out.send(connection, frame)
