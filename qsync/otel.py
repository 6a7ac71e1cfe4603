"""Spans of OpenTelemetry for the calls of clients: `qsync.otel.instrument()`.

It needs the extra `otel`, `pip install 'qsync-cluster[otel]'`; nothing else of qsync loads it.
Names of attributes are those of the conventions for databases (stable since 1.33); what they have
no name for begins with `qsync.`.
"""

from contextlib import suppress
from typing import Final

try:
    from opentelemetry import trace
    from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider
    from opentelemetry.util.types import AttributeValue
except ModuleNotFoundError as error:
    error.msg = f"qsync.otel needs `pip install 'qsync-cluster[otel]'`: {error.msg}"
    raise

from qsync.client import calls, local_sockets, observing, targets
from qsync.client.numbering import Token
from qsync.client.pending_request import PendingRequest, RequestObserver
from qsync.data.operation_kinds import Op
from qsync.errors import Outcome, ProtocolError, QsyncError
from qsync.version import __version__
from qsync.wire.verbs import (
    VERB_OF,
    ChangesRequest,
    PlainRequest,
    Request,
    Verb,
    WatchRequest,
    WriteFlags,
    WriteRequest,
)

SYSTEM: Final = "qsync"
"""The value of `db.system.name`."""
RETRY: Final = "qsync.retry"
"""The name of the event of a span when its request is sent once more."""
_OF_SPACES: Final = frozenset(
    each for each in Op if each <= Op.DROP_INDEX or each in (Op.REQUIRE_EQUAL, Op.REQUIRE_EXISTENCE)
)
"""Operations whose second element is a space."""
_UNASKED: Final = int(WriteFlags.SUBMIT | WriteFlags.NO_WAIT)
"""Writes without a client that waits for the commit."""


def instrument(provider: TracerProvider | None = None) -> None:
    """From now on every call of every client of this process is a span.

    `provider`: where spans go; the global one of OpenTelemetry if none is given. While that is not
    configured, nothing is recorded. A span begins in the caller's context and ends with the answer.
    """
    tracer = trace.get_tracer("qsync", __version__, provider)

    def observe(request: Request) -> RequestObserver | None:
        if isinstance(request, WatchRequest | ChangesRequest):
            return None  # a feed asks again and again, and waits for most of the time
        operation, space = _operation(request)
        attributes: dict[str, AttributeValue] = {
            "db.system.name": SYSTEM,
            "db.operation.name": operation,
        }
        if space:
            attributes["db.collection.name"] = space
        if isinstance(request, WriteRequest) and len(request.ops) > 1:
            attributes["db.operation.batch.size"] = len(request.ops)
        name = f"{operation} {space}" if space else operation
        span = tracer.start_span(name, kind=SpanKind.CLIENT, attributes=attributes)
        return CallSpan(span) if span.is_recording() else None

    observing.observe = observe


def uninstrument() -> None:
    """No call is a span any more; those under way are finished."""
    observing.observe = None


class CallSpan:
    """The span of one call. Attempts beyond the first are events of it."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self._attempts = 0

    def sent(self, ask: PendingRequest, address: str) -> None:
        """An attempt goes to that node."""
        self._attempts += 1
        if self._attempts > 1:
            said: dict[str, AttributeValue] = {"server.address": address}
            if ask.refusal is not None:
                said["error.type"] = ask.refusal.code
            self._span.add_event(RETRY, said)
        host, port = _place(address)
        self._span.set_attribute("server.address", host)
        if port:
            self._span.set_attribute("server.port", port)

    def settled(self, ask: PendingRequest) -> None:
        """End the span: the request has its answer or error."""
        span, request = self._span, ask.request
        span.set_attribute("qsync.attempts", self._attempts)
        if isinstance(request, WriteRequest) and request.session and request.seq:
            span.set_attribute("qsync.token", str(Token(request.session, request.seq)))
        if ask.error is not None:
            self._failed(ask.error)
            if isinstance(request, WriteRequest):
                span.set_attribute("qsync.outcome", ask.error.outcome.value)
        elif isinstance(request, WriteRequest):
            with suppress(ProtocolError):  # the caller meets it, too
                self._committed(ask, request)
        span.end()

    def _failed(self, error: QsyncError) -> None:
        span = self._span
        span.set_attribute("error.type", error.code)
        span.set_attribute("db.response.status_code", str(error.number))
        span.set_status(Status(StatusCode.ERROR, error.message))

    def _committed(self, ask: PendingRequest, request: WriteRequest) -> None:
        span, receipt = self._span, calls.read_receipt(ask)
        asked = not request.flags & _UNASKED
        span.set_attribute("qsync.outcome", Outcome.COMMITTED.value if asked else "submitted")
        span.set_attribute("qsync.term", int(receipt.term))
        span.set_attribute("qsync.index", int(receipt.index))


def _operation(request: Request) -> tuple[str, str]:
    """Return operation and space of a request, for the name of its span; nothing if several."""
    if isinstance(request, WriteRequest):
        codes = {Op(int(str(each[0]))).name.lower() for each in request.ops}
        spaces = {str(each[1]) for each in request.ops if each[0] in _OF_SPACES}
        word = codes.pop() if len(codes) == 1 else ""
        if len(request.ops) > 1:
            word = f"BATCH {word}".rstrip()
        return word or "BATCH", spaces.pop() if len(spaces) == 1 else ""
    verb = request.verb if isinstance(request, PlainRequest) else VERB_OF[type(request)]
    word = (Verb.GET if verb is Verb.TX_GET else verb).name.lower()
    space = getattr(request, "space", None)
    return word, str(space) if isinstance(space, str | int) else ""


def _place(address: str) -> tuple[str, int]:
    """Host and port; of a socket of this machine its path, and no port."""
    path = local_sockets.path_of(address)
    return (path, 0) if path is not None else targets.split(address)
