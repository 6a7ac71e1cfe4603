"""Reads of clients: the core says when they may be served, and they are served in turns."""

from collections.abc import Callable
from typing import Final, NamedTuple

from election.messages import Position
from qsync import errors
from qsync.core.consistency import Consistency
from qsync.core.inputs import Input, ReadAsked
from qsync.core.ready import ReadSettled
from qsync.data.grants import Rights
from qsync.node.answers import VisibleReads
from qsync.node.connection import Connection
from qsync.node.scans import SlicedScan
from qsync.node.tickets import ReadTicket, Tickets
from qsync.wire import verbs

READ_TIMEOUT: Final = 5.0
"""Seconds a read may wait for its quorum round or its index."""


class ReadOutputs(NamedTuple):
    """The core, the client and its rights, as far as reads need them."""

    step: Callable[[Input], None]
    send: Callable[[Connection, bytes], None]
    fail: Callable[[Connection, int, errors.QsyncError], None]
    rights: Callable[[], Rights | None]
    """The confirmed rights; None where the cluster has no users."""
    refusal: Callable[[Rights, Connection, verbs.Request], errors.QsyncError | None]
    """Why a read that was allowed may not go on; None if it may."""


class _Question(NamedTuple):
    """A read that may be served. `asked`: the place it asked for; None: whatever is visible.

    `waits`: for the scan that is going on, because it is a long one itself. `turn`: it is the turn
    of its connection; others of the connection may be due before it otherwise.
    """

    request: verbs.RowsRequest | verbs.DigestRequest
    asked: Position | None
    waits: bool = False
    turn: bool = True


class _LongScan(NamedTuple):
    """The single scan that runs over many passes."""

    connection: Connection
    question: _Question
    scan: SlicedScan


class ClientReads:
    """One per node. `ask` takes a read, `may_be_served` what the core says of it.

    What one slice does not answer goes on in the next turns of its connection, with its index
    pinned. There is one such scan at a time, so that a pin, which holds up folding, is as short as
    one scan; the others wait, and begin when it is over.

    A read that is not answered where it arrives is judged again at each turn, so it ends when its
    user's right is taken back.
    """

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
        """What can be read, as a place; None: to be looked at again, and the rights with it."""
        self._rights: Rights | None = None
        self._long: _LongScan | None = None

    @property
    def scans(self) -> bool:
        """Whether a read goes on over many passes."""
        return self._long is not None

    def ask(self, connection: Connection, request: verbs.RowsRequest) -> None:
        """Take a client's read."""
        self.count += 1
        level = request.level
        if level.consistency is Consistency.LOCAL:
            self._ask_now(connection, request)
            return
        number = self._tickets.number()
        ticket = ReadTicket(connection, request)
        self._tickets.put_read(number, ticket, deadline=self._now() + READ_TIMEOUT)
        self._out.step(ReadAsked(number, level.consistency, level.term, level.at))

    def ask_digest(self, connection: Connection, request: verbs.DigestRequest) -> None:
        """Take a request for a digest of the visible rows."""
        self._ask_now(connection, request)

    def may_be_served(self, ticket: ReadTicket, settled: ReadSettled) -> None:
        """Queue the answer for its connection's turn; a refusal is sent at once."""
        connection, request = ticket
        if settled.refused is None:
            self._tickets.due.add(connection, self._serve, _Question(request, settled.place))
        else:
            self._out.fail(connection, request.id, _refusal(request, settled))

    def serve(self) -> None:
        """Answer in turns. Nothing is decided meanwhile, so all these answers show one place."""
        self._place = None
        self._tickets.due.work()
        if self._long is not None:
            connection = self._long.connection
            if connection.closed or connection.full:
                self._end_long()  # it starts again when its answers are read

    def look_again(self) -> None:
        """Look at the data again: a request was submitted between two answers."""
        self._place = None

    def _ask_now(
        self, connection: Connection, request: verbs.RowsRequest | verbs.DigestRequest
    ) -> None:
        """Serve a read for which whatever is visible here suffices."""
        self._place = None
        rest = self._serve(connection, _Question(request, None, turn=False))
        if rest is not None:
            self._tickets.due.add(connection, self._serve, rest)

    def _serve(self, connection: Connection, question: _Question) -> _Question | None:
        """Answer, or read a slice; return the question if it needs more slices."""
        request, asked, waits, turn = question
        answers, place = self._answers, self._place or self._look()
        rights = self._rights
        if turn and rights is not None:
            denied = self._out.refusal(rights, connection, request)
            if denied is not None:
                self._give_up(connection, question, denied)
                return None
        long = self._long
        if long is not None:
            if long.question is question:
                return self._go_on(long)
            if waits:
                return question
        only = None if asked is None else answers.place_to_read(asked)
        at = None
        if only is not None:
            place, at = only, only.index
        found: bytes | _Question
        try:
            if type(request) is verbs.GetRequest or type(request) is verbs.TxGetRequest:
                found = answers.read(request, place, at)
            else:
                found = self._scan(connection, question, place, at)
        except errors.QsyncError as error:
            told = answers.shown_error(error, connection.turn.user, request)
            self._out.fail(connection, request.id, told)
            return None
        if isinstance(found, _Question):
            return found
        self._out.send(connection, found)
        return None

    def _look(self) -> Position:
        """Look at what can be read now, and by whom."""
        self._rights = self._out.rights()
        self._place = self._answers.place
        return self._place

    def _scan(
        self, connection: Connection, question: _Question, place: Position, at: int | None
    ) -> bytes | _Question:
        """Begin a scan; return the answer if one slice suffices."""
        request, answers = question.request, self._answers
        assert not isinstance(request, verbs.GetRequest | verbs.TxGetRequest)
        if answers.prepare_scan():
            return question  # nothing of it is read yet, so there is nothing to pin
        scan = answers.scan(request, place, at)
        frame = scan.read()
        if frame is not None:
            return frame
        if not question.turn:
            return question._replace(turn=True)
        if self._long is not None:
            return question._replace(waits=True)
        scan.pin()
        self._long = _LongScan(connection, question, scan)
        return question

    def _go_on(self, long: _LongScan) -> _Question | None:
        """Read one more slice. The scan begins again if entries that it showed were cut."""
        connection, question, scan = long
        try:
            if not scan.holds():
                self._end_long()
                if self._answers.shows(question.asked):
                    return question
                raise errors.NotLeader("what it asked for was cut from the log")
            frame = scan.read()
            if frame is None:
                return question
        except errors.QsyncError as error:
            self._out.fail(connection, question.request.id, error)
        else:
            self._out.send(connection, frame)
        self._end_long()
        return None

    def _give_up(
        self, connection: Connection, question: _Question, error: errors.QsyncError
    ) -> None:
        """Refuse a read that may have begun."""
        if self._long is not None and self._long.question is question:
            self._end_long()
        self._out.fail(connection, question.request.id, error)

    def _end_long(self) -> None:
        if self._long is not None:
            self._long.scan.unpin()
            self._long = None


def _refusal(request: verbs.RowsRequest, settled: ReadSettled) -> errors.QsyncError:
    """Why the core refuses a read. That a receipt names a lost write no other node will deny."""
    place, why = settled.place, settled.refused or ""
    if place is None or request.level.consistency is not Consistency.AT_LEAST:
        return errors.NotLeader(why)
    return errors.LostWrite(why, details={"index": int(place.index), "term": int(place.term)})
