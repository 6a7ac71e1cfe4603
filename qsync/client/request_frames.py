"""Frames of a client's requests, and those that change while under way."""

from typing import Final

from qsync.client.pending_request import PendingRequest
from qsync.data.request import Op
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


def forget_below(ask: PendingRequest, low: int) -> None:
    """Put into a write the lowest number that will be asked for again."""
    assert isinstance(ask.request, WriteRequest)
    ask.request = ask.request._replace(low=low)
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
