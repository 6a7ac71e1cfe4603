"""A client's session: its id, its numbers, and the requests whose outcome is still unknown."""

import random
from collections.abc import Iterable
from enum import Enum
from typing import Final, NamedTuple

from qsync.client import operations
from qsync.client.pending_request import PendingRequest
from qsync.error_details import OUTCOMES_MAX
from qsync.errors import ConfigError, ProtocolError, QsyncError
from qsync.wire import cbor, limits, replies
from qsync.wire.verbs import WriteFlags, WriteRequest

SEED_BYTES: Final = 7
"""With the place of its opening an id has 23 bytes: the most that writes of one tuple pack fast."""
UNRESOLVED_SPAN_MAX: Final = 2_000
"""How far numbers may run ahead of an unresolved request before that one is given up.

A node keeps the outcomes of all that come after it (`limits.session_outcomes_max`, 4096 if nobody
sets it), and takes no more when it is full. One that keeps fewer says so (`refused`).
"""
_AT_ONCE: Final = int(WriteFlags.SUBMIT | WriteFlags.NO_WAIT)


class Token(NamedTuple):
    """Session and number of a write: enough to request its outcome later."""

    session: bytes
    seq: int

    def __str__(self) -> str:
        return f"{self.session.hex()}:{self.seq}"


def parse_token(text: str) -> Token:
    """Read `sessionhex:number`. Raises ConfigError."""
    if not isinstance(text, str):
        raise ConfigError(f"{text!r} is no token", hint="it is the `token` of an OutcomeUnknown")
    session, colon, number = text.strip().partition(":")
    try:
        token = Token(bytes.fromhex(session), int(number))
    except ValueError:
        token = Token(b"", 0)
    fits = 0 < len(token.session) <= limits.SESSION_BYTES_MAX
    if colon and fits and 0 < token.seq <= limits.U64_MAX:
        return token
    raise ConfigError(f"{text!r} is no token", hint="it looks like 0a1b...:7")


def born(answer: list[object]) -> bytes:
    """Return the id of the session that a node has opened. Raises ProtocolError.

    An id without a byte behind its prefix would number nothing.
    """
    match replies.read_committed(answer).results:
        case [bytes(row)]:
            match cbor.loads_array(row):
                case [bytes(id)] if SEED_BYTES < len(id) <= limits.SESSION_BYTES_MAX:
                    return id
                case _:
                    pass
        case _:
            pass
    raise ProtocolError("the node does not say which session it has opened")


class SessionStanding(Enum):
    """The state of the session in the cluster."""

    CLOSED = "closed"
    OPENING = "opening"
    OPEN = "open"


