"""`qsync check --follow` without Spark: what it asks for, prints, and ends with."""

import contextlib
import errno
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING

import pytest
from typing_extensions import override

pytest.importorskip("pyspark", reason="needs the [spark] extra")

from py4j.protocol import Py4JNetworkError

from admin.checker.follow import Follow
from admin.checker.spark import follow as spark_follow
from admin.checker.spark import session as sessions
from admin.checker.spark.failures import NoSpark
from cli.main import run
from tests.unit.test_follow import logs, said, three

if TYPE_CHECKING:
    from admin.checker.spark.follow import FollowOptions, Told

Play = Callable[[Follow, "Told", threading.Event], None]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list["FollowOptions"]:
    """What the command wanted to follow."""
    found: list[FollowOptions] = []
    play(monkeypatch, lambda *_: None, found)
    return found


def play(
    monkeypatch: pytest.MonkeyPatch, act: Play, asked: "list[FollowOptions] | None" = None
) -> None:
    """Instead of a cluster."""

    def follow(
        _session: object, wanted: "FollowOptions", *, told: "Told", stop: threading.Event
    ) -> Follow:
        if asked is not None:
            asked.append(wanted)
        state = Follow()
        act(state, told, stop)
        return state

    @contextlib.contextmanager
    def session(*_: object, **__: object) -> Iterator[None]:
        """As Spark does, which takes Ctrl-C for itself when it starts."""

        def rude(_number: int, _frame: FrameType | None) -> None:
            raise KeyboardInterrupt

        former = signal.signal(signal.SIGINT, rude)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, former)

    monkeypatch.setattr(spark_follow, "follow", follow)
    monkeypatch.setattr(sessions, "using_session", session)


def healthy(state: Follow, told: "Told", _stop: threading.Event) -> None:
    told(state.poll(three(), logs(1, 9)))


def test_a_healthy_cluster_ends_with_0_and_objects_on_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    play(monkeypatch, healthy)
    assert run(["check", "--follow", "127.0.0.1:1", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["what"] for line in lines] == ["event"] * 4 + ["summary"]
    assert lines[-1]["verdict"] == "pass"
    assert lines[-1]["window"] == 65536


def test_a_violation_is_printed_at_once_and_ends_with_6(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(state: Follow, told: "Told", stop: threading.Event) -> None:
        healthy(state, told, stop)
        told(state.poll([said(2, role="leader", term=1)], logs(10, 12)))
        assert "VIOLATION one-leader: term 1 has two leaders" in capsys.readouterr().out

    play(monkeypatch, broken)
    assert run(["check", "--follow", "127.0.0.1:1"]) == 6
    assert capsys.readouterr().out.splitlines()[-1].startswith("fail: ")


def test_nothing_seen_is_no_pass(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    play(monkeypatch, lambda *_: None)
    assert run(["check", "--follow", "127.0.0.1:1"]) == 6
    assert capsys.readouterr().out.splitlines()[-1].startswith("unknown: ")


def test_ctrl_c_ends_it_with_a_summary_though_spark_wanted_it_for_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(state: Follow, told: "Told", stop: threading.Event) -> None:
        healthy(state, told, stop)
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.wait(10)

    play(monkeypatch, interrupted)
    before = signal.getsignal(signal.SIGINT)
    assert run(["check", "--follow", "127.0.0.1:1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("pass: ")
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_ctrl_c_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    def stuck(_state: Follow, _told: "Told", stop: threading.Event) -> None:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
            stop.wait(10)

    play(monkeypatch, stuck)
    assert run(["check", "--follow", "127.0.0.1:1"]) == 130


def test_what_is_followed_and_for_how_long_is_passed_on(asked: "list[FollowOptions]") -> None:
    run(["check", "--follow", "127.0.0.1:1", "qsync://127.0.0.1:2,127.0.0.1:3/", "--for", "10s"])
    assert list(asked[0].addresses) == ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"]
    assert asked[0].seconds == 10


@pytest.mark.parametrize(
    "arguments",
    [
        ["--follow"],
        ["--follow", "--quick", "127.0.0.1:1"],
        ["--follow", "--engine", "spark", "127.0.0.1:1"],
        ["--follow", "--spark-from", "3", "127.0.0.1:1"],
        ["--follow", "--level", "serializable", "127.0.0.1:1"],
        ["--follow", "--level", "strict-serializable", "127.0.0.1:1"],
        ["--follow", "--steps", "3", "127.0.0.1:1"],
        ["--follow", "--model", "kv", "127.0.0.1:1"],
        ["--follow", "no such place"],
        ["--for", "3s", "127.0.0.1:1"],
    ],
)
def test_what_does_not_go_together_is_refused(
    asked: "list[FollowOptions]", arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", *arguments]) == 2
    assert "--follow" in capsys.readouterr().err
    assert asked == []


class Gone:
    """A session, a stream and a query whose Java has ended; every call on the way gives itself."""

    def __getattr__(self, _name: str) -> "Gone":
        return self

    def __call__(self, *_: object, **__: object) -> "Gone":
        return self

    def exception(self) -> None:
        raise Py4JNetworkError("Answer from Java side is empty")

    def stop(self) -> None:
        raise ConnectionRefusedError(111, "Connection refused")


def gone(monkeypatch: pytest.MonkeyPatch, stop: threading.Event) -> Follow:
    monkeypatch.setattr(spark_follow, "_beginning", lambda _: (["127.0.0.1:1"], 0))
    monkeypatch.setattr(spark_follow, "_stream", lambda *_: Gone())
    wanted = spark_follow.FollowOptions(addresses=["127.0.0.1:1"])
    return spark_follow.follow(Gone(), wanted, told=lambda _: None, stop=stop)  # type: ignore[arg-type]  # stands in


def test_when_java_ends_with_us_what_was_judged_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class AsWell(threading.Event):
        """Asked to end a moment after Java was."""

        @override
        def wait(self, timeout: float | None = None) -> bool:
            was = self.is_set()
            self.set()
            return was

    assert gone(monkeypatch, AsWell()).samples == 0


def test_when_java_ends_alone_that_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoSpark, match=r"Spark's process is gone \(.*Answer from Java"):
        gone(monkeypatch, threading.Event())


def test_events_that_cannot_be_written_end_it_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped: list[bool] = []

    def act(state: Follow, told: "Told", stop: threading.Event) -> None:
        healthy(state, told, stop)
        stopped.append(stop.is_set())

    def full(_line: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    play(monkeypatch, act)
    monkeypatch.setattr("cli.check_follow.text", full)
    assert run(["check", "--follow", "127.0.0.1:1"]) == 1
    assert stopped == [True]
    assert "No space left on device" in capsys.readouterr().err
