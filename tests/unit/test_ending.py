"""What ends a command from outside does what Ctrl-C does."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.ending import interrupted_politely, while_read

PATIENCE_S = 30.0


@pytest.fixture
def fatal(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """SIGTERM and SIGHUP as a fresh process has them, and no terminal that could be closed."""
    monkeypatch.setattr("cli.ending.OUTPUTS", ())
    former = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP)}
    for each in former:
        signal.signal(each, signal.SIG_DFL)
    yield
    for number, before in former.items():
        signal.signal(number, before)


@pytest.mark.usefixtures("fatal")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_ends_a_command_interrupts_it(number: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt), interrupted_politely():
        signal.raise_signal(number)
    assert signal.getsignal(number) is signal.SIG_DFL


@pytest.mark.usefixtures("fatal")
def test_it_is_given_to_whoever_takes_ctrl_c() -> None:
    taken: list[int] = []
    former = signal.signal(signal.SIGINT, lambda number, _frame: taken.append(number))
    try:
        with interrupted_politely():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGINT, former)
    assert taken == [signal.SIGINT]


@pytest.mark.usefixtures("fatal")
def test_it_interrupts_also_where_ctrl_c_is_ignored() -> None:
    former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(KeyboardInterrupt), interrupted_politely():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGINT, former)


@pytest.mark.usefixtures("fatal")
def test_who_ignores_the_end_of_the_terminal_goes_on() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with interrupted_politely():
        signal.raise_signal(signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_a_reader_who_goes_away_is_noticed_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    stop = threading.Event()
    with os.fdopen(writing, "w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        with while_read(stop):
            assert not stop.is_set()
            os.close(reading)
            assert stop.wait(PATIENCE_S)


def test_output_that_is_read_or_a_file_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stop = threading.Event()
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as pipe, (tmp_path / "file").open("w") as file:
        for output in (pipe, file):
            monkeypatch.setattr(sys, "stdout", output)
            with while_read(stop):
                output.write("read")
    os.close(reading)
    assert not stop.is_set()
