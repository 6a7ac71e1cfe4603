"""The lines that a node writes to standard error."""

import io
import json
import logging
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from qsync.config.sections import LogFormat, LogLevel
from qsync.node import logs
from qsync.node.line_writer import LEFT_OUT
from qsync.node.logs import LINE_SECONDS, LINES_AT_ONCE, SAME_LINE_SECONDS, NodeLog


class Clock:
    """Moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def _written(
    monkeypatch: pytest.MonkeyPatch, level: LogLevel, form: LogFormat
) -> Iterator[io.StringIO]:
    to = io.StringIO()
    before = logs.LOGGER.level, logs.LOGGER.propagate, list(logs.LOGGER.handlers)
    with tempfile.TemporaryFile("w+") as file:
        monkeypatch.setattr("sys.stderr", file)
        logs.to_stderr(level, form)
        try:
            yield to
        finally:
            for each in logs.LOGGER.handlers:
                each.flush()
            logs.LOGGER.level, logs.LOGGER.propagate, logs.LOGGER.handlers[:] = before
            file.seek(0)
            to.write(file.read())


def test_a_line_of_text_has_time_severity_node_event_and_fields(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with _written(monkeypatch, LogLevel.INFO, LogFormat.TEXT) as to:
        log = NodeLog("n1", "lab", now=Clock())
        log.tell("stepped_down", {"term": 4, "why": "no quorum\nheard"})
        log.tell("trimmed", {"begins": 7})
    time, _, rest = to.getvalue().partition(" ")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", time)
    assert rest == 'warning n1 stepped_down term=4 why="no quorum\\nheard"\n'


def test_a_line_of_json_is_one_object(monkeypatch: pytest.MonkeyPatch) -> None:
    with _written(monkeypatch, LogLevel.DEBUG, LogFormat.JSON) as to:
        NodeLog("n1", "lab", now=Clock()).tell("votes", {"term": 4, "candidate": 2})
    found = json.loads(to.getvalue())
    assert found.pop("time").endswith("Z")
    assert found == {
        "level": "debug",
        "node": "n1",
        "cluster": "lab",
        "event": "votes",
        "term": 4,
        "candidate": 2,
    }


def test_one_event_cannot_fill_the_log_and_what_is_missing_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    with _written(monkeypatch, LogLevel.INFO, LogFormat.JSON) as to:
        log = NodeLog("n1", "lab", now=clock)
        for _ in range(LINES_AT_ONCE + 30):
            log.tell("refused", {"why": "strangers"})
        log.tell("elected", {"term": 2})
        clock.now += LINE_SECONDS
        log.tell("refused", {"why": "silent"})
    lines = [json.loads(each) for each in to.getvalue().splitlines()]
    assert [each["event"] for each in lines] == [*["refused"] * LINES_AT_ONCE, "elected", "refused"]
    assert [each.get(LEFT_OUT) for each in lines] == [*[None] * (LINES_AT_ONCE + 1), 30]


def test_what_is_repeated_for_ever_is_written_once_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A removed node that still runs is refused by every member once a second."""
    clock = Clock()
    minutes = 5
    with _written(monkeypatch, LogLevel.INFO, LogFormat.JSON) as to:
        log = NodeLog("n1", "lab", now=clock)
        for _ in range(int(minutes * SAME_LINE_SECONDS / LINE_SECONDS)):
            log.tell("refused", {"why": "not_member", "told": "replica 3"})
            clock.now += LINE_SECONDS
    lines = [json.loads(each) for each in to.getvalue().splitlines()]
    assert minutes - 1 <= len(lines) - LINES_AT_ONCE <= minutes
    assert lines[-1][LEFT_OUT] == pytest.approx(SAME_LINE_SECONDS / LINE_SECONDS, abs=1)


def test_a_log_that_is_off_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with _written(monkeypatch, LogLevel.OFF, LogFormat.TEXT) as to:
        NodeLog("n1", "lab", now=Clock()).tell("disk_failed", {"why": "gone"})
    assert to.getvalue() == ""


def test_a_program_with_a_node_inside_gets_the_lines_where_it_likes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, logger="qsync.node"):
        NodeLog("n1", "lab", now=Clock()).tell("elected", {"term": 2})
    assert [each.getMessage() for each in caplog.records] == ["elected"]
