"""Frames of a client's requests, and those that change while under way."""

from typing import Final

from qsync.client.numbering import Numbering
from qsync.client.pending_request import PendingRequest
from qsync.data.request import Op
from qsync.error_details import OUTCOMES_MAX
from qsync.errors import QsyncError
from qsync.wire import cbor, requests
from qsync.wire.verbs import Request, WriteFlags, WriteRequest

_ONE_PUT: Final = (Op.INSERT, Op.REPLACE)


def flag_doubt(ask: PendingRequest) -> None:
    """Flag a write in doubt, so that its refusal may be recorded."""
    write = ask.request
    if ask.doubted and isinstance(write, WriteRequest) and not write.flags & WriteFlags.DOUBTED:
        ask.request = write._replace(flags=write.flags | WriteFlags.DOUBTED)
        ask.frame = frame_of(ask.request)


def name_session(ask: PendingRequest, session: bytes) -> None:
    """Put the id of its session into a write that was held back."""
    assert isinstance(ask.request, WriteRequest)
    ask.request = ask.request._replace(session=session)
    ask.frame = frame_of(ask.request)


def make_room(ask: PendingRequest, numbering: Numbering, error: QsyncError) -> None:
    """Let a full session forget what nobody will ask for again, with the next attempt."""
    outcomes, write = error.details.get(OUTCOMES_MAX), ask.request
    if isinstance(outcomes, int) and isinstance(write, WriteRequest):
        numbering.keep_within(outcomes)
        if write.session == numbering.id:
            ask.request = write._replace(low=numbering.low)
            ask.frame = frame_of(ask.request)


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
    return requests.encode(request)
