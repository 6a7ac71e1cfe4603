"""Frames of a client's requests, and those that change while under way."""

from typing import Final

from qsync.client.numbering import SEED_BYTES, Numbering
from qsync.client.pending_request import PendingRequest, RetryKind, SendQueues
from qsync.data.operation_kinds import Op
from qsync.errors import ConfigError, ProtocolError
from qsync.wire import cbor, requests
from qsync.wire.frames import LENGTH_SIZE
from qsync.wire.verbs import Request, WriteFlags, WriteRequest

_ONE_PUT: Final = (Op.INSERT, Op.REPLACE)


def prepare_again(ask: PendingRequest, numbering: Numbering) -> None:
    """Prepare another attempt: flag a write in doubt, and let its session forget what is known.

    A write in doubt is flagged so that its refusal may be recorded. `low` is that of now: what was
    answered since the last attempt makes room where the session is full. A write by
    token has none. A write that was resolved meanwhile may be below it, and is still asked for.
    """
    write = ask.request
    if not isinstance(write, WriteRequest):
        return
    flags = write.flags | WriteFlags.DOUBTED if ask.doubted else write.flags
    low = write.low
    if low and write.session == numbering.id:
        low = min(numbering.low, write.seq)
    if (flags, low) != (write.flags, write.low):
        ask.request = write._replace(flags=flags, low=low)
        ask.frame = frame_of(ask.request)


def name_session(ask: PendingRequest, session: bytes) -> None:
    """Put the id of its session into a write that was held back."""
    assert isinstance(ask.request, WriteRequest)
    ask.request = ask.request._replace(session=session)
    ask.frame = frame_of(ask.request)


def named(ask: PendingRequest, session: bytes) -> PendingRequest:
    """Return the request; a write that has the prefix of its session's id alone gets the id."""
    write = ask.request
    if isinstance(write, WriteRequest) and write.session == session[:SEED_BYTES]:
        name_session(ask, session)
    return ask


def renumber(ask: PendingRequest, numbering: Numbering, waiting: SendQueues) -> bool:
    """Give a write of a session that has ended a number of the next one, unless it is in doubt."""
    write = ask.request
    if ask.kind is not RetryKind.WRITE or ask.doubted or not isinstance(write, WriteRequest):
        return False
    former = numbering.id
    again = numbering.reassign(write)
    if again is None:
        return False
    if write.session == former:
        # Held writes have numbers of the session that ended: a node must say so of each.
        waiting.release()
    ask.request, ask.frame = again, frame_of(again)
    ask.sent_at = 0.0  # what was sent is not done, and this was not sent
    return True


def frame_of(request: Request) -> bytes:
    """Return its frame. Raises what makes it unsendable."""
    if (
        isinstance(request, WriteRequest)
        and len(request.ops) == 1
        and request.ops[0][0] in _ONE_PUT
        and request.timeout is None
        and not request.reads
        and request.flags <= requests.PUT_FLAGS_MAX
        and len(request.session) == requests.PUT_SESSION_BYTES_MAX
    ):
        code, space, row = request.ops[0]
        if isinstance(space, str) and isinstance(row, bytes) and isinstance(code, int):
            return requests.encode_put(
                request.id,
                session=request.session,
                seq=request.seq,
                low=request.low,
                flags=request.flags,
                code=code,
                space=cbor.text(space),
                row=row,
            )
    frame = requests.encode(request)
    if not isinstance(request, WriteRequest):
        _check_arguments(frame)
    return frame


def _check_arguments(frame: bytes) -> None:
    """Check that a node can read a question. Raises ConfigError.

    It would hang up, and break the calls of other tasks on the same connection. Of a write it reads
    the operations later, and refuses that one alone.
    """
    try:
        requests.decode(frame[LENGTH_SIZE:])
    except ProtocolError as error:
        raise ConfigError(
            error.message, hint="the call was given what cannot be asked; nothing was sent"
        ) from None