class Numbering:
    """Numbers writes; `low` is the lowest number that may still be asked for."""

    def __init__(self, dice: random.Random) -> None:
        self.id = dice.randbytes(SEED_BYTES)
        """Its name from the cluster; while it is not open, the prefix of that name."""
        self.standing = SessionStanding.CLOSED
        self.unresolved: dict[int, WriteRequest] = {}
        self._noted: set[int] = set()
        """Numbers whose callers may know the token, and have no outcome yet."""
        self._noted_before: set[Token] = set()
        """Those of sessions that ended, until they get a number of the next one or end, too."""
        self._pending: set[int] = set()
        self._next = 1
        self._low = 1
        self._span = UNRESOLVED_SPAN_MAX
        self._dice = dice
        self._former: set[bytes] = set()

    def assign(self, write: WriteRequest, token: Token | None = None) -> WriteRequest:
        """Return the write with its session and number: the next of ours, or those of a token."""
        if token is not None:
            return write._replace(session=token.session, seq=token.seq, low=0)
        seq = self.next_number()
        id, _, _, _, flags, ops, timeout, snapshot, reads = write
        return WriteRequest(id, self.id, seq, self.low, flags, ops, timeout, snapshot, reads)

    def reassign(self, write: WriteRequest) -> WriteRequest | None:
        """Return the write with a number of a new session: the old one ended before it began.

        None for a write with another client's token, which cannot be distinguished from a done one.
        """
        if write.session != self.id and write.session not in self._former:
            return None
        if write.session == self.id:
            self._renew()
        again = self.assign(write)
        former = Token(write.session, write.seq)
        if former in self._noted_before:
            self._noted_before.discard(former)
            self._noted.add(again.seq)
        return again

    def opened(self, id: bytes) -> None:
        """Note that the session is open: its writes bear this id from now on."""
        self.id = id
        self.standing = SessionStanding.OPEN

    def reopen(self) -> None:
        """Open another session if one was being opened; that one ends by itself."""
        if self.standing is SessionStanding.OPENING:
            self.standing = SessionStanding.CLOSED

    def next_number(self) -> int:
        """The next number; it is pending until settled."""
        seq = self._next
        self._next = seq + 1
        self._pending.add(seq)
        return seq

    @property
    def low(self) -> int:
        """The lowest number that will be asked for again."""
        low, pending, unresolved = self._low, self._pending, self.unresolved
        while low < self._next and low not in pending:
            if low in unresolved:
                if self._next - low <= self._span:
                    break
                unresolved.pop(low, None)
                self._noted.discard(low)
            low += 1
        self._low = low
        return low

    def is_forgotten(self, seq: int) -> bool:
        """Return whether nobody will ask for it, though numbers did not run far ahead of it."""
        return seq < self.low and self._next - seq <= self._span

    def refused(self, error: QsyncError) -> None:
        """Note how many outcomes a node keeps, if it refused a write because they are too many.

        Numbers run at most half as far ahead of an unresolved request from now on.
        """
        outcomes = error.details.get(OUTCOMES_MAX)
        if isinstance(outcomes, int):
            self._span = min(self._span, outcomes // 2)

    def forget_orphans(self, asks: Iterable[PendingRequest]) -> None:
        """Forget pending numbers for which there is no request, if numbers ran far ahead of one.

        An exception of a signal, such as Ctrl-C, can end a call between its number and its request.
        """
        if self._next - self._low > self._span:
            self._pending &= {
                ask.request.seq for ask in asks if isinstance(ask.request, WriteRequest)
            }

    def settled(self, seq: int) -> None:
        """Note that the outcome of that number is known."""
        self._pending.discard(seq)
        self._noted.discard(seq)
        self.unresolved.pop(seq, None)

    def keep(self, write: WriteRequest) -> None:
        """Keep a write for `resolve`: its outcome is unknown.

        Who asked in vain to have it given up may still want it done.
        """
        self._pending.discard(write.seq)
        if write.ops != [operations.give_up()] or write.seq not in self.unresolved:
            self.unresolved[write.seq] = write

    def note_token_known(self, ask: PendingRequest) -> None:
        """Note that the caller may know the token, so that it may ask for the outcome later."""
        write = self._own(ask)
        if write is not None:
            self._noted.add(write.seq)

    def ended(self, ask: PendingRequest, *, known: bool) -> None:
        """Note that a request has ended. `known`: its outcome is.

        What a caller has the token of is kept until the caller has the outcome, too, as `note_told`
        says: one that is cancelled in this moment asks for it later.
        """
        write = self._own(ask)
        if write is None:
            if self._noted_before and isinstance(ask.request, WriteRequest):
                self._noted_before.discard(Token(ask.request.session, ask.request.seq))
            return
        if known and write.seq not in self._noted:
            self.settled(write.seq)
        else:
            self.keep(write)

    def note_told(self, ask: PendingRequest, *, known: bool) -> None:
        """Note that the caller has its outcome. An unknown one is kept, to be asked for again."""
        write = self._own(ask)
        if write is None or write.seq not in self._noted:
            return
        if known:
            self.settled(write.seq)
        else:
            self._noted.discard(write.seq)

    def abandon(self, ask: PendingRequest) -> None:
        """Keep a write for `resolve` even once it is answered: its caller has gone with the token.

        So it gets no other number any more. While its session has no name nobody has a token, and
        nothing was sent.
        """
        ask.doubted = ask.doubted or bool(ask.sent_at)
        write = self._own(ask)
        if write is None:
            return
        if write.session != self.id or len(self.id) == SEED_BYTES:
            self._noted.discard(write.seq)
            return
        self._noted.add(write.seq)
        if ask.settled:
            self.keep(write)

    def _own(self, ask: PendingRequest) -> WriteRequest | None:
        """Return the write if it is numbered here, be it before its session had a name."""
        write = ask.request
        if isinstance(write, WriteRequest) and write.session in (self.id, self.id[:SEED_BYTES]):
            return write
        return None

    def again(self, seq: int) -> WriteRequest | None:
        """Return an unresolved write, to be sent again."""
        write = self.unresolved.get(seq)
        if write is not None:
            self._pending.add(seq)
        return write

    def ask_again(
        self, id: int, token: Token, under_way: WriteRequest | None, *, again: bool
    ) -> WriteRequest:
        """Return the request for the outcome of a write: with `again` the write itself, if known.

        `under_way`: it, if it has not ended here. One that was only submitted waits this time.
        """
        kept = self.again(token.seq) if token.session == self.id else None
        kept = under_way if kept is None else kept
        if kept is None or not again:
            ops = [operations.give_up()]
            return WriteRequest(id, token.session, token.seq, 0, WriteFlags.NONE, ops)
        return kept._replace(id=id, flags=kept.flags & ~_AT_ONCE)

    def _renew(self) -> None:
        self._former.add(self.id)
        self._noted_before |= {Token(self.id, seq) for seq in self._noted & self._pending}
        self.id = self._dice.randbytes(SEED_BYTES)
        self.standing = SessionStanding.CLOSED
        self.unresolved.clear()
        self._noted.clear()
        self._pending.clear()
        self._next = self._low = 1
