"""Requests of clients: each is submitted or asked, and its answer sent when it is known."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from qsync import errors, refusing
from qsync.core.inputs import Forgotten, Input
from qsync.core.ready import ReadSettled, Settled, Ticket, TransactionFate
from qsync.data.request import Request as Transaction
from qsync.node import guard, operator_requests, refusals
from qsync.node.answers import Queries, VisibleReads
from qsync.node.connection import Connection
from qsync.node.due import Due
from qsync.node.expiry import Expiry
from qsync.node.parked import ParkedWrite, ParkedWrites, due_at
from qsync.node.reads import READ_TIMEOUT, ClientReads, ReadOutputs
from qsync.node.tickets import AnyTicket, AskTicket, ReadTicket, Tickets, WriteTicket, number_of
from qsync.replica import Replica
from qsync.wire import replies, requests, verbs
from qsync.wire.verbs import Verb, WriteFlags

# Plain integers: arithmetic on flag enums costs more than the rest of the request.
_SYNC = int(WriteFlags.SYNC)
_FORCED = int(WriteFlags.SYNC | WriteFlags.ASYNC)
EXPIRY_INTERVAL: Final = 0.05
"""Seconds between two looks at requests that wait for something without a deadline."""
_AT_ONCE = int(WriteFlags.SUBMIT | WriteFlags.NO_WAIT)
_DOUBTED = int(WriteFlags.DOUBTED)


class ClientRequests:
    """The requests of one node's clients. Answers leave when the fate of a request is known."""

    def __init__(
        self,
        replica: Replica,
        answers: VisibleReads,
        *,
        step: Callable[[Input], None],
        send: Callable[[Connection, bytes], None],
        leader_address: Callable[[], str | None],
        now: Callable[[], float],
        inflight_max: int,
        expiry: Expiry,
        due: Due | None = None,
    ) -> None:
        self.tickets = Tickets(due)
        self.counters = {"writes": 0, "conflicts": 0, "unknown": 0, "rolled_back": 0}
        self._replica = replica
        self._answers = answers
        self._step = step
        self._send = send
        self._leader_address = leader_address
        self._now = now
        self._inflight_max = inflight_max
        rights, refusal = partial(guard.rights_of, replica), partial(guard.refusal, replica)
        self.reads = ClientReads(
            answers, self.tickets, out=ReadOutputs(step, send, self._fail, rights, refusal), now=now
        )
        self.expiry = expiry
        self._parked = ParkedWrites(inflight_max)

    @property
    def queries(self) -> Queries:
        """The part that answers questions that are not about data."""
        return self._answers.queries

    def handle_frames(self, connection: Connection, payloads: list[bytes]) -> int:
        """Handle a client's frames in order, as many as its turn allows; return how many.

        Raises ProtocolError for bytes that are no request.
        """
        self.resume()  # writes that wait for room go first
        rights, turn = guard.rights_of(self._replica), connection.turn
        # The limits are soft: once for all that arrived together.
        room = not self._parked and self._has_room()
        superseded = self._replica.machine.disk.superseded
        for taken, payload in enumerate(payloads):
            if taken and connection.spent:
                return taken
            try:
                request = requests.decode(payload)
            except errors.ProtocolError as error:
                number = error.details.get("id")
                if isinstance(number, int):
                    self._send(connection, replies.failed(number, error))
                raise
            except errors.TooLarge as error:
                self._fail(connection, int(str(error.details["id"])), error)
                continue
            why = (
                None
                if rights is None or turn.allowed.covers(rights, turn.user, request)
                else guard.refusal(self._replica, rights, connection, request, self.queries)
            )
            if why is not None:
                self._fail(connection, request.id, why)
            elif superseded is not None and not refusals.is_of_the_node(request):
                self._fail(connection, request.id, refusals.superseded(superseded))
            elif type(request) is verbs.WriteRequest:
                if room:
                    self._submit(connection, request)
                else:
                    self._park(connection, request, len(payload))
            else:
                self._other(connection, request)
        return len(payloads)

    # -- writes

    def _has_room(self) -> bool:
        """Return whether limbo and memory take more. True without a leader: it is refused then.

        What is confirmed stays in memory until it is folded: disks may be slower at that.
        """
        machine = self._replica.machine
        if machine.leader is None:
            return True
        if self._replica.is_full:
            return False
        config = machine.config
        return not machine.replicated_log.queue_full(
            entries_max=config.queue_entries_max, bytes_max=config.queue_bytes_max
        )

    def _park(self, connection: Connection, request: verbs.WriteRequest, size: int) -> None:
        """Park a write for which there is no room, unless its client would not wait."""
        config = self._replica.machine.config
        if request.flags & WriteFlags.NO_WAIT:
            error: errors.QsyncError | None = refusals.queue_full(config.queue_entries_max)
            if self._replica.is_full:
                error = refusals.unfolded_full()
        else:
            due = due_at(request, config, self._now())
            write = ParkedWrite(connection, request, due, size)
            error = self._parked.add(write, bytes_max=config.queue_bytes_max)
        if error is not None:
            self._fail(connection, request.id, error)

    @property
    def has_parked(self) -> bool:
        """Whether a writer waits for room."""
        return bool(self._parked)

    def resume(self) -> None:
        """Submit the writes that waited for room, each until its own deadline."""
        parked, leader = self._parked, self._replica.machine.leader
        while parked and self._has_room():
            write = parked.pop()
            if leader is not None and write.due <= self._now():
                self._fail(write.connection, write.request.id, refusals.no_room())
            elif not write.connection.closed:
                self._submit(write.connection, write.request, write.due)

    def _submit(
        self, connection: Connection, request: verbs.WriteRequest, deadline: float | None = None
    ) -> None:
        now = self._now()
        if deadline is None:
            deadline = due_at(request, self._replica.machine.config, now)
        flags = request.flags
        sync = None if not flags & _FORCED else bool(flags & _SYNC)
        ticket = None if flags & _AT_ONCE else self.tickets.number()
        session, seq = request.session, request.seq
        if session:
            self.expiry.used(session, now, connection.turn.user)
        transaction = Transaction(
            session,
            seq,
            request.low,
            request.ops,
            sync=sync,
            snapshot=request.snapshot,
            reads=request.reads,
            doubted=bool(flags & _DOUBTED),
            user=connection.turn.user,
        )
        try:
            done = self._replica.submit(ticket, transaction)
            if ticket is None and (done.refusal is not None or done.rolled_back):
                ticket = self.tickets.number()  # it says nothing until it is certain
                done = self._replica.submit(ticket, transaction)
        except errors.QsyncError as error:
            self._refused(connection, request, transaction, error, deadline)
            return
        if ticket is None:
            self._send(
                connection,
                replies.committed(
                    request.id,
                    term=done.term,
                    index=done.index,
                    lsn=done.lsn,
                    acks=0,
                    results=done.results,
                    duplicate=done.duplicate,
                ),
            )
            return
        self.tickets.put(
            ticket,
            WriteTicket(connection, request.id, done, session=session, seq=seq, asked_at=now),
            deadline=deadline,
        )

    def _refused(
        self,
        connection: Connection,
        request: verbs.WriteRequest,
        transaction: Transaction,
        error: errors.QsyncError,
        deadline: float,
    ) -> None:
        """Refuse a request; the refusal may have to wait until it is certain (`refusing`)."""
        waiting = refusing.waiting(self._replica, transaction, error)
        if waiting is None:
            self._deny(connection, request.id, error)
            return
        if self.tickets.refusals() >= self._inflight_max:
            self._fail(connection, request.id, refusals.refusals_full(self._inflight_max))
            return

        def done(unsure: str | None) -> None:
            if connection.closed:
                return
            if waiting.error is None:
                self._submit(connection, request, deadline)  # what it ran into is decided
            elif unsure is None:
                self._deny(connection, request.id, waiting.error)
            else:
                self._fail(connection, request.id, errors.NotLeader(unsure))

        number = self.tickets.number()
        ask = AskTicket(connection, request.id, done, write=False, late=refusals.unsure())
        self.tickets.put_refusal(number, ask, deadline=deadline)
        self._step(waiting.read(number))

    def _deny(self, connection: Connection, number: int, error: errors.QsyncError) -> None:
        if isinstance(error, errors.Conflict):
            self.counters["conflicts"] += 1
        elif isinstance(error, errors.AccessDenied):
            error = guard.noted(error, connection, self.queries)
        self._fail(connection, number, error)

    def settled(self, settled: Sequence[Settled]) -> None:
        """Answer the writes whose fate has become definite."""
        take, send = self.tickets.pop, self._send
        self.tickets.settled(settled[0].ticket, len(settled), now=self._now())
        # Of the newest; the others have no fewer, and whatever is confirmed is on a quorum.
        acks = self._answers.acks(settled[-1].index)
        machine = self._replica.machine
        confirmed, quorum = machine.replicated_log.confirmed, machine.config.quorum
        self.counters["writes"] += len(settled)
        for each in settled:
            ticket = take(each.ticket)
            if ticket is None:
                continue
            assert type(ticket) is WriteTicket
            done = ticket.submitted
            if each.verdict is TransactionFate.COMMITTED and done.refusal is None:
                frame = replies.committed(
                    ticket.request,
                    term=each.term,
                    index=each.index,
                    lsn=done.lsn,
                    acks=acks if acks >= quorum or each.index > confirmed else quorum,
                    results=done.results,
                    duplicate=done.duplicate,
                )
            else:
                frame = replies.failed(ticket.request, self._undone(ticket, each))
            send(ticket.connection, frame)

    def _undone(self, ticket: WriteTicket, settled: Settled) -> errors.QsyncError:
        if settled.verdict is TransactionFate.COMMITTED:
            assert ticket.submitted.refusal is not None
            return ticket.submitted.refusal
        self.counters["rolled_back"] += 1
        late = self._now() - ticket.asked_at
        patience = self._replica.machine.config.synchro_timeout
        return refusals.undone(settled, ticket.token, late if late >= patience else None)

    # -- reads and operations

    def _other(self, connection: Connection, request: verbs.Request) -> None:
        if isinstance(request, verbs.RowsRequest):
            self.reads.ask(connection, request)
        elif isinstance(request, verbs.DigestRequest):
            self.reads.ask_digest(connection, request)
        elif isinstance(request, verbs.PromoteRequest | verbs.ClearRequest):
            self._ask(connection, request.id, operator_requests.promote, request.timeout)
        elif isinstance(request, verbs.DemoteRequest):
            self._ask(connection, request.id, operator_requests.demote(request), request.timeout)
        elif isinstance(request, verbs.ChangeMemberRequest) and not request.dry_run:
            asked = operator_requests.change(request, self.queries.check_change)
            self._ask(connection, request.id, asked, request.timeout)
        elif isinstance(request, verbs.PlainRequest) and request.verb is Verb.ROLLBACK_QUEUE:
            self._ask(connection, request.id, operator_requests.roll_back, READ_TIMEOUT)
        elif not self.queries.handle_request(connection, request):
            assert not isinstance(request, verbs.WriteRequest | verbs.NodeRequest)
            try:
                frame = self._answers.answer(request, connection.turn.user)
            except errors.QsyncError as error:
                self._fail(connection, request.id, error)
            else:
                self._send(connection, frame)

    def _ask(
        self,
        connection: Connection,
        number: int,
        asked: Callable[[Ticket], Input],
        timeout: float,
    ) -> None:
        ticket = self.tickets.number()
        try:
            event = asked(ticket)
        except errors.QsyncError as error:
            self._fail(connection, number, error)
            return

        def done(refused: str | None) -> None:
            if refused is None:
                self._send(connection, replies.reply(number))
            else:
                self._fail(connection, number, errors.ReadOnly(refused))

        self.tickets.put(
            ticket,
            AskTicket(connection, number, done, write=True),
            deadline=self._now() + timeout,
        )
        self._step(event)

    def readable(self, settled: Sequence[ReadSettled]) -> None:
        """Answer the reads and operations that may be answered now."""
        pop, due = self.tickets.pop, self.tickets.due
        for each in settled:
            ticket = pop(each.ticket)
            if type(ticket) is ReadTicket:
                self.reads.may_be_served(ticket, each)
            elif type(ticket) is AskTicket:
                if ticket.write or each.refused is not None:
                    ticket.done(each.refused)
                else:
                    due.add(ticket.connection, self._sure, ticket)
        self.reads.serve()

    def _sure(self, _: Connection, ticket: AskTicket) -> None:
        """Send a refusal whose reason is decided now."""
        ticket.done(None)
        self.reads.look_again()

    # -- those whose time is over

    @property
    def expires_at(self) -> float:
        """The next deadline of a request, here or among the parked writes."""
        soonest = self.tickets.expires_at
        if self._parked or self.queries.waits:
            soonest = min(soonest, self._now() + EXPIRY_INTERVAL)
        return soonest

    def expire(self) -> None:
        """Answer writes at their deadline: their outcome is *unknown*, never called failed.

        Writes that still wait for room were never begun: their error says so.
        """
        now = self._now()
        for late in self._parked.take_late(now):
            self._fail(late.connection, late.request.id, refusals.no_room())
        for number, ticket in self.tickets.overdue(now):
            self._end(number, ticket, refusals.late(ticket))

    def supersede(self, cluster: str) -> None:
        """End all that waits: the history goes on in another cluster (M8 e, g)."""
        for each in self._parked.take_all():
            self._fail(each.connection, each.request.id, refusals.superseded(cluster))
        for number, ticket in self.tickets.take_all():
            self._end(number, ticket, refusals.ended(ticket, cluster))

    def _end(self, number: Ticket, ticket: AnyTicket, error: errors.QsyncError) -> None:
        """End a request without an outcome."""
        self._step(Forgotten(ticket=number))
        if type(ticket) is WriteTicket:
            self.counters["unknown"] += 1
        self._fail(ticket.connection, number_of(ticket), error)

    def _fail(self, connection: Connection, number: int, error: errors.QsyncError) -> None:
        if error.leader is None and isinstance(error, errors.NotLeader | errors.ReadOnly):
            error.name_leader(self._leader_address())
        self._send(connection, replies.failed(number, error))
