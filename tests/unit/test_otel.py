"""Calls as spans of OpenTelemetry, and that they cost nothing where nobody asked for them."""

import runpy
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from types import FrameType

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from typing_extensions import override

from qsync import otel
from qsync.client import calls, observing, operations
from qsync.client.calls import ClientCall
from qsync.client.numbering import parse_token
from qsync.client.pending_request import PendingRequest, RetryKind
from qsync.errors import AccessDenied, NotLeader, OutcomeUnknown
from qsync.wire.verbs import PlainRequest, Verb, WatchRequest
from tests.unit.test_client_core import Stage, error_of, write_of


class ObservedStage(Stage):
    """Asks as clients do."""

    @override
    def ask(self, call: ClientCall[object], *, timeout: float = 10.0) -> PendingRequest:
        return self.core.submit(
            call.kind,
            call.make,
            now=self.now,
            deadline=self.now + timeout,
            token=call.token,
            observe=observing.observe,
        )


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    otel.instrument(provider)
    yield exporter
    otel.uninstrument()


def only(exporter: InMemorySpanExporter) -> ReadableSpan:
    (found,) = exporter.get_finished_spans()
    return found


def attributes(exporter: InMemorySpanExporter) -> dict[str, object]:
    return dict(only(exporter).attributes or {})


def test_a_write_is_a_span_with_its_token_and_receipt(spans: InMemorySpanExporter) -> None:
    stage = ObservedStage("a:1")
    link = stage.opened()
    spans.clear()
    stage.put()
    write = write_of(stage.heard(link))
    assert spans.get_finished_spans() == ()
    stage.commit(link, write)
    assert only(spans).name == "replace s"
    assert only(spans).kind is trace.SpanKind.CLIENT
    token = attributes(spans).pop("qsync.token")
    assert parse_token(str(token)).seq == write.seq
    assert attributes(spans) == {
        "db.system.name": "qsync",
        "db.operation.name": "replace",
        "db.collection.name": "s",
        "server.address": "a",
        "server.port": 1,
        "qsync.attempts": 1,
        "qsync.outcome": "committed",
        "qsync.term": 2,
        "qsync.index": 9,
        "qsync.token": token,
    }


def test_a_transaction_is_one_span_of_so_many_operations(spans: InMemorySpanExporter) -> None:
    stage = ObservedStage("a:1")
    link = stage.opened()
    spans.clear()
    stage.ask(calls.write([operations.replace("s", [1]), operations.delete("t", 1)]))
    stage.commit(link, write_of(stage.heard(link)))
    assert only(spans).name == "BATCH"
    assert attributes(spans)["db.operation.batch.size"] == 2
    assert "db.collection.name" not in attributes(spans)


def test_a_retry_is_an_event_that_says_why(spans: InMemorySpanExporter) -> None:
    stage = ObservedStage("a:1", "b:2")
    ask = stage.get()
    link = stage.accept("a:1")
    (request,) = stage.heard(link)
    stage.refuse(link, request, NotLeader("not me", leader="b:2"))
    other = stage.accept("b:2")
    (request,) = stage.heard(other)
    stage.refuse(other, request, AccessDenied("no"))
    assert isinstance(ask.error, AccessDenied)
    (retry, *_) = only(spans).events
    assert retry.name == otel.RETRY
    assert dict(retry.attributes or {}) == {"server.address": "b:2", "error.type": "NOT_LEADER"}
    assert attributes(spans)["error.type"] == ask.error.code
    assert only(spans).status.status_code is trace.StatusCode.ERROR


def test_an_unknown_outcome_is_said_with_its_token(spans: InMemorySpanExporter) -> None:
    stage = ObservedStage("a:1")
    link = stage.opened()
    spans.clear()
    ask = stage.put(timeout=1.0)
    stage.heard(link)
    stage.pass_time(30.0)
    error = error_of(ask)
    assert isinstance(error, OutcomeUnknown)
    assert attributes(spans)["qsync.outcome"] == "unknown"
    assert attributes(spans)["qsync.token"] == error.token


def test_feeds_that_wait_are_no_spans(spans: InMemorySpanExporter) -> None:
    assert observing.observe is not None
    assert observing.observe(WatchRequest(1, "box.id", None, 3.0)) is None
    assert spans.get_finished_spans() == ()


def test_a_provider_that_records_nothing_is_asked_once_a_call_and_no_more() -> None:
    otel.instrument(trace.NoOpTracerProvider())
    try:
        stage = ObservedStage("a:1")
        link = stage.opened()
        assert observing.observe is not None
        assert observing.observe(PlainRequest(1, Verb.PING)) is None
        stage.put()
        stage.commit(link, write_of(stage.heard(link)))
    finally:
        otel.uninstrument()


def _called(stage: ObservedStage, link: int) -> Counter[str]:
    """Which functions a write calls, by file and name, how often."""
    counts: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            counts[f"{frame.f_code.co_filename}:{frame.f_code.co_name}"] += 1

    sys.setprofile(count)
    try:
        stage.put()
    finally:
        sys.setprofile(None)
    stage.commit(link, write_of(stage.heard(link)))
    return counts


def test_a_call_that_is_no_span_calls_nothing_for_it() -> None:
    stage = ObservedStage("a:1")
    link = stage.opened()
    before = _called(stage, link)
    otel.instrument(TracerProvider())
    try:
        during = _called(stage, link)
    finally:
        otel.uninstrument()
    after = _called(stage, link)
    assert before == after
    assert during.total() > before.total()
    assert not [name for name in before if "opentelemetry" in name or "qsync/otel" in name]


LOADED = """
import sys, qsync
qsync.connect, qsync.connect_async
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""


def test_the_client_does_not_load_opentelemetry() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


def test_what_is_asked_with_a_kind_of_its_own_has_a_name(spans: InMemorySpanExporter) -> None:
    stage = ObservedStage("a:1")
    stage.ask(calls.ping())
    stage.ask(calls.select("s", calls.range_of(1)))
    stage.ask(calls.promote(1.0))
    assert stage.put().kind is RetryKind.WRITE
    stage.pass_time(30.0)
    names = {span.name for span in spans.get_finished_spans()}
    assert names == {"ping", "select s", "promote", "replace s"}


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'qsync-cluster\[otel\]'"):
        runpy.run_path(otel.__file__)
